//! Keeps pages that the program needs together, so that it gets on under any policy.
//!
//! One instruction may need several pages at once: a load across a page boundary needs two, a copy
//! of bytes across two boundaries four. A policy such as LIFO, or a cache of one page, evicts the
//! first for the second, and the instruction, tried again, faults for ever. Another thread, or a
//! signal's handler, may take a page away each time before its thread has run. No device does
//! that: there a load is over when its data arrives.
//!
//! So a page that one thread traps on again and again is held: an eviction by the model is carried
//! out later. Only such pages are held, because others come between them: a timer's handler asks
//! for another page each time. The model does not know, and each page leaves after all.
//!
//! While a thread forks all pages are held. What the C library touches in the child, before faults
//! are served there, must be there together, whatever the policy, however small the cache.

use crate::memory::waited::Waited;

/// Last traps of a thread that are noted.
const WINDOW: usize = 128;
/// Traps on one page among these until the page is held. Eight pages in turn are held after half a
/// window, so that as many traps again may lie on other pages.
const OFTEN: usize = 8;
/// Traps of the program for which a page is held.
const HELD_TRAPS: u64 = WINDOW as u64;
/// Time for which it is held at least where the thread may have to wait for a CPU.
const HELD_NS: u64 = 20_000_000;
/// Threads that are told apart; others share their notes.
const THREADS: usize = 64;
/// Pages held at once. Others leave when the model says so.
const MAX_HELD: usize = 64;

/// The pages a thread trapped on last.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// The low bits of each number: there are no devices on which these are not unique.
    pages: [u32; WINDOW],
    next: usize,
}

impl Window {
    const EMPTY: Window = Window {
        pages: [u32::MAX; WINDOW],
        next: 0,
    };

    /// Notes a trap, and says whether there were often traps on this page.
    fn push(&mut self, lpn: u64) -> bool {
        let page = lpn as u32;
        self.pages[self.next] = page;
        self.next = (self.next + 1) % WINDOW;
        self.pages.iter().filter(|&&p| p == page).count() >= OFTEN
    }
}

/// A page whose eviction has to wait.
#[derive(Clone, Copy, Debug)]
struct Held {
    lpn: u64,
    until_trap: u64,
    until_ns: u64,
}

/// Notes of the program's traps, and the pages that must not leave yet.
#[derive(Debug)]
pub struct Progress {
    threads: Box<[Window]>,
    traps: u64,
    now_ns: u64,
    held: [Held; MAX_HELD],
    held_count: usize,
    /// Pages with words that the kernel reads or writes.
    pub waited: Waited,
    /// A thread forks.
    pub all_stay: bool,
}

impl Progress {
    /// Nothing has trapped yet. So many pages may be waited for.
    pub fn new(pages: usize) -> Progress {
        let none = Held {
            lpn: 0,
            until_trap: 0,
            until_ns: 0,
        };
        Progress {
            threads: vec![Window::EMPTY; THREADS].into(),
            traps: 0,
            now_ns: 0,
            held: [none; MAX_HELD],
            held_count: 0,
            waited: Waited::new(pages),
            all_stay: false,
        }
    }

    /// Notes a trap. `thread` is given where the program has others.
    pub fn trapped(&mut self, lpn: u64, thread: Option<u32>, now_ns: u64) {
        self.traps += 1;
        self.now_ns = now_ns;
        self.let_go();
        let slot = thread.unwrap_or(0) as usize % THREADS;
        if self.threads[slot].push(lpn) {
            let until_ns = if thread.is_some() {
                now_ns + HELD_NS
            } else {
                0
            };
            self.hold(Held {
                lpn,
                until_trap: self.traps + HELD_TRAPS,
                until_ns,
            });
        }
    }

    /// Whether the eviction of a page has to wait.
    pub fn holds(&self, lpn: u64) -> bool {
        let held = &self.held[..self.held_count];
        self.all_stay || held.iter().any(|h| h.lpn == lpn) || self.waited.has(lpn)
    }

    fn hold(&mut self, new: Held) {
        let held = &mut self.held[..self.held_count];
        if let Some(old) = held.iter_mut().find(|h| h.lpn == new.lpn) {
            *old = new;
        } else if self.held_count < MAX_HELD {
            self.held[self.held_count] = new;
            self.held_count += 1;
        }
    }

    /// Ends the holds whose traps and time have passed.
    fn let_go(&mut self) {
        for at in (0..self.held_count).rev() {
            let Held {
                until_trap,
                until_ns,
                ..
            } = self.held[at];
            if self.traps >= until_trap && self.now_ns >= until_ns {
                self.held_count -= 1;
                self.held[at] = self.held[self.held_count];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: u64 = 1_000_000;

    #[test]
    fn a_few_pages_in_turn_are_held_and_leave_after_all() {
        for pages in 1..=8 {
            let mut progress = Progress::new(0);
            let rounds = OFTEN as u64 * pages;
            for n in 0..rounds {
                assert!((n..pages).all(|page| !progress.holds(page)), "too soon");
                progress.trapped(n % pages, None, 0);
            }
            assert!((0..pages).all(|page| progress.holds(page)), "{pages} pages");
            for n in 0..HELD_TRAPS {
                assert!(progress.holds(pages - 1), "{pages} pages, let go after {n}");
                progress.trapped(OTHER + n, None, 0);
                assert!(!progress.holds(OTHER + n));
            }
            assert!((0..pages).all(|page| !progress.holds(page)));
        }
    }

    /// A timer's handler asks for a page each time that the program has asked for one.
    #[test]
    fn pages_between_them_change_nothing() {
        let mut progress = Progress::new(0);
        for n in 0..8 * OFTEN as u64 {
            progress.trapped(n % 8, None, 0);
            progress.trapped(OTHER + n, None, 0);
        }
        assert!((0..8).all(|page| progress.holds(page)));
    }

    #[test]
    fn a_sweep_over_more_pages_holds_none() {
        let mut progress = Progress::new(0);
        for n in 0..10_000 {
            progress.trapped(n % 19, None, 0);
            assert!((0..19).all(|page| !progress.holds(page)), "after {n}");
        }
    }

    /// One thread goes through many pages, each of which takes that of the other away.
    #[test]
    fn a_thread_that_others_keep_from_its_page_has_it_for_a_while() {
        let mut progress = Progress::new(0);
        for n in 0..OFTEN as u64 {
            assert!(!progress.holds(7), "after {n}");
            progress.trapped(7, Some(1), 100);
            (0..40).for_each(|m| progress.trapped(OTHER + 40 * n + m, Some(2), 100));
        }
        assert!(progress.holds(7));
        (0..2 * HELD_TRAPS).for_each(|n| progress.trapped(n + OTHER, Some(2), 99 + HELD_NS));
        assert!(progress.holds(7), "its thread may not have had a CPU yet");
        progress.trapped(OTHER, Some(2), 100 + HELD_NS);
        assert!(!progress.holds(7));
    }

    #[test]
    fn no_more_pages_are_held_than_there_is_room_for() {
        let mut progress = Progress::new(0);
        for page in 0..2 * MAX_HELD as u64 {
            (0..OFTEN).for_each(|_| progress.trapped(page, Some(page as u32), 0));
        }
        let held = (0..2 * MAX_HELD as u64).filter(|&page| progress.holds(page));
        assert_eq!(held.count(), MAX_HELD);
    }
}
