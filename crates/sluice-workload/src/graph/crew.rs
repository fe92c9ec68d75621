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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Each place is in one stretch, whatever the length and the threads.
    #[test]
    fn a_range_is_shared_out_once() {
        for threads in [1, 3] {
            for (len, due) in [
                (0, vec![]),
                (1, vec![(0, 1)]),
                (4, vec![(0, 4)]),
                (5, vec![(0, 4), (4, 5)]),
                (11, vec![(0, 4), (4, 8), (8, 11)]),
            ] {
                let seen = Mutex::new(Vec::new());
                let took = |stretch: Range<usize>| {
                    seen.lock().unwrap().push((stretch.start, stretch.end));
                };
                Crew::new(threads).share(len, 4, took);
                let mut seen = seen.into_inner().unwrap();
                if threads > 1 {
                    seen.sort_unstable();
                }
                assert_eq!(seen, due, "{len} among {threads}");
            }
        }
    }

    #[test]
    fn a_slice_is_cut_where_it_is_said() {
        for threads in [1, 3] {
            let mut slice: Vec<usize> = (0..10).collect();
            let seen = Mutex::new(Vec::new());
            let ends = [3, 3, 7, 10];
            Crew::new(threads).parts(&mut slice, ends.into_iter(), |from, part| {
                part.iter_mut().for_each(|it| *it += 100);
                seen.lock().unwrap().push((from, part.len()));
            });
            let mut seen = seen.into_inner().unwrap();
            seen.sort_unstable();
            assert_eq!(seen, [(0, 3), (3, 0), (3, 4), (7, 3)], "{threads} threads");
            assert!(slice.iter().eq((100..110).collect::<Vec<_>>().iter()));
        }
    }

    /// Threads meet in their work: so there are as many as were asked for.
    #[test]
    fn all_threads_work_at_once() {
        let meeting = std::sync::Barrier::new(4);
        Crew::new(4).share(4, 1, |_| {
            meeting.wait();
        });
        let own = std::thread::current().id();
        Crew::new(1).share(2, 1, |_| assert_eq!(std::thread::current().id(), own));
    }
}
