//! A host as it is built: processor, operating system, memory, link.

use super::artifact::Before;
use sluice_cxl::FlitMode;
use sluice_model::dram::DramLayout;
use sluice_params::choices;
use sluice_units::Ps;

/// A level of caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Lines of 64 bytes: a power of two times the ways; 0 for an L3 that there is not.
    pub lines: u32,
    /// Ways.
    pub ways: u32,
    /// From the access to the data, levels above included.
    pub latency: Ps,
    /// Misses under way at once.
    pub mshrs: u32,
}

/// The address translation of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tlb {
    /// Pages it holds: a power of two times the ways.
    pub entries: u32,
    /// Ways.
    pub ways: u32,
    /// What a miss adds to its access.
    pub walk: Ps,
    /// What every core loses when a page has moved.
    pub shootdown: Ps,
}

/// The processor's cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Cores.
    pub cores: u32,
    /// One cycle.
    pub cycle: Ps,
    /// Instructions issued and retired in a cycle.
    pub width: u32,
    /// Entries of the reorder window.
    pub window: u32,
    /// Instructions that find room behind one that waits for its data.
    pub scheduler: u32,
    /// Stores that have retired and are not yet in the cache.
    pub store_buffer: u32,
    /// Private.
    pub l1: Level,
    /// Private.
    pub l2: Level,
    /// Whether a line that leaves the L2 leaves the L1 too.
    pub l2_rules: bool,
    /// Shared.
    pub l3: Level,
    /// Private.
    pub tlb: Tlb,
}

choices! {
    /// Which thread runs next.
    pub enum Scheduling {
        RoundRobin = "rr": "the one that has waited longest",
        Random = "random": "any",
        Fair = "cfs": "the one that has run least",
    }
}

/// A context switch, on a long delay (the device's message, SkyByte section III-A, or a miss of
/// AstriFlash's page cache), at a barrier, or at the end of a time slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switching {
    /// From the exception to the first instruction of the next thread.
    pub cost: Ps,
    /// Cycles lost to branches mispredicted after it.
    pub mispredicts: Ps,
    /// Whether the L1 is empty after it.
    pub flushes_l1: bool,
}

/// Where pages are at the start, and how they move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Migration {
    /// All pages are in host memory (DRAM-Only).
    AllHost,
    /// All pages stay on the device.
    None,
    /// The device counts accesses and promotes (SkyByte section III-C).
    Adaptive(Adaptive),
    /// The kernel samples accesses and promotes (TPP; SkyByte section VI-H).
    Tpp(Tpp),
    /// Host memory is a set-associative cache of the device's pages (AstriFlash; section VI-H).
    AstriFlash(AstriFlash),
}

/// SkyByte's promotion of hot pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adaptive {
    /// Host memory for promoted pages, in pages of 4 KiB.
    pub pages: u32,
    /// Accesses to a page while it is in the device's cache after which it is hot: at most 65,535.
    pub threshold: u32,
    /// Counts are halved once in this time; never if zero.
    pub decay: Ps,
    /// Entries of the promotion look-aside buffer: pages under way at once.
    pub buffer: u32,
    /// From the device's interrupt to the first line of the copy.
    pub interrupt: Ps,
    /// From one line of the copy to the next.
    pub line: Ps,
    /// Pages of 4 KiB that move together: 1, or 512 for huge pages.
    pub huge: u32,
    /// Share of the budget that reclaim keeps free, in pages.
    pub spare: u32,
    /// Host memory of the other NUMA node, used when the home node is full, in pages.
    pub remote_pages: u32,
    /// What an access to the other node adds.
    pub remote_latency: Ps,
    /// Frames of a set of host memory: hardware finds a page in its set, where one that comes in
    /// takes the place of the one used longest ago. 0: a page can have any frame.
    pub ways: u32,
}

choices! {
    /// How sampling finds a hot page.
    pub enum Sampling {
        Faults = "faults": "a marked page faults once, and is promoted if it had faulted within \
                            migration.tpp_window",
        Accesses = "accesses": "all of the program is marked in turn and stays so; the first \
                                access of a marked page that the device has makes it active, and \
                                one that finds it active and in the device's cache promotes it, at \
                                no cost to its thread. A page that goes back written is inactive \
                                and not marked",
    }
}

choices! {
    /// Where pages are at the start, and how they move.
    pub enum MigrationPolicy {
        None = "none": "all pages stay on the device",
        AllHost = "host": "all are in host memory",
        Adaptive = "adaptive": "the device counts accesses and promotes",
        Tpp = "tpp": "the kernel samples accesses and promotes",
        AstriFlash = "astriflash": "host memory is a cache of the device's pages",
    }
}

