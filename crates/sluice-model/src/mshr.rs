//! Miss status holding registers: the bounds on what waits for flash at once.

use sluice_units::Ps;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The fills in flight, by the time at which they end. There are never more than the bound.
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

    /// Takes an entry from `start` until `end`. The caller has waited for [`Mshr::free_at`].
    ///
    /// `start` may lie ahead of the time that was retired: the entry is then the first to be free.
    pub fn take(&mut self, start: Ps, end: Ps) {
        if self.ends.len() == self.entries {
            let first = self.ends.pop();
            let is_free = first.is_some_and(|first| first.0 <= start);
            assert!(is_free, "an MSHR entry was taken that is not free");
        }
        self.ends.push(Reverse(end));
    }
}

/// The accesses that wait for a fill, merged ones among them, if their number is bounded.
pub(crate) struct Requests(Option<Mshr>);

impl Requests {
    pub fn new(bound: Option<u32>) -> Requests {
        Requests(bound.map(Mshr::new))
    }

    /// When an access that comes at `at` is taken in.
    pub fn free_at(&mut self, at: Ps) -> Ps {
        match &mut self.0 {
            Some(bounded) => {
                bounded.retire(at);
                bounded.free_at(at)
            }
            None => at,
        }
    }

    /// An access that was taken in at `start` waits until `end`.
    pub fn take(&mut self, start: Ps, end: Ps) {
        if let Some(bounded) = &mut self.0 {
            bounded.take(start, end);
        }
    }
}
