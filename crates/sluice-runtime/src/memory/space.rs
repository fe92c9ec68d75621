//! Which pages of the device are handed out, and which the program cannot access: one bit a page
//! each, searched from the last hit.
//!
//! Fixed tables, because a hook must not allocate.

use core::ops::Range;
use sluice_units::Bits;

/// Free and used pages of an address range.
#[derive(Debug)]
pub struct Space {
    used: Bits,
    /// Those in use that the program can neither read nor write.
    closed: Bits,
    /// Pages that are free, and that nobody can read or write before they are opened.
    shut: Bits,
    /// Free pages that the program has unmapped: it may map some there again.
    left: Bits,
    pages: usize,
    hint: usize,
    /// The same for who takes nothing that was left.
    hint_beside: usize,
}

impl Space {
    /// All `pages` free.
    pub fn new(pages: usize) -> Space {
        Space {
            used: Bits::new(pages),
            closed: Bits::new(pages),
            shut: Bits::new(pages),
            left: Bits::new(pages),
            pages,
            hint: 0,
            hint_beside: 0,
        }
    }

    /// Takes `count` pages in a row, the lowest behind the last taken, or else the lowest. Those
    /// that were [shut](Space::shut) are closed.
    pub fn take(&mut self, count: usize) -> Option<usize> {
        if count == 0 || count > self.pages - self.used.count() {
            return None;
        }
        let found = self.find(self.hint, self.pages, count).or_else(|| {
            let end = (self.hint + count - 1).min(self.pages);
            self.find(0, end, count)
        })?;
        self.hand_out(found, count);
        self.hint = found + count;
        Some(found)
    }

    /// Takes pages as [`take`](Space::take) does, but none that the program has
    /// [left](Space::leave) if there are others.
    pub fn take_beside(&mut self, count: usize) -> Option<usize> {
        if count == 0 || count > self.pages - self.used.count() {
            return None;
        }
        let behind = self.find_beside(self.hint_beside, count);
        let Some(found) = behind.or_else(|| self.find_beside(0, count)) else {
            return self.take(count);
        };
        self.hand_out(found, count);
        self.hint_beside = found + count;
        Some(found)
    }

    /// Takes these pages, if all are free. Those that were shut are closed.
    pub fn take_at(&mut self, first: usize, count: usize) -> bool {
        let is_free = first + count <= self.pages && self.used.count_in(first, count) == 0;
        if is_free {
            self.hand_out(first, count);
        }
        is_free
    }

    /// Takes pages that cannot be accessed yet, if half of all stay free: a program reserves more
    /// than it will use, and must not find the device full of that.
    pub fn reserve(&mut self, count: usize) -> Option<usize> {
        if count > (self.pages / 2).saturating_sub(self.used.count()) {
            return None;
        }
        let first = self.take(count)?;
        self.closed.mark(first, count, true);
        Some(first)
    }

    /// Gives back the pages in use of a range; returns how many there were.
    pub fn give(&mut self, first: usize, count: usize) -> usize {
        let before = self.used.count();
        self.open(first, count);
        self.used.mark(first, count, false);
        self.hint = self.hint.min(first);
        self.hint_beside = self.hint_beside.min(first);
        before - self.used.count()
    }

    /// Gives back the pages in use of a range, and notes that nobody can access any of the range.
    pub fn shut(&mut self, first: usize, count: usize) -> usize {
        let given = self.give(first, count);
        self.shut.mark(first, count, true);
        given
    }

    /// As [`shut`](Space::shut), for a range that the program unmaps.
    pub fn leave(&mut self, first: usize, count: usize) -> usize {
        let hint = self.hint_beside;
        let given = self.shut(first, count);
        self.hint_beside = hint;
        self.left.mark(first, count, true);
        given
    }

    /// Marks a range as used, for a mapping the program put there itself. What was shut of it is
    /// closed.
    pub fn claim(&mut self, first: usize, count: usize) {
        self.hand_out(first, count);
    }

    fn hand_out(&mut self, first: usize, count: usize) {
        self.used.mark(first, count, true);
        let (mut from, end) = (first, (first + count).min(self.pages));
        while let Some(start) = self.shut.next_in(from..end, true) {
            from = self.shut.next_in(start..end, false).unwrap_or(end);
            self.closed.mark(start, from - start, true);
        }
        self.shut.mark(first, count, false);
        self.left.mark(first, count, false);
    }