/// Sampling of accesses by the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tpp {
    /// Host memory for promoted pages, and the most that are active.
    pub pages: u32,
    /// What makes a page hot.
    pub sampling: Sampling,
    /// Every so often some pages are marked: made to fault at their next access.
    pub period: Ps,
    /// How many.
    pub batch: u32,
    /// What such a fault costs the thread.
    pub fault: Ps,
    /// A page that faults again within this time of its fault before is promoted.
    pub window: Ps,
    /// From one line of the copy to the next.
    pub line: Ps,
    /// Pages that reclaim keeps free.
    pub spare: u32,
    /// As [`Adaptive::ways`].
    pub ways: u32,
}

/// Host memory as a cache of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AstriFlash {
    /// Pages it holds: a power of two times the ways.
    pub pages: u32,
    /// Ways.
    pub ways: u32,
    /// Finding a page in it.
    pub lookup: Ps,
}

/// What an access to host memory takes.
#[derive(Clone, Copy, Debug)]
pub enum HostDram {
    /// This time for each access, however many there are.
    Fixed(Ps),
    /// What banks, rows, bus and refresh make of it.
    Banks(HostBanks),
}

/// Host memory with banks.
#[derive(Clone, Copy, Debug)]
pub struct HostBanks {
    /// How it is put together.
    pub layout: DramLayout,
    /// What controller and on-chip network add.
    pub overhead: Ps,
    /// Writes that its controller holds back.
    pub write_buffer: u32,
}

impl HostDram {
    /// A read while nothing else is going on, of a row that is not open.
    pub fn idle_read(&self) -> Ps {
        match self {
            HostDram::Fixed(latency) => *latency,
            HostDram::Banks(banks) => banks.layout.idle_read() + banks.overhead,
        }
    }
}

/// The link to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Time of a line of 64 bytes on it, in one direction.
    pub line: Ps,
    /// Of a link with messages: what they are sent by. None if lines alone take time on it.
    pub messages: Option<Messages>,
}

/// A link that carries every request and every answer as a message of CXL.mem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Messages {
    /// MB/s (10^6 bytes) in each direction.
    pub bandwidth: u64,
    /// The flits that carry them.
    pub flits: FlitMode,
}

choices! {
    /// What takes time on the link to the device.
    pub enum LinkModel {
        Constant = "constant": "lines of 64 bytes; requests and messages without data pass beside \
                                them",
        Protocol = "protocol": "every message of CXL.mem, with its part of full flits, in the \
                                order in which it is ready",
    }
}

/// A host's checked values: what it is built from.
#[derive(Clone, Debug)]
pub struct HostConfig {
    /// Processor.
    pub cpu: Cpu,
    /// Threads of the program.
    pub threads: u32,
    /// Which thread runs next.
    pub scheduling: Scheduling,
    /// What a context switch costs.
    pub switching: Switching,
    /// Whether a long delay ends in a context switch, or is waited for.
    pub coordinated: bool,
    /// Longest time that a thread runs while others wait.
    pub slice: Ps,
    /// Host memory.
    pub dram: HostDram,
    /// Whether a program's own memory is host memory (see [`super::Program::local`]).
    pub local_in_host: bool,
    /// Where pages are.
    pub migration: Migration,
    /// What host memory for pages and the device's cache hold at the start.
    pub start: Start,
    /// Whether every read is held against the newest version of its line, and a mistake panics.
    /// Takes memory and time.
    pub is_checked: bool,
    /// The link to the device.
    pub link: Link,
    /// Seed of every random stream.
    pub seed: u64,
}

choices! {
    /// What host memory for pages and the device's cache hold before the first instruction.
    pub enum Start {
        Empty = "empty": "nothing, and all pages are in flash",
        Full = "full": "host memory has the last pages of the program, and the device's cache \
                        those before them, as if it had just built its data from the first to the \
                        last; flash has of them what does not change afterwards",
        Others = "others": "both are full of pages at the end of the device that the program never \
                            touches, as if other programs had run before",
    }
}

impl HostConfig {
    /// Where the program's pages are before it begins, in a word for the record.
    pub fn start_name(&self) -> &'static str {
        match (self.migration, self.start) {
            (Migration::AllHost, _) => "host",
            (_, Start::Empty) => "empty",
            (_, Start::Full) => "full",
            (_, Start::Others) => "others",
        }
    }

    /// Pages that [`Start::Others`] takes of the device, if its cache has `cache_pages`.
    pub fn pages_of_others(&self, cache_pages: u32, before: &Before) -> u64 {
        if self.start != Start::Others || self.migration == Migration::AllHost {
            return 0;
        }
        let in_host = match self.migration {
            Migration::None | Migration::AllHost => 0,
            Migration::Adaptive(given) => u64::from(given.pages) + u64::from(given.remote_pages),
            Migration::Tpp(given) => given.pages.into(),
            Migration::AstriFlash(given) => given.pages.into(),
        };
        in_host + u64::from(cache_pages) * before.spread
    }
}
