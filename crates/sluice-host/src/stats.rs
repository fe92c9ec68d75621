//! What a host has done.

use sluice_model::Stats;
use sluice_stats::Histogram;
use sluice_units::Ps;

/// Where the time of the cores went. The four together are `cores` times the time of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreTime {
    /// Cycles in which an instruction other than a load or store was issued (SkyByte section
    /// II-C: bound by computation).
    pub compute: Ps,
    /// Cycles in which nothing but memory instructions was going on (bound by memory).
    pub memory: Ps,
    /// Context switches.
    pub switching: Ps,
    /// No thread to run: all wait at a barrier or have ended.
    pub idle: Ps,
}

/// Look-ups of one level of caches, those of all cores together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelStats {
    /// Found.
    pub hits: u64,
    /// Lookups that did not find their line.
    pub misses: u64,
    /// Of the hits, those to a line that was still on its way.
    pub merges: u64,
    /// Lines written back to the level below.
    pub write_backs: u64,
    /// Time that misses waited for an MSHR.
    pub mshr_wait: Ps,
}

impl LevelStats {
    pub(super) fn add(&mut self, other: &LevelStats) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.merges += other.merges;
        self.write_backs += other.write_backs;
        self.mshr_wait += other.mshr_wait;
    }
}

/// Accesses that left the processor, by kind (SkyByte Figure 16).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Reads of host memory (H-R).
    pub host_reads: u64,
    /// Writes of host memory (H-W).
    pub host_writes: u64,
    /// Reads that the device had in its DRAM (S-R-H).
    pub device_read_hits: u64,
    /// Reads that had to wait for flash (S-R-M).
    pub device_read_misses: u64,
    /// Writes to the device (S-W).
    pub device_writes: u64,
}

impl Requests {
    /// Adds others.
    pub(super) fn add(&mut self, other: &Requests) {
        self.host_reads += other.host_reads;
        self.host_writes += other.host_writes;
        self.device_read_hits += other.device_read_hits;
        self.device_read_misses += other.device_read_misses;
        self.device_writes += other.device_writes;
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        let host = self.host_reads + self.host_writes;
        host + self.device_read_hits + self.device_read_misses + self.device_writes
    }
}

/// Time of the accesses that left the processor and were not replayed later, by cause (SkyByte
/// Figure 17). Divided by `accesses` this is the AMAT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessTime {
    /// How many.
    pub accesses: u64,
    /// Host DRAM, with its controller.
    pub host_dram: Ps,
    /// Of this, what those took that somebody asked for: reads, and stores that miss all caches,
    /// but no lines that the L3 sends back.
    pub host_demand: Ps,
    /// How many these are.
    pub host_demands: u64,
    /// CXL link and protocol, waiting for the link included.
    pub protocol: Ps,
    /// Looking up cache and write log in the device.
    pub indexing: Ps,
    /// The device's DRAM.
    pub device_dram: Ps,
    /// Flash and everything else that the device had to wait for.
    pub flash: Ps,
}

impl AccessTime {
    /// The time of all accesses together.
    pub fn total(&self) -> Ps {
        self.host_dram + self.protocol + self.indexing + self.device_dram + self.flash
    }
}

/// What page migration has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MigrationStats {
    /// Pages of the host's size moved to host memory.
    pub promotions: u64,
    /// Pages moved back.
    pub demotions: u64,
    /// Demotions of pages whose contents had to be written.
    pub dirty_demotions: u64,
    /// Promotions given up: the look-aside buffer was full.
    pub buffer_full: u64,
    /// Promotions given up: no host memory could be freed.
    pub no_room: u64,
    /// Accesses to a page under way, by where its line was: still in the device.
    pub buffer_device: u64,
    /// Accesses to a page under way whose line had already been moved.
    pub buffer_host: u64,
    /// TLB shootdowns.
    pub shootdowns: u64,
    /// Sampling faults taken by threads (`migration.policy = tpp`).
    pub samples: u64,
}

/// What has happened on the far side of the L3.
///
/// `requests.total()` is `access_time.accesses + long_delays`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryStats {
    /// Accesses that left the processor.
    pub requests: Requests,
    /// Their time by cause.
    pub access_time: AccessTime,
    /// Their latencies (SkyByte Figure 3).
    pub latency: Histogram,
    /// Latencies of NAND reads for loads, from the device's miss on (SkyByte Table III).
    pub flash_read: Histogram,
    /// Reads answered with a long-delay message, or by AstriFlash with a switch, instead of data.
    pub long_delays: u64,
    /// Page migration.
    pub migration: MigrationStats,
    /// Bytes of lines on the link, to the device and from it.
    pub link_bytes: [u64; 2],
}

/// What the host has looked like during a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// When the stretch ended.
    pub at: Ps,
    /// Instructions retired in it.
    pub instructions: u64,
    /// Accesses that left the processor.
    pub accesses: u64,
    /// Accesses that waited for flash.
    pub flash: u64,
    /// Context switches.
    pub switches: u64,
    /// Promotions.
    pub promotions: u64,
    /// NAND programs.
    pub programs: u64,
}

impl Sample {
    /// What was counted after an earlier one, with times from `began`.
    pub(super) fn since(&self, before: &Sample, began: Ps) -> Sample {
        Sample {
            at: self.at.saturating_sub(began),
            instructions: self.instructions - before.instructions,
            accesses: self.accesses - before.accesses,
            flash: self.flash - before.flash,
            switches: self.switches - before.switches,
            promotions: self.promotions - before.promotions,
            programs: self.programs - before.programs,
        }
    }
}

/// A phase of the program (see [`super::Program::phases`]), all its runs together. One that was
/// under way when counting began or ended does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseStats {
    /// How often it ran.
    pub times: u64,
    /// How long all of them took.
    pub time: Ps,
    /// How long the shortest took.
    pub shortest: Ps,
    /// Instructions retired.
    pub instructions: u64,
    /// What left the processor.
    pub requests: Requests,
    /// Accesses that the device's cache had.
    pub cache_hits: u64,
    /// Accesses that it did not have, those to pages on their way included.
    pub cache_misses: u64,
}

/// Everything that was counted in the measured part of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostStats {
    /// Instructions retired.
    pub instructions: u64,
    /// Loads among them.
    pub loads: u64,
    /// Stores among them.
    pub stores: u64,
    /// How long it took.
    pub time: Ps,
    /// When it ended.
    pub until: Ps,
    /// Where the time of the cores went.
    pub cores: CoreTime,
    /// L1, L2 and L3.
    pub levels: [LevelStats; 3],
    /// Accesses to a page that the TLB did not have.
    pub tlb_misses: u64,
    /// What left the processor.
    pub memory: MemoryStats,
    /// What the device did meanwhile, by its own counters.
    pub device: Stats,
    /// Context switches.
    pub switches: u64,
    /// Instructions given up at a switch, to be executed again.
    pub squashed: u64,
    /// The run in stretches of equal time.
    pub timeline: Vec<Sample>,
    /// Its phases, in the order in which the program names them.
    pub phases: Vec<PhaseStats>,
    /// The same up to each mark that a thread has passed ([`super::Step::Mark`]), with the mark's
    /// number; without marks of their own.
    pub marks: Vec<(u32, HostStats)>,
    /// FNV-1a, a word at a time, over the time and thread of every context switch, access and
    /// barrier, and when counting began if there was a warm-up: equal runs have equal hashes.
    pub hash: u64,
}
