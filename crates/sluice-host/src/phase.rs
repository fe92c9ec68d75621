//! The phases of a program, each measured for itself.

use super::artifact::Artifact;
use super::stats::{PhaseStats, Requests};
use super::stream::Program;
use super::system::Host;
use sluice_units::Ps;

/// Counters when a phase began.
#[derive(Clone, Copy, Default)]
struct Mark {
    at: Ps,
    instructions: u64,
    requests: Requests,
    hits: u64,
    misses: u64,
}

pub(super) struct Phase {
    /// Of each phase that the program names.
    pub told: Vec<PhaseStats>,
    /// The one that is under way.
    current: usize,
    /// When it began; `None` if counting began later.
    mark: Option<Mark>,
}

impl Phase {
    pub fn new(program: &dyn Program) -> Phase {
        Phase {
            told: vec![PhaseStats::default(); program.phases().len()],
            current: program.phase(),
            mark: Some(Mark::default()),
        }
    }
}

impl<A: Artifact> Host<'_, A> {
    /// Counting begins here, in the midst of a phase unless nothing has happened yet.
    pub(super) fn forget_phases(&mut self) {
        self.phase.told.fill(PhaseStats::default());
        let begins = self.now == Ps::ZERO;
        self.phase.mark = begins.then(|| self.mark());
    }

    /// All threads are at a barrier, or have ended: a phase is over, and the next begins.
    pub(super) fn end_phase(&mut self) {
        let mark = self.mark();
        let begun = self.phase.mark.replace(mark);
        let next = self.program.phase();
        let ended = std::mem::replace(&mut self.phase.current, next);
        let (Some(begun), Some(told)) = (begun, self.phase.told.get_mut(ended)) else {
            return;
        };
        let time = mark.at - begun.at;
        told.shortest = match told.times {
            0 => time,
            _ => told.shortest.min(time),
        };
        told.times += 1;
        told.time += time;
        told.instructions += mark.instructions - begun.instructions;
        told.cache_hits += mark.hits - begun.hits;
        told.cache_misses += mark.misses - begun.misses;
        let between = mark.requests.since(&begun.requests);
        told.requests.add(&between);
    }

    fn mark(&self) -> Mark {
        let device = self.memory.device().stats();
        Mark {
            at: self.now,
            instructions: self.totals().instructions,
            requests: self.memory.stats().requests,
            hits: device.hits,
            misses: device.misses + device.mshr_merges,
        }
    }
}
