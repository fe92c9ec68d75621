//! Which pages of the device are handed out: one bit a page, searched from the last hit.
//!
//! A fixed table, because a hook must not allocate.

/// Free and used pages of an address range.
#[derive(Debug)]
pub struct Space {
    used: Box<[u64]>,
    pages: usize,
    hint: usize,
    in_use: usize,
}

impl Space {
    /// All `pages` free.
    pub fn new(pages: usize) -> Space {
        Space {
            used: vec![0; pages.div_ceil(64)].into(),
            pages,
            hint: 0,
            in_use: 0,
        }
    }

    /// Takes `count` pages in a row, the lowest behind the last taken, or else the lowest.
    pub fn take(&mut self, count: usize) -> Option<usize> {
        if count == 0 || count > self.pages - self.in_use {
            return None;
        }
        let found = self.find(self.hint, self.pages, count).or_else(|| {
            let end = (self.hint + count - 1).min(self.pages);
            self.find(0, end, count)
        })?;
        self.mark(found, count, true);
        self.hint = found + count;
        Some(found)
    }

    /// Gives back the pages in use of a range; returns how many there were.
    pub fn give(&mut self, first: usize, count: usize) -> usize {
        let before = self.in_use;
        self.mark(first, count.min(self.pages.saturating_sub(first)), false);
        self.hint = self.hint.min(first);
        before - self.in_use
    }

    /// Marks a range as used, for a mapping the program put there itself.
    pub fn claim(&mut self, first: usize, count: usize) {
        self.mark(first, count.min(self.pages.saturating_sub(first)), true);
    }

    /// Pages in use.
    pub fn in_use(&self) -> usize {
        self.in_use
    }

    fn find(&self, from: usize, to: usize, count: usize) -> Option<usize> {
        let mut run = 0;
        let mut page = from;
        while page < to {
            let word = self.used[page / 64];
            if page.is_multiple_of(64) && page + 64 <= to && (word == 0 || word == u64::MAX) {
                run = if word == 0 { run + 64 } else { 0 };
                page += 64;
            } else {
                let free = word >> (page % 64) & 1 == 0;
                run = if free { run + 1 } else { 0 };
                page += 1;
            }
            if run >= count {
                return Some(page - run);
            }
        }
        None
    }

    fn mark(&mut self, first: usize, count: usize, used: bool) {
        let mut page = first;
        let end = first + count;
        while page < end {
            let bits = (64 - page % 64).min(end - page);
            let mask = (u64::MAX >> (64 - bits)) << (page % 64);
            let word = &mut self.used[page / 64];
            let before = word.count_ones() as usize;
            *word = if used { *word | mask } else { *word & !mask };
            self.in_use = self.in_use + word.count_ones() as usize - before;
            page += bits;
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

    proptest! {
        /// Against a plain vector of flags: what is taken was free, what fits is found.
        #[test]
        fn takes_and_gives_like_a_vector_of_flags(
            steps in prop::collection::vec((any::<bool>(), 0usize..300, 1usize..90), 1..200)
        ) {
            let mut space = Space::new(300);
            let mut naive = [false; 300];
            for (take, first, count) in steps {
                if take {
                    let fits = naive.windows(count).any(|w| w.iter().all(|u| !u));
                    match space.take(count) {
                        Some(at) => {
                            prop_assert!(naive[at..at + count].iter().all(|u| !u));
                            naive[at..at + count].fill(true);
                        }
                        None => prop_assert!(!fits),
                    }
                } else {
                    let end = (first + count).min(300);
                    let there = naive[first..end].iter().filter(|u| **u).count();
                    prop_assert_eq!(space.give(first, count), there);
                    naive[first..end].fill(false);
                }
                prop_assert_eq!(space.in_use(), naive.iter().filter(|u| **u).count());
            }
        }
    }
}
