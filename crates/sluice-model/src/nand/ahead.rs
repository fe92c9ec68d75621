//! Operations that are asked for ahead of their time: the program of a page that is still being
//! read, for one.
//!
//! Until their time has come they hold neither die nor channel, and what comes earlier goes first.

use super::packed::PostedOp;
use crate::layout::Die;
use sluice_units::{Ppn, Ps};
use std::collections::VecDeque;

/// The most operations kept. With more, the earliest takes its die ahead of time.
const WAITING_MAX: usize = 4_096;

/// An operation, from its `ready_at` on.
#[derive(Clone, Copy)]
pub(super) struct Dated {
    pub asked: PostedOp,
    /// The die that is at work first.
    pub die: Die,
    /// The page that is programmed in the end.
    pub programs: Option<Ppn>,
    /// A page of another die, to be read before.
    pub source: Option<Ppn>,
}

/// Operations whose time has not come.
pub(super) struct Ahead {
    /// By time; those of one time in the order in which they were asked for.
    waiting: VecDeque<Dated>,
}

impl Ahead {
    pub fn new() -> Ahead {
        // One more than the bound: an operation is inserted before another one has to go.
        Ahead {
            waiting: VecDeque::with_capacity(WAITING_MAX + 1),
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub fn is_over_full(&self) -> bool {
        self.waiting.len() > WAITING_MAX
    }

    pub fn insert(&mut self, dated: Dated) {
        let at = dated.asked.ready_at;
        let place = self.waiting.partition_point(|one| one.asked.ready_at <= at);
        self.waiting.insert(place, dated);
    }

    /// Takes the earliest, if its time has come.
    #[inline]
    pub fn take_first(&mut self, now: Ps) -> Option<Dated> {
        let first = self.waiting.front()?;
        if first.asked.ready_at > now {
            return None;
        }
        self.waiting.pop_front()
    }

    /// Takes the earliest of a die whose time has come at `now`.
    pub fn take_of_die(&mut self, now: Ps, die: Die) -> Option<Dated> {
        let due = |one: &Dated| one.die == die && one.asked.ready_at <= now;
        self.waiting
            .iter()
            .position(due)
            .and_then(|place| self.waiting.remove(place))
    }

    /// Takes the earliest that a read of a page waits for: those of its die whose time has come
    /// at `now`, and the page's own program with all that is before that.
    pub fn take_before_read(&mut self, now: Ps, die: Die, ppn: Ppn) -> Option<Dated> {
        let own = self.program_of(ppn);
        let until = own.map_or(now, |own| now.max(own.asked.ready_at));
        let goes_first = |one: &Dated| {
            one.programs == Some(ppn) || one.die == die && one.asked.ready_at <= until
        };
        self.waiting
            .iter()
            .position(goes_first)
            .and_then(|place| self.waiting.remove(place))
    }

    /// Those whose time will have come at `at`, by time.
    pub fn due(&self, at: Ps) -> impl Iterator<Item = &Dated> {
        let waiting = self.waiting.iter();
        waiting.take_while(move |one| one.asked.ready_at <= at)
    }

    /// Whether the controller will have the data of a page, for a program whose time will have come
    /// at `at`.
    pub fn will_hold(&self, at: Ps, ppn: Ppn) -> bool {
        self.due(at).any(|one| one.asked.held == Some(ppn))
    }

    /// The program of a page.
    pub fn program_of(&self, ppn: Ppn) -> Option<&Dated> {
        self.waiting.iter().find(|one| one.programs == Some(ppn))
    }

    /// About when a die that has programmed what the host wrote, until `end`, has programmed what
    /// waits for its time as well.
    pub fn programmed_at(&self, die: Die, end: Ps) -> Ps {
        let mine = self.waiting.iter().filter(|one| one.die == die);
        let ours = mine.filter(|one| one.asked.op.is_of_host());
        ours.fold(end, |end, one| {
            end.max(one.asked.ready_at) + one.asked.op.time
        })
    }

    /// About when a die that has other work until `idle_at` has done what waits for its time.
    pub fn idle_at(&self, die: Die, idle_at: Ps) -> Ps {
        let mine = self.waiting.iter().filter(|one| one.die == die);
        mine.fold(idle_at, |idle_at, one| {
            idle_at.max(one.asked.ready_at) + one.asked.op.time
        })
    }
}
