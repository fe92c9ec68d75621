//! The statistics of one process on a device.

use crate::hist::Hist;
use core::ops::Deref;
use core::sync::atomic::{AtomicU64, Ordering::*, fence};

/// First word of a statistics file: "SLUICEST".
pub const STATS_MAGIC: u64 = u64::from_le_bytes(*b"SLUICEST");
/// Raised with every change of the layout.
pub const STATS_VERSION: u64 = 4;
/// A reader looks so often for a moment at which nothing changes.
const LOOKS: u32 = 500;

macro_rules! counters {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),+ $(,)?) => {
        /// A counter of the statistics block.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(usize)]
        pub enum Counter { $($(#[$doc])* $variant),+ }

        impl Counter {
            /// All counters, in the order of the layout.
            pub const ALL: &[Counter] = &[$(Counter::$variant),+];

            /// Name in files and tables.
            pub fn name(self) -> &'static str {
                match self { $(Counter::$variant => $name),+ }
            }
        }
    };
}

counters! {
    /// Faults taken, of every kind.
    Traps = "traps",
    /// Traps on a page that was not in the cache.
    Misses = "misses",
    /// Traps on a page in the cache: prefetched, or in flight for another thread.
    SoftTraps = "soft",
    /// Traps on a page that was mapped by the time they were looked at.
    Spurious = "spurious",
    /// Misses that could not make their deadline.
    Late = "late",
    /// Pages that left the cache.
    Evictions = "evictions",
    /// Evictions of written pages: each costs a NAND program.
    DirtyEvictions = "dirty_evictions",
    /// Pages asked for by the prefetcher.
    PrefetchIssued = "prefetch_issued",
    /// Prefetched pages that were then touched.
    PrefetchUsed = "prefetch_used",
    /// NAND pages read.
    FlashReads = "flash_reads",
    /// NAND pages programmed, garbage collection included.
    FlashPrograms = "flash_programs",
    /// NAND pages programmed for the host.
    HostPrograms = "host_programs",
    /// Blocks erased.
    Erases = "erases",
    /// Valid pages moved by garbage collection.
    GcMoves = "gc_moves",
    /// Pages given back by the program (munmap, MADV_DONTNEED).
    Trims = "trims",
    /// Evictions the kernel refused because it had pinned the page.
    Pinned = "pinned",
    /// The kernel's error at the last eviction it refused.
    PinnedErrno = "pinned_errno",
    /// Pages that left the device because the program changed their protection.
    HostPages = "host_pages",
    /// Bytes of device memory the program has mapped.
    PlacedBytes = "placed_bytes",
    /// Mappings refused because the device was full.
    DeviceFull = "device_full",
    /// System calls that failed on device memory in signal mode and were tried again.
    KernelFaults = "kernel_faults",
    /// Private mappings of the DAX file, which stay outside the device.
    PrivateDax = "private_dax",
    /// Sampled pages whose window is over.
    SampledPages = "sampled_pages",
    /// Those that the program touched within their window.
    SampledTouched = "sampled_touched",
    /// Sum of their windows, ns.
    SampledWindowNs = "sampled_window_ns",
    /// Sum of the mapped pages at the end of each window.
    SampledMapped = "sampled_mapped",
    /// Forks of the program.
    Forks = "forks",
    /// Cost of a trap before the handler sees it, ns, as calibrated at start.
    EntryNs = "entry_ns",
    /// Cost from the handler's last act to the program's next instruction, ns.
    ExitNs = "exit_ns",
    /// Nanoseconds since the start of the runtime at the last trap.
    LastTrapNs = "last_trap_ns",
    /// Prefetched pages that were touched while they were still on their way.
    PrefetchLate = "prefetch_late",
    /// Prefetched pages that left without a touch.
    PrefetchUnused = "prefetch_unused",
    /// Prefetches given up because nothing could make room for them.
    PrefetchDropped = "prefetch_dropped",
    /// Modelled time of all traps together on the link, ps.
    PartsProtocol = "parts_protocol_ps",
    /// Modelled time of all traps together finding out where the page is, ps.
    PartsIndexing = "parts_indexing_ps",
    /// Modelled time of all traps together in the device's DRAM, ps.
    PartsDram = "parts_dram_ps",
    /// Modelled time of all traps together waiting to be taken in, ps.
    PartsStall = "parts_stall_ps",
    /// Modelled time of all traps together waiting for a page already on its way, ps.
    PartsMerge = "parts_merge_ps",
    /// Modelled time of all traps together waiting for a die or channel, ps.
    PartsFlashQueue = "parts_flash_queue_ps",
    /// Modelled time of all traps together waiting behind garbage collection, ps.
    PartsFlashGc = "parts_flash_gc_ps",
    /// Modelled time of all traps together in the flash array, ps.
    PartsFlashService = "parts_flash_service_ps",
    /// Answers of a policy from outside that broke its contract.
    PolicyRefused = "policy_refused",
    /// Writes that the worn-out device refused.
    WritesRefused = "writes_refused",
    /// Entries of the control ring that were answered.
    Commands = "commands",
    /// Those of them that were malformed or refused as a whole.
    CommandsRefused = "commands_refused",
    /// Pages that prefetch commands brought in.
    CommandPrefetches = "command_prefetches",
    /// Pages that evict commands took out.
    CommandEvictions = "command_evictions",
    /// NAND programs because of flush and evict commands.
    Flushes = "flushes",
    /// Pages that were pinned, each time one was.
    Pins = "pins",
    /// Pages that are pinned.
    PinnedPages = "pinned_pages",
    /// Pages in the cache or on their way there.
    CachedPages = "cached_pages",
    /// Parameters changed while the device ran.
    Tunes = "tunes",
    /// Bytes of the device that the program holds without access to them.
    ReservedBytes = "reserved_bytes",
    /// Bytes of memory to share with other processes that the program mapped, all of them together.
    SharedBytes = "shared_bytes",
}

impl Counter {
    /// The parts of the modelled time, in the model's order, with their names in the output.
    pub const PARTS: [(&str, Counter); 8] = [
        ("protocol", Counter::PartsProtocol),
        ("indexing", Counter::PartsIndexing),
        ("dram", Counter::PartsDram),
        ("stall", Counter::PartsStall),
        ("merge", Counter::PartsMerge),
        ("flash_queue", Counter::PartsFlashQueue),
        ("flash_gc", Counter::PartsFlashGc),
        ("flash_service", Counter::PartsFlashService),
    ];
}

/// Number of counters, with room for more without a new layout.
const SLOTS: usize = 64;
const _: () = assert!(Counter::ALL.len() <= SLOTS);

/// What one process tells about its device. `Counter` indexes `counters`.
#[repr(C)]
#[derive(Debug)]
pub struct StatsBlock {
    /// [`STATS_MAGIC`], written last: a block without it is not ready.
    pub magic: AtomicU64,
    /// [`STATS_VERSION`].
    pub version: AtomicU64,
    /// Process id.
    pub pid: AtomicU64,
    /// Process id of the parent.
    pub parent: AtomicU64,
    /// Start, ns of CLOCK_MONOTONIC.
    pub started_ns: AtomicU64,
    /// 1 when the process reached its end in good order.
    pub ended: AtomicU64,
    /// 1 when this process came from a fork without exec.
    pub forked: AtomicU64,
    /// Pages of the device; the residency map has a byte for each, [`MAP_AT`](crate::MAP_AT)
    /// bytes after the start of the block.
    pub pages: AtomicU64,
    /// Address of the first page in the process; 0 if the device has no addresses of its own.
    pub heap_at: AtomicU64,
    /// Twice the changes so far, and one more while one is under way: two readers that find the
    /// same even number find the same figures.
    pub sequence: AtomicU64,
    /// 1 when this program became another one by `exec`.
    pub replaced: AtomicU64,
    /// Programs that this one started without a fork that copies it (`posix_spawn`, `vfork`).
    pub started: AtomicU64,
    /// Zeros.
    pub reserved: [AtomicU64; 4],
    /// By [`Counter`].
    pub counters: [AtomicU64; SLOTS],
    /// Latency the model asked for, misses only.
    pub modelled: Hist,
    /// Latency the program saw, misses only.
    pub achieved: Hist,
}

impl StatsBlock {
    /// Begins a change of figures that belong together, or goes on with the one under way. One
    /// writer at a time.
    #[inline]
    pub fn change(&self) -> Change<'_> {
        let before = self.sequence.load(Relaxed);
        let is_outermost = before.is_multiple_of(2);
        if is_outermost {
            self.sequence.store(before.wrapping_add(1), Relaxed);
            fence(Release);
        }
        Change {
            block: self,
            is_outermost,
        }
    }

    /// Reads a counter.
    #[inline]
    pub fn get(&self, counter: Counter) -> u64 {
        self.counters[counter as usize].load(Relaxed)
    }

    /// What `read` finds while nothing changes, and the number of changes before. Without the
    /// number, figures of different moments: the writer was never at rest, or died in a change.
    pub fn at_rest<T>(&self, mut read: impl FnMut(&StatsBlock) -> T) -> (T, Option<u64>) {
        for _ in 0..LOOKS {
            let before = self.sequence.load(Acquire);
            if before.is_multiple_of(2) {
                let found = read(self);
                fence(Acquire);
                if self.sequence.load(Relaxed) == before {
                    return (found, Some(before / 2));
                }
            }
            core::hint::spin_loop();
        }
        (read(self), None)
    }
}

/// A change of a block. Readers wait for its end.
#[derive(Debug)]
pub struct Change<'a> {
    block: &'a StatsBlock,
    is_outermost: bool,
}

impl Change<'_> {
    /// Adds to a counter.
    #[inline]
    pub fn add(&self, counter: Counter, n: u64) {
        self.set(counter, self.get(counter) + n);
    }

    /// Sets a counter.
    #[inline]
    pub fn set(&self, counter: Counter, n: u64) {
        self.counters[counter as usize].store(n, Relaxed);
    }
}

impl Deref for Change<'_> {
    type Target = StatsBlock;
    #[inline]
    fn deref(&self) -> &StatsBlock {
        self.block
    }
}

impl Drop for Change<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.is_outermost {
            let begun = self.block.sequence.load(Relaxed);
            self.block.sequence.store(begun.wrapping_add(1), Release);
        }
    }
}

const _: () = assert!(size_of::<StatsBlock>().is_multiple_of(8));
const _: () = assert!(align_of::<StatsBlock>() == 8);
