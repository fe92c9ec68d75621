//! The statistics block of this process, in a file of the session directory.

use core::sync::atomic::Ordering::*;
use sluice_abi::{Counter, STATS_MAGIC, STATS_VERSION, StatsBlock};
use sluice_model::Stats;
use sluice_region::Mapping;

/// The mapped block.
#[derive(Debug)]
pub struct Live {
    map: Mapping,
}

impl Live {
    /// A block over a mapping of its length, marked as ready.
    pub fn new(map: Mapping, started_ns: u64, forked: bool) -> Live {
        let live = Live { map };
        let block = live.block();
        block.version.store(STATS_VERSION, Relaxed);
        // SAFETY: no arguments.
        let (pid, parent) = unsafe { (libc::getpid(), libc::getppid()) };
        block.pid.store(pid as u64, Relaxed);
        block.parent.store(parent as u64, Relaxed);
        block.started_ns.store(started_ns, Relaxed);
        block.forked.store(forked as u64, Relaxed);
        block.magic.store(STATS_MAGIC, Release);
        live
    }

    /// The block itself.
    pub fn block(&self) -> &StatsBlock {
        // SAFETY: the mapping is page-aligned, long enough, and all fields are atomics.
        unsafe { &*(self.map.addr() as *const StatsBlock) }
    }

    /// Copies the model's counters, less those that a forked child found there.
    pub fn copy_model(&self, model: &Stats, inherited: &Stats) {
        let block = self.block();
        let pairs = [
            (Counter::Evictions, model.evictions, inherited.evictions),
            (
                Counter::PolicyRefused,
                model.policy_refused,
                inherited.policy_refused,
            ),
            (
                Counter::DirtyEvictions,
                model.dirty_evictions,
                inherited.dirty_evictions,
            ),
            (
                Counter::PrefetchIssued,
                model.prefetch_issued,
                inherited.prefetch_issued,
            ),
            (
                Counter::PrefetchUsed,
                model.prefetch_used,
                inherited.prefetch_used,
            ),
            (
                Counter::FlashReads,
                model.flash_reads,
                inherited.flash_reads,
            ),
            (
                Counter::FlashPrograms,
                model.flash_programs,
                inherited.flash_programs,
            ),
            (
                Counter::HostPrograms,
                model.host_programs,
                inherited.host_programs,
            ),
            (
                Counter::PrefetchLate,
                model.prefetch_late,
                inherited.prefetch_late,
            ),
            (
                Counter::PrefetchUnused,
                model.prefetch_unused,
                inherited.prefetch_unused,
            ),
            (
                Counter::PrefetchDropped,
                model.prefetch_dropped,
                inherited.prefetch_dropped,
            ),
            (Counter::Erases, model.erases, inherited.erases),
            (Counter::GcMoves, model.gc_moves, inherited.gc_moves),
            (Counter::Trims, model.trims, inherited.trims),
        ];
        for (counter, value, before) in pairs {
            block.set(counter, value - before);
        }
        let parts = model.parts.named().into_iter().zip(inherited.parts.named());
        for ((_, counter), ((_, part), (_, before))) in Counter::PARTS.into_iter().zip(parts) {
            block.set(counter, (part - before).0);
        }
    }
}