    /// Marks a range in use as closed.
    pub fn close(&mut self, first: usize, count: usize) {
        self.closed.mark(first, count, true);
    }

    /// Marks a range as open.
    pub fn open(&mut self, first: usize, count: usize) {
        self.closed.mark(first, count, false);
        self.shut.mark(first, count, false);
    }

    /// Pages of a range that are closed.
    pub fn closed_in(&self, first: usize, count: usize) -> usize {
        self.closed.count_in(first, count)
    }

    /// Pages of a range that are in use.
    pub fn used_in(&self, first: usize, count: usize) -> usize {
        self.used.count_in(first, count)
    }

    /// Whether a page is in use and open.
    pub fn is_open(&self, page: usize) -> bool {
        self.used.count_in(page, 1) == 1 && self.closed.count_in(page, 1) == 0
    }

    /// The first pages in use without a gap, of those from `first` on and before `end`.
    pub fn run(&self, first: usize, end: usize) -> Option<Range<usize>> {
        let from = self.used.next(first, true).filter(|from| *from < end)?;
        let to = self.used.next(from, false).unwrap_or(self.pages);
        Some(from..to.min(end))
    }

    /// Pages in use.
    pub fn in_use(&self) -> usize {
        self.used.count()
    }

    /// Pages in use that are closed.
    pub fn closed(&self) -> usize {
        self.closed.count()
    }

    /// Free pages that were [shut](Space::shut).
    pub fn shut_pages(&self) -> usize {
        self.shut.count()
    }

    fn find_beside(&self, mut from: usize, count: usize) -> Option<usize> {
        loop {
            let first = self.find(from, self.pages, count)?;
            let left = self.left.next_in(first..first + count, true);
            let Some(left) = left else {
                return Some(first);
            };
            from = self.left.next_in(left..self.pages, false)?;
        }
    }

