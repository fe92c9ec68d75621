//! A place where threads wait for each other, and what they do when one of them panics: they end,
//! too. Nobody would come to a barrier of the standard library, and they would wait for ever.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// As a barrier of the standard library, until a thread that has joined it panics.
pub struct Meeting {
    threads: usize,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    waiting: usize,
    round: usize,
    /// When the last thread of a round came.
    met: Instant,
    is_broken: bool,
}

impl Meeting {
    /// For so many threads.
    pub fn new(threads: usize) -> Meeting {
        Meeting {
            threads,
            state: Mutex::new(State {
                waiting: 0,
                round: 0,
                met: Instant::now(),
                is_broken: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Until this is dropped a panic of the thread ends the others' waits.
    pub fn join(&self) -> Joined<'_> {
        Joined(self)
    }

    /// Waits for all threads. Says when the last one came: a thread that then waits for a CPU
    /// does not know when the others went on.
    ///
    /// # Panics
    /// Without a message, if one of them has.
    pub fn wait(&self) -> Instant {
        let mut state = self.lock();
        let round = state.round;
        state.waiting += 1;
        if state.waiting == self.threads {
            state.waiting = 0;
            state.round += 1;
            state.met = Instant::now();
            self.changed.notify_all();
        }
        while state.round == round && !state.is_broken {
            let woken = self.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        // The next round needs this thread, too.
        let (is_broken, met) = (state.is_broken, state.met);
        drop(state);
        if is_broken {
            resume_unwind(Box::new("another thread panicked"));
        }
        met
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that others wait for.
pub struct Joined<'a>(&'a Meeting);

impl Drop for Joined<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().is_broken = true;
            self.0.changed.notify_all();
        }
    }
}

/// Says at its end that something is over, whether it ends by a panic or not.
pub struct Over<'a>(pub &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn threads_meet_again_and_again() {
        const ROUNDS: usize = 100;
        let (meeting, came) = (Meeting::new(4), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let _joined = meeting.join();
                    for round in 1..=ROUNDS {
                        came.fetch_add(1, SeqCst);
                        meeting.wait();
                        assert_eq!(came.load(SeqCst), round * 4);
                        meeting.wait();
                    }
                });
            }
        });
        assert_eq!(came.load(SeqCst), ROUNDS * 4);
    }

    /// Each looked at the clock itself: one that got no CPU took a pass for shorter than it was.
    #[test]
    fn all_threads_know_when_the_last_one_came() {
        let meeting = Meeting::new(3);
        let meet = || {
            let _joined = meeting.join();
            (0..20).map(|_| (Instant::now(), meeting.wait())).collect()
        };
        let all: Vec<Vec<(Instant, Instant)>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(meet)).collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect()
        });
        for (round, (_, met)) in all[0].iter().enumerate() {
            assert!(all.iter().all(|of| of[round].1 == *met), "round {round}");
            assert!(all.iter().all(|of| of[round].0 <= *met), "round {round}");
            let goes_on = all.iter().filter_map(|of| of.get(round + 1));
            assert!(
                goes_on.into_iter().all(|next| next.0 >= *met),
                "round {round}"
            );
        }
    }

    /// The panic reaches threads that wait already and those that come later.
    #[test]
    fn a_panic_ends_the_wait_of_all_others() {
        for early in [false, true] {
            let (meeting, ended) = (Meeting::new(3), AtomicUsize::new(0));
            let all = catch_unwind(AssertUnwindSafe(|| {
                std::thread::scope(|scope| {
                    for _ in 0..2 {
                        scope.spawn(|| {
                            let _joined = meeting.join();
                            while early && !meeting.lock().is_broken {
                                std::thread::yield_now();
                            }
                            let waited = catch_unwind(AssertUnwindSafe(|| meeting.wait()));
                            ended.fetch_add(usize::from(waited.is_err()), SeqCst);
                        });
                    }
                    while !early && meeting.lock().waiting < 2 {
                        std::thread::yield_now();
                    }
                    let _joined = meeting.join();
                    resume_unwind(Box::new("as a test"));
                });
            }));
            assert!(all.is_err() && ended.load(SeqCst) == 2, "{early}");
        }
    }

    #[test]
    fn what_panics_is_over() {
        let is_over = AtomicBool::new(false);
        let all = catch_unwind(AssertUnwindSafe(|| {
            let _over = Over(&is_over);
            resume_unwind(Box::new("as a test"));
        }));
        assert!(all.is_err() && is_over.load(SeqCst));
    }
}
