//! Whether the program gets anywhere.
//!
//! One instruction may need several pages at once: a store across a page boundary needs two, a
//! gather more. A policy such as LIFO, or a cache of a page, evicts the first for the second, and
//! the instruction, tried again, faults forever. No device does that: there a load is over when
//! its data arrives. So when traps go round and round the same few pages, evictions are put off
//! until another page is asked for.

/// More pages than any instruction needs; also threads that may take pages from each other.
const RECENT: usize = 32;
/// Traps in a row on recent pages until the program counts as stuck.
const PATIENCE: u32 = 64;

/// The pages trapped on last.
#[derive(Debug)]
pub struct Progress {
    recent: [u64; RECENT],
    next: usize,
    in_a_row: u32,
}

impl Progress {
    /// Nothing has trapped yet.
    pub fn new() -> Progress {
        Progress {
            recent: [u64::MAX; RECENT],
            next: 0,
            in_a_row: 0,
        }
    }

    /// Takes note of a trap.
    pub fn trapped(&mut self, lpn: u64) {
        if self.recent.contains(&lpn) {
            self.in_a_row = self.in_a_row.saturating_add(1);
        } else {
            self.in_a_row = 0;
            self.recent[self.next] = lpn;
            self.next = (self.next + 1) % RECENT;
        }
    }

    /// Whether evictions are to be put off.
    pub fn is_stuck(&self) -> bool {
        self.in_a_row >= PATIENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_pages_in_turn_are_stuck_until_another_comes() {
        for pages in [1, 2, RECENT as u64] {
            let mut progress = Progress::new();
            let rounds = u64::from(PATIENCE) + pages;
            (0..rounds - 1).for_each(|n| progress.trapped(n % pages));
            assert!(!progress.is_stuck(), "{pages} pages, too soon");
            progress.trapped((rounds - 1) % pages);
            assert!(progress.is_stuck(), "{pages} pages");
            progress.trapped(1_000);
            assert!(!progress.is_stuck());
        }
    }

    #[test]
    fn a_sweep_over_more_pages_is_no_standstill() {
        let mut progress = Progress::new();
        for n in 0..10_000 {
            progress.trapped(n % (RECENT as u64 + 1));
            assert!(!progress.is_stuck());
        }
    }
}
