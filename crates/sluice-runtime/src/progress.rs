//! Whether the program gets anywhere.
//!
//! One instruction may need several pages at once: a store across a page boundary needs two, a
//! gather more. A policy such as LIFO, or a cache of a page, evicts the first for the second, and
//! the instruction, tried again, faults forever. No device does that: there a load is over when
//! its data arrives. So when traps go round and round the same few pages, evictions are put off
//! until another page is asked for.

//!
//! With several threads, others may take a thread's page away each time before the thread has run.
//! So each thread's last pages are noted, too.

/// More pages than any instruction needs; also threads that may take pages from each other.
const RECENT: usize = 32;
/// Traps in a row on recent pages until the program counts as stuck.
const PATIENCE: u32 = 64;

/// Threads that are told apart; others share their notes.
const THREADS: usize = 64;
/// Last pages of a thread.
const RECENT_OF_THREAD: usize = 4;
/// Traps of a thread in a row on these until it counts as stuck.
const PATIENCE_WITH_THREAD: u32 = 24;
/// It gets so long to run with its page.
const TURN_NS: u64 = 20_000_000;

/// The pages trapped on last.
#[derive(Clone, Copy, Debug)]
struct Recent<const N: usize> {
    pages: [u64; N],
    next: usize,
    in_a_row: u32,
}

impl<const N: usize> Recent<N> {
    const fn new() -> Recent<N> {
        Recent {
            pages: [u64::MAX; N],
            next: 0,
            in_a_row: 0,
        }
    }

    fn trapped(&mut self, lpn: u64) {
        if self.pages.contains(&lpn) {
            self.in_a_row = self.in_a_row.saturating_add(1);
        } else {
            self.in_a_row = 0;
            self.pages[self.next] = lpn;
            self.next = (self.next + 1) % N;
        }
    }
}

/// Notes of the program's traps.
#[derive(Debug)]
pub struct Progress {
    all: Recent<RECENT>,
    threads: Box<[Recent<RECENT_OF_THREAD>]>,
    now_ns: u64,
    stuck_until_ns: u64,
}

impl Progress {
    /// Nothing has trapped yet.
    pub fn new() -> Progress {
        Progress {
            all: Recent::new(),
            threads: vec![Recent::new(); THREADS].into(),
            now_ns: 0,
            stuck_until_ns: 0,
        }
    }

    /// Takes note of a trap. The thread is told where there are others.
    pub fn trapped(&mut self, lpn: u64, thread: Option<u32>, now_ns: u64) {
        self.now_ns = now_ns;
        self.all.trapped(lpn);
        if let Some(thread) = thread {
            let own = &mut self.threads[thread as usize % THREADS];
            own.trapped(lpn);
            if own.in_a_row >= PATIENCE_WITH_THREAD {
                self.stuck_until_ns = now_ns + TURN_NS;
            }
        }
    }

    /// Whether evictions are to be put off.
    pub fn is_stuck(&self) -> bool {
        self.all.in_a_row >= PATIENCE || self.now_ns < self.stuck_until_ns
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
            (0..rounds - 1).for_each(|n| progress.trapped(n % pages, None, 0));
            assert!(!progress.is_stuck(), "{pages} pages, too soon");
            progress.trapped((rounds - 1) % pages, None, 0);
            assert!(progress.is_stuck(), "{pages} pages");
            progress.trapped(1_000, None, 0);
            assert!(!progress.is_stuck());
        }
    }

    #[test]
    fn a_sweep_over_more_pages_is_no_standstill() {
        let mut progress = Progress::new();
        for n in 0..10_000 {
            progress.trapped(n % (RECENT as u64 + 1), None, 0);
            assert!(!progress.is_stuck());
        }
    }

    /// One thread goes through many pages, each of which takes that of the other away.
    #[test]
    fn a_thread_that_others_keep_from_its_page_is_stuck_for_a_while() {
        let mut progress = Progress::new();
        for n in 0..u64::from(PATIENCE_WITH_THREAD) {
            progress.trapped(7, Some(1), n);
            progress.trapped(1_000 + n, Some(2), n);
            assert!(!progress.is_stuck(), "after {n}");
        }
        progress.trapped(7, Some(1), 100);
        assert!(progress.is_stuck());
        progress.trapped(5_000, Some(2), 100 + TURN_NS - 1);
        assert!(progress.is_stuck());
        progress.trapped(5_001, Some(2), 100 + TURN_NS);
        assert!(!progress.is_stuck());
    }
}
