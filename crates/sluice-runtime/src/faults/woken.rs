//! How long threads wait for a CPU around a trap, where no clock of a handler sees it.
//!
//! A handler knows when it made a page ready. When its thread has run since, only the kernel
//! knows. So the handler asks the kernel of a thread at one trap and at its next: a thread that was
//! given a CPU just once meanwhile waited for that one after its first trap. If the handler too was
//! given one just once, it waited for that one at the second trap. On a host with a free CPU both
//! are what a trap takes anyway.

use crate::process::tasks;
use sluice_region::{RunDelay, RunDelays, thread_id};

/// The kernel is asked where there is nothing else to do for so long: it takes 3 to 6 µs.
pub const ASK_NS: u64 = 15_000;
/// Traps from the end of one look to the next ..
const REST: u32 = 3;
/// .. and where several threads trap, which have the handler's CPU while it has nothing to do.
const REST_OF_SEVERAL: u32 = 100;
/// A thread that does not trap again in so many traps of others is given up.
const PATIENCE: u32 = 1_000;

/// What the kernel has counted of a thread, and of the handler.
#[derive(Clone, Copy)]
struct Counts {
    thread: RunDelay,
    handler: RunDelay,
}

/// A thread that is looked at from one trap to the next.
#[derive(Clone, Copy)]
struct Look {
    thread: u32,
    before: Counts,
}

/// The looks of one handler.
pub struct Looks {
    state: State,
    look: Option<Look>,
    /// Traps since the look began, or since it ended.
    traps: u32,
}

enum State {
    Unasked,
    Open(RunDelays),
    /// The kernel does not say.
    Closed,
}

/// What of a wait for a CPU every trap has.
#[derive(Clone, Copy)]
pub struct Usual {
    /// Until a handler is awake, ns.
    pub entry_ns: u64,
    /// Until a thread that is woken runs, ns.
    pub exit_ns: u64,
}

impl Looks {
    pub fn new() -> Looks {
        Looks {
            state: State::Unasked,
            look: None,
            traps: 0,
        }
    }

    /// A trap of a thread has come.
    pub fn trapped(&mut self) {
        self.traps = self.traps.saturating_add(1);
        if self.look.is_some() && self.traps > PATIENCE {
            self.look = None;
        }
    }

    /// Whether this thread, one of so many that trap, waits and is to be asked for now.
    pub fn wants(&self, thread: u32, active: usize) -> bool {
        let rest = if active > 1 { REST_OF_SEVERAL } else { REST };
        match self.look {
            Some(look) => look.thread == thread,
            // Without numbers of threads all would be one.
            None if thread == 0 => false,
            None => self.traps > rest && !matches!(self.state, State::Closed),
        }
    }

    /// Asks for a thread that waits at a trap of which nothing was asked before. Returns how much
    /// longer than usual it and the handler waited for a CPU since the last time, if that is known.
    pub fn ask(&mut self, thread: u32, usual: Usual) -> Option<u64> {
        if let State::Unasked = self.state {
            let is_shown_so = tasks::shown(thread_id()) == Ok(thread_id());
            let opened = is_shown_so.then(RunDelays::open).flatten();
            self.state = opened.map_or(State::Closed, State::Open);
        }
        let State::Open(delays) = &self.state else {
            return None;
        };
        let told = delays.of(thread).zip(delays.of(thread_id()));
        let Some((thread_now, handler)) = told else {
            self.state = State::Closed;
            return None;
        };
        let now = Counts {
            thread: thread_now,
            handler,
        };
        self.see(thread, now, usual)
    }

    fn see(&mut self, thread: u32, now: Counts, usual: Usual) -> Option<u64> {
        self.traps = 0;
        let Some(look) = self.look.take() else {
            let before = now;
            self.look = Some(Look { thread, before });
            return None;
        };
        let of_thread = of_one_run(look.before.thread, now.thread)?;
        let of_handler = of_one_run(look.before.handler, now.handler).unwrap_or(0);
        let over = of_thread.saturating_sub(usual.exit_ns);
        Some(over + of_handler.saturating_sub(usual.entry_ns))
    }
}

/// How long the wait for a CPU was, if there was just one.
fn of_one_run(before: RunDelay, now: RunDelay) -> Option<u64> {
    (now.runs == before.runs + 1).then(|| now.ns.saturating_sub(before.ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Usual = Usual {
        entry_ns: 2_000,
        exit_ns: 1_000,
    };

    fn counts(thread: (u64, u64), handler: (u64, u64)) -> Counts {
        let of = |(ns, runs)| RunDelay { ns, runs };
        Counts {
            thread: of(thread),
            handler: of(handler),
        }
    }

    /// What two traps of a thread say that has these counts at the first and the second.
    fn between(thread: [(u64, u64); 2], handler: [(u64, u64); 2]) -> Option<u64> {
        let mut looks = Looks::new();
        assert_eq!(looks.see(7, counts(thread[0], handler[0]), USUAL), None);
        looks.see(7, counts(thread[1], handler[1]), USUAL)
    }

    #[test]
    fn what_is_longer_than_usual_is_seen_of_thread_and_handler() {
        let own = [(0, 5), (2_000, 6)];
        assert_eq!(between([(100, 9), (1_100, 10)], own), Some(0));
        assert_eq!(between([(100, 9), (1_101, 10)], own), Some(1));
        assert_eq!(
            between([(100, 9), (100, 10)], [(0, 5), (2_500, 6)]),
            Some(500)
        );
        let both = between([(0, 1), (301_000, 2)], [(0, 5), (52_000, 6)]);
        assert_eq!(both, Some(350_000));
    }

    /// Another wait than that for the trap may be in it.
    #[test]
    fn a_thread_that_ran_twice_is_not_counted_and_a_handlers_part_is_left_out() {
        assert_eq!(between([(0, 1), (9_000, 3)], [(0, 5), (0, 6)]), None);
        assert_eq!(between([(0, 1), (0, 1)], [(0, 5), (0, 6)]), None);
        assert_eq!(
            between([(0, 1), (5_000, 2)], [(0, 5), (90_000, 7)]),
            Some(4_000)
        );
    }

    #[test]
    fn a_look_is_at_one_thread_rests_and_is_given_up() {
        let mut looks = Looks::new();
        assert!(!looks.wants(7, 1));
        (0..=REST).for_each(|_| looks.trapped());
        assert!(looks.wants(7, 1) && looks.wants(8, 1) && !looks.wants(8, 2));
        let some = counts((0, 1), (0, 1));
        assert_eq!(looks.see(7, some, USUAL), None);
        assert!(looks.wants(7, 1) && !looks.wants(8, 1));
        (0..PATIENCE).for_each(|_| looks.trapped());
        assert!(looks.wants(7, 1) && !looks.wants(8, 1));
        looks.trapped();
        assert!(looks.wants(8, 1), "the other one does not trap again");
        assert_eq!(looks.see(8, some, USUAL), None);
        assert_eq!(looks.see(8, counts((0, 2), (0, 2)), USUAL), Some(0));
        assert!(!looks.wants(8, 1), "it rests");
    }
}
