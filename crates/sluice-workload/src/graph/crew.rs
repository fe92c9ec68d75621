//! Threads that share out a range.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A number of threads.
pub(super) struct Crew {
    threads: usize,
}

impl Crew {
    pub(super) fn new(threads: usize) -> Crew {
        Crew { threads }
    }

    /// Calls `work` with stretches of `0..len`, at most `stretch` long and beginning at multiples
    /// of it, until all are done. One thread takes them in order, and is the caller's.
    pub(super) fn share(&self, len: usize, stretch: usize, work: impl Fn(Range<usize>) + Sync) {
        let next = AtomicUsize::new(0);
        let all = || {
            while let at = next.fetch_add(stretch, Relaxed)
                && at < len
            {
                work(at..len.min(at + stretch));
            }
        };
        self.each(all);
    }

    /// Calls `work` with parts of a slice as [`Crew::share`] does, each with the place of its first
    /// element. Where the parts end is the caller's choice: `ends` in order, the last the length.
    pub(super) fn parts<T: Send>(
        &self,
        slice: &mut [T],
        ends: impl Iterator<Item = usize> + Send,
        work: impl Fn(usize, &mut [T]) + Sync,
    ) {
        let parts = std::sync::Mutex::new((slice, 0, ends));
        let take = || {
            let mut parts = parts.lock().unwrap_or_else(|dead| dead.into_inner());
            let (rest, from, ends) = &mut *parts;
            let end = ends.next()?;
            let (part, others) = std::mem::take(rest).split_at_mut(end - *from);
            *rest = others;
            Some((std::mem::replace(from, end), part))
        };
        self.each(|| {
            while let Some((from, part)) = take() {
                work(from, part);
            }
        });
    }

    fn each(&self, work: impl Fn() + Sync) {
        if self.threads == 1 {
            return work();
        }
        std::thread::scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(&work);
            }
        });
    }
}
