//! The statistics of one process on a device.

use crate::hist::Hist;
use core::ops::Deref;
use core::sync::atomic::{AtomicU64, Ordering::*, fence};

/// First word of a statistics file: "SLUICEST".
pub const STATS_MAGIC: u64 = u64::from_le_bytes(*b"SLUICEST");
/// Raised with every change of the layout.
pub const STATS_VERSION: u64 = 17;
/// What [`StatsBlock::forked`] is for the device of memory that processes share.
pub const OF_SHARED_MEMORY: u64 = 2;
/// A reader looks so often for a moment at which nothing changes.
const LOOKS: u32 = 500;

macro_rules! counters {
    ([] $($(#[doc = $doc:literal])* $variant:ident: $name:ident as $key:ident;)+) => {
        /// A counter of the statistics block. All of them are declared in `counters.rs`.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(usize)]
        pub enum Counter { $($(#[doc = $doc])* $variant),+ }

        impl Counter {
            /// All counters, in the order of the layout.
            pub const ALL: &[Counter] = &[$(Counter::$variant),+];

            /// Name in files and tables.
            pub fn name(self) -> &'static str {
                match self { $(Counter::$variant => stringify!($name)),+ }
            }

            /// What it counts, as its declaration says it.
            pub fn meaning(self) -> &'static str {
                match self { $(Counter::$variant => concat!($($doc),*).trim_ascii_start()),+ }
            }
        }
    };
}

macro_rules! parts {
    ([] $($(#[$doc:meta])* $variant:ident: $name:ident as $key:ident;)+) => {
        impl Counter {
            /// The parts of the modelled time, in the model's order, with their keys in the
            /// results.
            pub const PARTS: [(&str, Counter); 8] = [$((stringify!($key), Counter::$variant)),+];
        }
    };
}

impl Counter {
    /// What has come between two readings; of a state the later one.
    pub fn since(self, now: u64, then: u64) -> u64 {
        match self.is_state() {
            true => now,
            false => now.wrapping_sub(then),
        }
    }

    /// Whether it is a state, and not a number of what has happened: a difference of two readings
    /// says nothing.
    pub fn is_state(self) -> bool {
        use Counter::*;
        matches!(
            self,
            PlacedBytes
                | ReservedBytes
                | PinnedErrno
                | StoreQueued
                | StoreDirect
                | EntryNs
                | ExitNs
                | HitNs
                | LastTrapNs
                | PinnedPages
                | CachedPages
        )
    }
}

crate::device_counters! { [crate::run_counters, crate::part_counters, counters] }
crate::part_counters! { [parts] }

/// Number of counters, with room for more without a new layout.
pub const SLOTS: usize = 128;
const _: () = assert!(Counter::ALL.len() <= SLOTS);

/// What one process publishes about its device. `Counter` indexes `counters`.
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
    /// 1 when this process came from a fork without exec, [`OF_SHARED_MEMORY`] for the device of
    /// memory that processes share.
    pub forked: AtomicU64,
    /// Pages of the device; the residency map has a byte for each, [`MAP_AT`](crate::MAP_AT)
    /// bytes after the start of the block, and the heat follows ([`heat_at`](crate::heat_at)).
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
    /// 1 when the program image before this one, in the same process, became it by `exec`.
    pub follows: AtomicU64,
    /// Zeros.
    pub reserved: [AtomicU64; 3],
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

    /// Counts one of those that the block's owner never changes: a child of its forks, which has
    /// no block of its own.
    pub fn count_for_child(&self, counter: Counter) {
        self.counters[counter as usize].fetch_add(1, Relaxed);
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