    fn find(&self, from: usize, to: usize, count: usize) -> Option<usize> {
        let mut from = from;
        loop {
            let first = self.used.next_in(from..to, false)?;
            let end = first.checked_add(count).filter(|end| *end <= to)?;
            match self.used.next_in(first..end, true) {
                None => return Some(first),
                Some(used) => from = used,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_full_space_refuses_and_a_freed_one_gives_again() {
        let mut space = Space::new(100);
        assert_eq!(space.take(100), Some(0));
        assert_eq!(space.take(1), None);
        assert_eq!(space.give(40, 30), 30);
        assert_eq!(space.take(31), None);
        assert_eq!(space.take(30), Some(40));
    }

    #[test]
    fn what_is_reserved_leaves_half_of_all_free() {
        let mut space = Space::new(100);
        assert_eq!(space.take(20), Some(0));
        assert_eq!(space.reserve(31), None);
        assert_eq!(space.reserve(30), Some(20));
        assert_eq!(space.reserve(1), None);
        assert_eq!(space.take(50), Some(50));
    }

    #[test]
    fn what_was_shut_is_closed_when_it_is_taken() {
        let mut space = Space::new(100);
        assert_eq!(space.take(100), Some(0));
        assert_eq!(space.give(0, 10), 10);
        assert_eq!(space.shut(10, 10), 10);
        assert_eq!((space.closed(), space.closed_in(0, 100)), (0, 0));
        assert_eq!(space.take(20), Some(0));
        assert_eq!((space.closed_in(0, 10), space.closed_in(10, 10)), (0, 10));
        space.open(0, 20);
        assert_eq!(space.give(0, 20), 20);
        assert_eq!((space.take(20), space.closed()), (Some(0), 0));
    }

    #[test]
    fn what_the_program_left_is_taken_last_by_who_asks_for_others() {
        let mut space = Space::new(100);
        assert_eq!(space.take(60), Some(0));
        assert_eq!(space.leave(10, 10), 10);
        assert_eq!(space.leave(30, 10), 10);
        assert_eq!(space.give(20, 5), 5);
        assert_eq!(space.take_beside(5), Some(20));
        assert_eq!(space.take_beside(8), Some(60));
        assert_eq!(space.take(8), Some(10), "for others they are free");
        assert!(space.take_at(30, 2), "and for the program");
        assert_eq!(space.give(30, 2), 2);
        assert_eq!(space.take_beside(2), Some(30), "nobody has left them since");
        assert_eq!(space.take_beside(32), Some(68));
        assert_eq!(space.take_beside(8), Some(32), "there are no others");
        assert_eq!(space.take_beside(3), None);
    }

    fn runs_of(space: &Space, first: usize, end: usize) -> Vec<Range<usize>> {
        let mut from = first;
        let runs: Vec<_> = core::iter::from_fn(|| {
            let run = space.run(from, end)?;
            from = run.end;
            Some(run)
        })
        .collect();
        assert!(runs.windows(2).all(|pair| pair[0].end < pair[1].start));
        runs
    }

    proptest! {
        /// Against plain vectors of flags.
        #[test]
        fn opens_and_closes_like_a_vector_of_flags(
            steps in prop::collection::vec((0u8..6, 0usize..300, 1usize..90), 1..200)
        ) {
            let mut space = Space::new(300);
            let (mut used, mut barred) = ([false; 300], [false; 300]);
            for (what, first, count) in steps {
                let range = first..(first + count).min(300);
                let is_closed = |page: &usize| used[*page] && barred[*page];
                let closed = range.clone().filter(is_closed).count();
                prop_assert_eq!(space.closed_in(first, count), closed);
                match what {
                    // Only what is in use is closed.
                    0 => {
                        space.claim(first, count);
                        space.close(first, count);
                    }
                    1 => space.open(first, count),
                    2 => _ = space.give(first, count),
                    3 => _ = space.shut(first, count),
                    4 => space.claim(first, count),
                    _ => _ = space.take_at(first, count),
                }
                let is_taken = what == 5 && used[range.clone()].iter().all(|used| !used);
                match what {
                    0 | 4 => used[range.clone()].fill(true),
                    2 | 3 => used[range.clone()].fill(false),
                    5 if is_taken && first + count <= 300 => used[range.clone()].fill(true),
                    _ => {}
                }
                match what {
                    0 | 3 => barred[range].fill(true),
                    1 | 2 => barred[range].fill(false),
                    _ => {}
                }
                let closed = (0..300).filter(|page| used[*page] && barred[*page]).count();
                prop_assert_eq!(space.closed(), closed);
                prop_assert_eq!(space.in_use(), used.iter().filter(|used| **used).count());
            }
        }

        /// Against a plain vector of flags: what is taken was free, what fits is found.
        #[test]
        fn takes_and_gives_like_a_vector_of_flags(
            steps in prop::collection::vec((0u8..4, 0usize..300, 1usize..90), 1..200)
        ) {
            let mut space = Space::new(300);
            let (mut naive, mut left) = ([false; 300], [false; 300]);
            for (what, first, count) in steps {
                let end = (first + count).min(300);
                let fits = naive.windows(count).any(|w| w.iter().all(|u| !u));
                let is_others = |at: usize| (at..at + count).all(|n| !naive[n] && !left[n]);
                let have_others = (0..=300 - count).any(is_others);
                let taken = match what {
                    0 => space.take(count),
                    1 => space.take_beside(count),
                    _ => None,
                };
                match taken {
                    Some(at) => {
                        prop_assert!(naive[at..at + count].iter().all(|u| !u));
                        prop_assert!(what == 0 || is_others(at) || !have_others);
                        naive[at..at + count].fill(true);
                        left[at..at + count].fill(false);
                    }
                    None if what < 2 => prop_assert!(!fits),
                    None => {
                        let there = naive[first..end].iter().filter(|u| **u).count();
                        prop_assert_eq!(space.used_in(first, count), there);
                        let given = match what {
                            2 => space.give(first, count),
                            _ => space.leave(first, count),
                        };
                        prop_assert_eq!(given, there);
                        naive[first..end].fill(false);
                        if what == 3 {
                            left[first..end].fill(true);
                        }
                    }
                }
                let runs = runs_of(&space, first, first + count);
                let all: Vec<usize> = runs.into_iter().flatten().collect();
                let end = (first + count).min(300);
                let expected: Vec<usize> = (first..end).filter(|page| naive[*page]).collect();
                prop_assert_eq!(all, expected);
                prop_assert_eq!(space.in_use(), naive.iter().filter(|u| **u).count());
            }
        }
    }
}
