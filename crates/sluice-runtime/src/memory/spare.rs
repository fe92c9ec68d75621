//! Address space that was given back, to be handed out again.

/// Runs that are kept apart. What does not fit is lost, which only costs addresses.
const RUNS: usize = 256;

/// A bounded list of runs of addresses, in order. It allocates nothing.
#[derive(Debug)]
pub struct Spare {
    /// First address and length.
    runs: [(usize, usize); RUNS],
    len: usize,
}

impl Spare {
    /// No spare page, as at the start.
    pub const fn new() -> Spare {
        Spare {
            runs: [(0, 0); RUNS],
            len: 0,
        }
    }

    /// Takes the start of the first run that is long enough.
    pub fn take(&mut self, size: usize) -> Option<usize> {
        let at = self.runs[..self.len].iter().position(|run| run.1 >= size)?;
        let (start, len) = self.runs[at];
        if len > size {
            self.runs[at] = (start + size, len - size);
        } else {
            self.remove(at);
        }
        Some(start)
    }

    /// Takes a run back. It joins those that touch it.
    pub fn give(&mut self, start: usize, size: usize) {
        let at = self.runs[..self.len].partition_point(|run| run.0 < start);
        let joins_before = at > 0 && self.runs[at - 1].0 + self.runs[at - 1].1 == start;
        let joins_after = at < self.len && start + size == self.runs[at].0;
        match (joins_before, joins_after) {
            (true, true) => {
                self.runs[at - 1].1 += size + self.runs[at].1;
                self.remove(at);
            }
            (true, false) => self.runs[at - 1].1 += size,
            (false, true) => self.runs[at] = (start, size + self.runs[at].1),
            (false, false) if self.len < RUNS => {
                self.runs.copy_within(at..self.len, at + 1);
                self.runs[at] = (start, size);
                self.len += 1;
            }
            (false, false) => {}
        }
    }

    fn remove(&mut self, at: usize) {
        self.runs.copy_within(at + 1..self.len, at);
        self.len -= 1;
    }
}

impl Default for Spare {
    fn default() -> Spare {
        Spare::new()
    }
}

#[cfg(test)]
mod tests {
    use super::{RUNS, Spare};
    use proptest::prelude::*;

    proptest! {
        /// Against a map of single pages: nothing is handed out twice, and what was given back
        /// whole can be had whole.
        #[test]
        fn it_hands_out_what_it_was_given(
            steps in proptest::collection::vec((any::<bool>(), 0usize..60, 1usize..9), 1..200)
        ) {
            let mut spare = Spare::new();
            let mut free = [false; 70];
            for (gives, start, size) in steps {
                if gives {
                    if free[start..start + size].iter().all(|is| !is) {
                        spare.give(start, size);
                        free[start..start + size].fill(true);
                    }
                    continue;
                }
                let first = free.windows(size).position(|run| run.iter().all(|is| *is));
                prop_assert_eq!(spare.take(size), first);
                if let Some(first) = first {
                    free[first..first + size].fill(false);
                }
            }
        }
    }

    #[test]
    fn more_runs_than_fit_are_lost_and_nothing_else() {
        let mut spare = Spare::new();
        for run in 0..RUNS + 10 {
            spare.give(run * 10, 5);
        }
        spare.give(5, 5);
        assert_eq!(spare.take(15), Some(0), "three that touch are one");
        let rest = std::iter::from_fn(|| spare.take(5)).count();
        assert_eq!(rest, RUNS - 2);
    }
}
