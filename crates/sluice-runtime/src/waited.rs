//! Pages that stay while threads of the program wait in the kernel at words of theirs, in signal
//! mode.
//!
//! Locks, semaphores and conditions are such words. The kernel reads one as a thread begins to wait
//! there. It cannot wait for a page, and the C library ends the program when the kernel finds none.
//! So the page is made to stay first, and then touched. The model does not know, as with
//! [`Progress`](crate::progress::Progress): an eviction by it is carried out later.

/// Waits at once. Further ones are at the mercy of the policy.
const MOST: usize = 1024;

/// A page for each wait; one with several waits is there as many times.
#[derive(Debug)]
pub struct Waited {
    pages: Box<[u64]>,
    count: usize,
}

impl Waited {
    /// Nobody waits.
    pub fn new() -> Waited {
        Waited {
            pages: vec![0; MOST].into(),
            count: 0,
        }
    }

    /// One wait more.
    pub fn add(&mut self, lpn: u64) {
        if self.count < MOST {
            self.pages[self.count] = lpn;
            self.count += 1;
        }
    }

    /// One wait less. It may not be there: one too many was not noted, and a child of a fork has
    /// none of its parent's.
    pub fn remove(&mut self, lpn: u64) {
        if let Some(at) = self.pages[..self.count].iter().rposition(|p| *p == lpn) {
            self.count -= 1;
            self.pages[at] = self.pages[self.count];
        }
    }

    /// Whether a thread waits at a word of a page.
    pub fn has(&self, lpn: u64) -> bool {
        self.pages[..self.count].contains(&lpn)
    }

    /// In the child of a fork: the threads that wait are its parent's.
    pub fn forget(&mut self) {
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_stays_until_its_last_wait_is_over() {
        let mut waited = Waited::new();
        for lpn in [7, 8, 7] {
            waited.add(lpn);
        }
        waited.remove(7);
        waited.remove(9);
        assert!(waited.has(7) && waited.has(8) && !waited.has(9));
        waited.remove(7);
        assert!(!waited.has(7) && waited.has(8));
        (0..2 * MOST as u64).for_each(|lpn| waited.add(lpn));
        assert!(!waited.has(2 * MOST as u64 - 1), "there is no room for all");
        waited.forget();
        assert!(!waited.has(8));
    }
}
