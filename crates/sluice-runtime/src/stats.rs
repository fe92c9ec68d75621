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

/// A counter of the block and where the model has it.
type Field = (Counter, fn(&Stats) -> u64);

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
        let fields: [Field; 15] = [
            (Counter::Evictions, |stats| stats.evictions),
            (Counter::PolicyRefused, |stats| stats.policy_refused),
            (Counter::WritesRefused, |stats| stats.writes_refused),
            (Counter::DirtyEvictions, |stats| stats.dirty_evictions),
            (Counter::PrefetchIssued, |stats| stats.prefetch_issued),
            (Counter::PrefetchUsed, |stats| stats.prefetch_used),
            (Counter::FlashReads, |stats| stats.flash_reads),
            (Counter::FlashPrograms, |stats| stats.flash_programs),
            (Counter::HostPrograms, |stats| stats.host_programs),
            (Counter::PrefetchLate, |stats| stats.prefetch_late),
            (Counter::PrefetchUnused, |stats| stats.prefetch_unused),
            (Counter::PrefetchDropped, |stats| stats.prefetch_dropped),
            (Counter::Erases, |stats| stats.erases),
            (Counter::GcMoves, |stats| stats.gc_moves),
            (Counter::Trims, |stats| stats.trims),
        ];
        for (counter, of) in fields {
            block.set(counter, of(model) - of(inherited));
        }
        let parts = model.parts.named().into_iter().zip(inherited.parts.named());
        for ((_, counter), ((_, part), (_, before))) in Counter::PARTS.into_iter().zip(parts) {
            block.set(counter, (part - before).0);
        }
    }
}
