//! The posted operation that began last on a die, and which reads go before it.

use super::array::Array;
use super::flash::Origin;
use super::op::{Op, Verb};
use crate::config::ReadFirst;
use crate::layout::Die;
use sluice_units::Ps;

/// Which operations reads suspend.
pub(super) struct Rules {
    suspend_program: bool,
    suspend_erase: bool,
    suspend: Ps,
    pub resume: Ps,
    /// Reads that may go before an operation that has begun.
    overtakes_max: u32,
}

/// The posted operation that began last. It is over at `end`.
#[derive(Clone, Copy)]
pub(super) struct Current {
    pub verb: Verb,
    pub origin: Origin,
    /// Whether it, or what runs with it, programs what the host wrote.
    pub is_of_host: bool,
    pub from: Ps,
    /// When it makes way for the reads that it lets go first.
    pub stopped_at: Ps,
    /// When the cells begin, or take up their work again.
    pub cells_from: Ps,
    /// As `cells_from`, after the time that resuming takes.
    pub work_from: Ps,
    pub end: Ps,
    pub overtaken: u32,
}

impl Default for Current {
    fn default() -> Current {
        Current {
            verb: Verb::Read,
            origin: Origin::Host,
            is_of_host: false,
            from: Ps::ZERO,
            stopped_at: Ps::ZERO,
            cells_from: Ps::ZERO,
            work_from: Ps::ZERO,
            end: Ps::ZERO,
            overtaken: 0,
        }
    }
}

impl Rules {
    pub fn new(rules: &ReadFirst) -> Rules {
        Rules {
            suspend_program: rules.suspend.programs(),
            suspend_erase: rules.suspend.erases(),
            suspend: rules.suspend_latency,
            resume: rules.resume_latency,
            overtakes_max: rules.suspend_reads,
        }
    }

    /// When a read can begin that is asked for while an operation runs, with no other read behind
    /// that.
    pub fn turn(&self, now: Ps, current: &Current) -> Ps {
        let allowed = match current.verb {
            Verb::Read => false,
            Verb::Program => self.suspend_program,
            Verb::Erase => self.suspend_erase,
        };
        if !allowed || current.overtaken == self.overtakes_max {
            return current.end;
        }
        if current.overtaken > 0 && now <= current.cells_from {
            return current.cells_from;
        }
        let suspended = now.max(current.cells_from) + self.suspend;
        suspended.min(current.end)
    }
}

impl Current {
    pub fn new(op: &Op, from: Ps, cells_from: Ps, end: Ps) -> Current {
        Current {
            verb: op.verb,
            origin: op.origin,
            is_of_host: op.is_of_host(),
            from,
            stopped_at: cells_from,
            cells_from,
            work_from: cells_from,
            end,
            overtaken: 0,
        }
    }

    /// How much of [now, start) is taken by this operation, if it is collection's, and not noted
    /// in the die's chain: where that closes gaps, this operation may lie in one.
    pub fn hold(&self, now: Ps, start: Ps, die: Die, array: &Array) -> Ps {
        if self.origin != Origin::Gc {
            return Ps::ZERO;
        }
        let halves = [[self.from, self.stopped_at], [self.cells_from, self.end]];
        let held = halves.map(|[from, to]| {
            let (from, to) = (now.max(from), start.min(to));
            to - from - array.gc_within(from, to, die)
        });
        held[0] + held[1]
    }
}
