//! Where dies work in the order of requests: when a die has a place for one more program, and when
//! it has programmed what the host wrote.
//!
//! An operation is in the order of its die at once, and its data with it. A die has places for so
//! many that wait: one that comes when these are taken has a place when the oldest begins.

use super::op::Op;
use crate::config::NandSettings;
use crate::layout::Die;
use sluice_units::{Ps, Table};

/// The places of every die.
pub(super) struct Places {
    /// Places of a die.
    count: u32,
    /// Per die and place: when the operation began, or will begin, that had it last.
    begins: Vec<Ps>,
    dies: Table<Die, DieState>,
}

#[derive(Clone, Default)]
struct DieState {
    /// The place that is free first.
    next: u32,
    /// When the latest operation has a place.
    held_at: Ps,
    /// When the latest program of the host's ends.
    programmed_at: Ps,
}

impl Places {
    pub fn new(settings: &NandSettings) -> Places {
        let (dies, count) = (settings.die_count(), settings.write_queue);
        Places {
            count,
            begins: vec![Ps::ZERO; dies as usize * count as usize],
            dies: Table::filled(dies, DieState::default()),
        }
    }

    /// An operation is in its die's order: it begins at `start` and ends at `end`.
    pub fn take(&mut self, op: &Op, start: Ps, end: Ps) {
        let die = &mut self.dies[op.die];
        let place = op.die.index() * self.count as usize + die.next as usize;
        die.next = (die.next + 1) % self.count;
        die.held_at = std::mem::replace(&mut self.begins[place], start);
        if op.is_of_host() {
            die.programmed_at = die.programmed_at.max(end);
        }
    }

    /// When the die's latest operation has a place, `at` at the earliest.
    pub fn held_at(&self, at: Ps, die: Die) -> Ps {
        self.dies[die].held_at.max(at)
    }

    /// When the die has programmed what the host wrote.
    pub fn programmed_at(&self, die: Die) -> Ps {
        self.dies[die].programmed_at
    }
}
