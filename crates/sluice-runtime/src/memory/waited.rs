//! Pages that stay because the kernel itself reads or writes words of theirs.
//!
//! In signal mode a thread that waits at a lock, a semaphore or a condition has the kernel read
//! such a word. It cannot wait for a page, and the C library ends the program when the kernel finds
//! none. In both modes it cannot wait where it writes the word of a mutex that inherits priorities,
//! or those of the robust mutexes of a thread that ends. So the page is made to stay first, and
//! then touched. The model does not know, as with [`Progress`](super::progress::Progress): an
//! eviction by it is carried out later.

use core::hash::BuildHasherDefault;
use std::collections::HashMap;
use std::hash::DefaultHasher;

/// Notes for which there is room from the start.
const FEW: usize = 1024;

/// A thread and a page that it has a mutex on.
type Note = (u32, u64);

/// How often each page has to stay, and for which threads that may end meanwhile.
#[derive(Debug)]
pub struct Waited {
    /// One for each page. A page that has to stay too often to be counted stays for ever.
    counts: Box<[u16]>,
    /// How many pages have to stay.
    pages: usize,
    held: HashMap<Note, u32, BuildHasherDefault<DefaultHasher>>,
    /// So many notes, and those of threads that are gone are looked for.
    many: usize,
}

impl Waited {
    /// A device of so many pages, none of which has to stay.
    pub fn new(pages: usize) -> Waited {
        let mut held = HashMap::default();
        if pages > 0 {
            held.reserve(FEW);
        }
        Waited {
            counts: vec![0; pages].into(),
            pages: 0,
            held,
            many: FEW,
        }
    }

    /// A page has to stay once more.
    pub fn add(&mut self, lpn: u64) {
        if let Some(count) = self.counts.get_mut(lpn as usize) {
            self.pages += usize::from(*count == 0);
            *count = count.saturating_add(1);
        }
    }

    /// And once less. It may not have to: a child of a fork has no waits of its parent's. Says
    /// whether it was the last time.
    pub fn remove(&mut self, lpn: u64) -> bool {
        let Some(count) = self.counts.get_mut(lpn as usize) else {
            return false;
        };
        if matches!(*count, 0 | u16::MAX) {
            return false;
        }
        *count -= 1;
        self.pages -= usize::from(*count == 0);
        *count == 0
    }

    /// Whether a page has to stay.
    pub fn has(&self, lpn: u64) -> bool {
        self.pages > 0
            && self
                .counts
                .get(lpn as usize)
                .is_some_and(|count| *count > 0)
    }

    /// A page has to stay as long as a thread has a mutex there.
    pub fn hold(&mut self, thread: u32, lpn: u64) {
        *self.held.entry((thread, lpn)).or_insert(0) += 1;
        self.add(lpn);
    }

    /// The thread has it no longer. Says whether the page has to stay for nothing else.
    pub fn let_go(&mut self, thread: u32, lpn: u64) -> bool {
        let Some(times) = self.held.get_mut(&(thread, lpn)) else {
            return false;
        };
        *times -= 1;
        if *times == 0 {
            self.held.remove(&(thread, lpn));
        }
        self.remove(lpn)
    }

    /// Whether so many notes have come together that some may be of threads that are gone.
    pub fn has_many(&self) -> bool {
        self.held.len() > self.many
    }

    /// Takes out the notes of threads that are gone. Returns the pages that have to stay for
    /// nothing else.
    pub fn take_gone(&mut self, is_gone: impl Fn(u32) -> bool) -> Vec<u64> {
        let mut gone: Vec<u32> = self.held.keys().map(|(thread, _)| *thread).collect();
        gone.sort_unstable();
        gone.dedup();
        gone.retain(|thread| is_gone(*thread));
        let is_of_gone = |note: &Note, _: &mut u32| gone.binary_search(&note.0).is_ok();
        let notes: Vec<(Note, u32)> = self.held.extract_if(is_of_gone).collect();
        self.many = FEW.max(2 * self.held.len());
        let mut pages = Vec::new();
        for ((_, lpn), times) in notes {
            let is_last = (0..times).fold(false, |last, _| self.remove(lpn) || last);
            pages.extend(is_last.then_some(lpn));
        }
        pages
    }

    /// In the child of a fork: the threads that wait, and have mutexes, are its parent's. Says
    /// whether there were any.
    pub fn forget(&mut self) -> bool {
        let had_any = self.pages > 0;
        if had_any {
            let stays = self.counts.iter_mut().filter(|count| **count > 0);
            stays.for_each(|count| *count = 0);
        }
        self.pages = 0;
        self.held.clear();
        had_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_stays_until_its_last_wait_is_over() {
        let mut waited = Waited::new(16);
        for lpn in [7, 8, 7] {
            waited.add(lpn);
        }
        assert!(!waited.remove(7));
        assert!(!waited.remove(9));
        assert!(waited.has(7) && waited.has(8) && !waited.has(9));
        assert!(waited.remove(7));
        assert!(!waited.has(7) && waited.has(8));
        assert!(waited.forget());
        assert!(!waited.has(8) && !waited.forget());
    }

    /// There was room for 1024, and what came after that left.
    #[test]
    fn all_pages_stay_for_which_somebody_waits() {
        let mut waited = Waited::new(5_000);
        (0..5_000).for_each(|lpn| waited.add(lpn));
        (0..5_000).for_each(|lpn| waited.hold(1, lpn));
        (0..5_000).for_each(|lpn| assert!(!waited.remove(lpn)));
        assert!((0..5_000).all(|lpn| waited.has(lpn)));
        (0..5_000).for_each(|lpn| assert!(waited.let_go(1, lpn)));
        assert!(!(0..5_000).any(|lpn| waited.has(lpn)));
    }

    #[test]
    fn what_a_thread_has_stays_until_it_is_gone() {
        let mut waited = Waited::new(16);
        for (thread, lpn) in [(1, 3), (1, 3), (2, 3), (2, 4)] {
            waited.hold(thread, lpn);
        }
        assert!(!waited.let_go(3, 3), "it has nothing");
        assert!(!waited.let_go(2, 3) && !waited.let_go(2, 3));
        assert_eq!(waited.take_gone(|thread| thread == 9), []);
        assert!(waited.has(3) && waited.has(4));
        assert_eq!(waited.take_gone(|thread| thread == 1), [3]);
        assert!(!waited.has(3) && waited.has(4));
        assert!(waited.let_go(2, 4));
    }

    #[test]
    fn what_cannot_be_counted_stays() {
        let mut waited = Waited::new(1);
        (0..70_000).for_each(|_| waited.add(0));
        (0..70_000).for_each(|_| assert!(!waited.remove(0)));
        assert!(waited.has(0));
    }
}
