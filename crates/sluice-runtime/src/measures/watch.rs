//! Watched pages: every use of some pages is a trap, so that a record has all of their uses.
//!
//! Which pages is decided by a hash of their number, so that the watched are a sample of all
//! (SHARDS; Waldspurger and others, FAST 2015). The watched pages that were used last stay mapped,
//! so that uses of the hottest pages cost nothing; they are not told apart. Where too many pages
//! would be watched, half of them are given up.

use sluice_abi::{is_watched, watched_for};
use std::collections::VecDeque;

/// Pages that stay mapped after their use, until as many others were used.
const KEPT: usize = 8;
/// Pages that wait to be taken away; more than those that stay where one may not leave yet.
const WAITING: usize = 64;

/// Chooses pages and remembers which to take away.
#[derive(Debug)]
pub struct Watched {
    most: u64,
    /// Pages that are watched.
    seen: u64,
    /// How many of the watched pages each halving gives up. The last are never given up.
    given_up_at: [u64; 65],
    halvings: u32,
    /// In the order of their use.
    waiting: VecDeque<u64>,
    taken: u64,
    written: u64,
}

/// What became of the watched pages so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// One page in two to the power of this is watched.
    pub halvings: u32,
    /// Times that a page was taken away.
    pub taken: u64,
    /// Times that a page was taken away that had been written since it came.
    pub written: u64,
}

impl Watched {
    /// Watches all pages, until there are more than `most`.
    pub fn new(most: u64) -> Watched {
        Watched {
            most,
            seen: 0,
            given_up_at: [0; 65],
            halvings: 0,
            // No room is made while traps are served.
            waiting: VecDeque::with_capacity(WAITING),
            taken: 0,
            written: 0,
        }
    }

    /// The program uses a page, for the first time or again.
    pub fn used(&mut self, lpn: u64, is_first: bool) {
        if !is_watched(lpn, self.halvings) {
            return;
        }
        self.seen += u64::from(is_first);
        self.given_up_at[watched_for(lpn) as usize] += u64::from(is_first);
        while self.seen > self.most && self.halvings < 64 {
            self.seen -= self.given_up_at[self.halvings as usize];
            self.halvings += 1;
        }
        if !is_watched(lpn, self.halvings) {
            return;
        }
        // One that finds no room stays mapped, and its uses are missed until then.
        if self.waiting.len() < WAITING {
            self.waiting.push_back(lpn);
        }
    }

    /// The next page to be taken away, if there is one that may leave.
    pub fn next(&mut self, may_leave: impl Fn(u64) -> bool) -> Option<u64> {
        let surplus = self.waiting.len().saturating_sub(KEPT);
        let at = self
            .waiting
            .iter()
            .take(surplus)
            .position(|lpn| may_leave(*lpn))?;
        self.waiting.remove(at)
    }

    /// Counts a page that was taken from the program, and whether it had been written.
    pub fn took(&mut self, written: bool) {
        self.taken += 1;
        self.written += u64::from(written);
    }

    /// What became of them.
    pub fn watch(&self) -> Watch {
        Watch {
            halvings: self.halvings,
            taken: self.taken,
            written: self.written,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_pages_are_given_up_where_there_are_too_many() {
        let mut watched = Watched::new(100);
        for lpn in 0..1_600 {
            watched.used(lpn, true);
            let next = watched.next(|_| true);
            assert!(next.is_none_or(|next| next < lpn), "it was used last");
        }
        let halvings = watched.watch().halvings;
        assert!((4..=5).contains(&halvings), "{halvings}");
        let before = (0..1_600).filter(|lpn| is_watched(*lpn, halvings - 1));
        assert!(before.count() > 100, "given up without need");
        let left = (0..1_600).filter(|lpn| is_watched(*lpn, halvings)).count();
        assert!((25..=100).contains(&left), "{left}");
        let given_up = (0..1_600).find(|lpn| !is_watched(*lpn, halvings)).unwrap();
        while watched.next(|_| true).is_some() {}
        watched.used(given_up, false);
        assert_eq!(watched.next(|_| true), None);
    }

    #[test]
    fn a_page_that_may_not_leave_holds_up_no_other() {
        let mut watched = Watched::new(100);
        (0..10).for_each(|lpn| watched.used(lpn, true));
        assert_eq!(watched.next(|lpn| lpn != 0), Some(1));
        assert_eq!(watched.next(|lpn| lpn != 0), None, "eight stay");
        watched.used(1, false);
        assert_eq!(watched.next(|_| true), Some(0));
    }
}
