//! Miss status holding registers: how many pages can be on their way at once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sluice_units::Ps;

/// The fills in flight, by the time they end. Never holds more than its bound.
pub(crate) struct Mshr {
    ends: BinaryHeap<Reverse<Ps>>,
    entries: usize,
}

impl Mshr {
    pub fn new(entries: u32) -> Mshr {
        let entries = entries as usize;
        Mshr {
            ends: BinaryHeap::with_capacity(entries),
            entries,
        }
    }

    /// Frees the entries of all fills that have ended by `now`.
    pub fn retire(&mut self, now: Ps) {
        while self.ends.peek().is_some_and(|end| end.0 <= now) {
            self.ends.pop();
        }
    }

    /// When a fill wanted at `now` can start: at once, or when the first entry is free.
    pub fn free_at(&self, now: Ps) -> Ps {
        match self.ends.peek() {
            Some(first) if self.ends.len() == self.entries => now.max(first.0),
            _ => now,
        }
    }

    /// Takes an entry until `end`. The caller has waited for [`Mshr::free_at`] and retired.
    pub fn take(&mut self, end: Ps) {
        assert!(
            self.ends.len() < self.entries,
            "an MSHR entry was taken that is not free"
        );
        self.ends.push(Reverse(end));
    }
}
