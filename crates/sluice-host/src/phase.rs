//! The phases of a program, each measured for itself.

use super::stats::{PhaseStats, Requests};
use super::stream::Program;
use sluice_units::Ps;

/// Counters when a phase began.
#[derive(Clone, Copy, Default)]
pub(super) struct Mark {
    pub at: Ps,
    pub instructions: u64,
    pub requests: Requests,
    pub hits: u64,
    pub misses: u64,
}

pub(super) struct Phase {
    /// The figures of each phase that the program names.
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

    /// Counting begins here: at a phase's beginning, with its counters, or in the midst of one.
    pub fn forget(&mut self, mark: Option<Mark>) {
        self.told.fill(PhaseStats::default());
        self.mark = mark;
    }

    /// A phase is over, and the `next` begins.
    pub fn end(&mut self, mark: Mark, next: usize) {
        let begun = self.mark.replace(mark);
        let ended = std::mem::replace(&mut self.current, next);
        let (Some(begun), Some(told)) = (begun, self.told.get_mut(ended)) else {
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
}
