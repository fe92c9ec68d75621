//! What a host has counted between two moments of a run.

use super::stats::{
    AccessTime, CoreTime, HostStats, LevelStats, MemoryStats, MigrationStats, Requests,
};
use sluice_units::Ps;

/// The difference of the counters that a struct has: of numbers, and of times.
macro_rules! differences {
    ($now:ident - $before:ident: $type:ident { $($field:ident),* $(,)? } $(..$rest:expr)?) => {
        $type { $($field: Difference::of($now.$field, $before.$field),)* $(..$rest)? }
    };
}

/// A counter that only grows.
trait Difference {
    fn of(now: Self, before: Self) -> Self;
}

impl Difference for u64 {
    fn of(now: u64, before: u64) -> u64 {
        now - before
    }
}

/// A core runs up to a microsecond ahead: what is clamped to the time of the whole may be a little
/// more at the earlier moment.
impl Difference for Ps {
    fn of(now: Ps, before: Ps) -> Ps {
        now.saturating_sub(before)
    }
}

impl HostStats {
    /// What was counted after an earlier moment of the same run. Timeline, phases and marks are of
    /// the whole run, and so not there.
    pub fn since(&self, before: &HostStats) -> HostStats {
        let now = self;
        HostStats {
            cores: now.cores.since(&before.cores),
            levels: [0, 1, 2].map(|at| now.levels[at].since(&before.levels[at])),
            memory: now.memory.since(&before.memory),
            device: now.device.since(&before.device),
            hash: now.hash,
            ..differences!(now - before: HostStats {
                instructions, loads, stores, time, tlb_misses, switches, squashed,
            } ..HostStats::default())
        }
    }
}

impl CoreTime {
    fn since(&self, before: &CoreTime) -> CoreTime {
        differences!(self - before: CoreTime { compute, memory, switching, idle })
    }
}

impl LevelStats {
    fn since(&self, before: &LevelStats) -> LevelStats {
        differences!(self - before: LevelStats { hits, misses, merges, write_backs, mshr_wait })
    }
}

impl Requests {
    /// What came after an earlier count.
    pub(super) fn since(&self, before: &Requests) -> Requests {
        differences!(self - before: Requests {
            host_reads, host_writes, device_read_hits, device_read_misses, device_writes,
        })
    }
}

impl AccessTime {
    fn since(&self, before: &AccessTime) -> AccessTime {
        differences!(self - before: AccessTime {
            accesses, host_dram, host_demand, host_demands, protocol, indexing, device_dram, flash,
        })
    }
}

impl MigrationStats {
    fn since(&self, before: &MigrationStats) -> MigrationStats {
        differences!(self - before: MigrationStats {
            promotions, demotions, dirty_demotions, buffer_full, no_room, buffer_device,
            buffer_host, shootdowns, samples,
        })
    }
}

impl MemoryStats {
    fn since(&self, before: &MemoryStats) -> MemoryStats {
        MemoryStats {
            requests: self.requests.since(&before.requests),
            access_time: self.access_time.since(&before.access_time),
            latency: self.latency.since(&before.latency),
            flash_read: self.flash_read.since(&before.flash_read),
            long_delays: self.long_delays - before.long_delays,
            migration: self.migration.since(&before.migration),
            link_bytes: [0, 1].map(|way| self.link_bytes[way] - before.link_bytes[way]),
        }
    }
}
