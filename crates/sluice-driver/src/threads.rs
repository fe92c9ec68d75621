//! Threads with accesses under way, the cores that they share, and helpers that run ahead.

use crate::work::{Traffic, Walk};
use sluice_units::{Ps, Rng, seed_of};
use std::collections::VecDeque;

/// A thread in its region.
pub(crate) struct Thread {
    base: u64,
    /// Accesses begun, and to be begun in all.
    begun: u64,
    accesses: u64,
    /// Offset of the last one.
    place: u64,
    /// When the last accesses retire: at most as many as can be under way, the oldest first.
    retires: VecDeque<Ps>,
    depth: usize,
    /// When the pace lets the next one begin.
    paced_at: Ps,
    rng: Rng,
}

impl Thread {
    pub fn new(given: &Traffic, number: u32, began: Ps) -> Thread {
        Thread {
            base: u64::from(number) * given.size,
            begun: 0,
            accesses: given.accesses(),
            place: 0,
            retires: VecDeque::with_capacity(given.depth as usize),
            depth: given.depth as usize,
            paced_at: began,
            rng: Rng::stream(seed_of(given.seed, u64::from(number)), "traffic.thread"),
        }
    }

    /// When the next access can begin.
    pub fn ready_at(&self) -> Ps {
        let has_room = self.retires.len() < self.depth;
        let oldest = self.retires.front().filter(|_| !has_room);
        oldest.map_or(self.paced_at, |oldest| self.paced_at.max(*oldest))
    }

    /// Address of the next access, and whether it is a store.
    pub fn next(&mut self, given: &Traffic) -> (u64, bool) {
        let places = given.size / given.stride;
        let place = match given.walk {
            Walk::InOrder => self.begun % places,
            Walk::Random => self.rng.below(places),
        };
        self.place = place * given.stride;
        (self.base + self.place, given.is_store(self.begun))
    }

    /// The access began at `now` and is served at `done_at`. It retires after those before it.
    pub fn issued(&mut self, now: Ps, done_at: Ps, pace: Ps) {
        let retires_at = self
            .retires
            .back()
            .map_or(done_at, |last| done_at.max(*last));
        if self.retires.len() == self.depth {
            self.retires.pop_front();
        }
        self.retires.push_back(retires_at);
        self.paced_at = now + pace;
        self.begun += 1;
    }

    /// Offset of the last access that began.
    pub fn place(&self) -> u64 {
        self.place
    }

    /// Whether all accesses have begun.
    pub fn is_done(&self) -> bool {
        self.begun == self.accesses
    }

    /// When the last access retires.
    pub fn retired_at(&self) -> Ps {
        self.retires.back().copied().unwrap_or(Ps::ZERO)
    }
}

/// A core and the threads that take turns on it.
pub(crate) struct Core {
    /// The one that runs comes first.
    threads: VecDeque<usize>,
    /// When its time is over.
    until: Ps,
}

impl Core {
    /// Cores that share out so many threads.
    pub fn share(threads: u32, cores: u32, until: Ps) -> Vec<Core> {
        let of_core = |core: u32| (core..threads).step_by(cores as usize);
        let core = |core| Core {
            threads: of_core(core).map(|number| number as usize).collect(),
            until,
        };
        (0..cores).map(core).collect()
    }

    /// The thread that runs at `now`: another one, if the time of the last is over.
    pub fn turn(&mut self, now: Ps, slice: Ps) -> Option<usize> {
        if now >= self.until && self.threads.len() > 1 {
            self.threads.rotate_left(1);
            self.until = now + slice;
        }
        self.threads.front().copied()
    }

    /// The thread that runs has ended.
    pub fn leave(&mut self, now: Ps, slice: Ps) {
        self.threads.pop_front();
        self.until = now + slice;
    }
}

/// A thread that loads pages before another needs them.
#[derive(Default)]
pub(crate) struct Helper {
    /// Offset of the page that it loads next.
    next: u64,
    /// Whether it waits for a page, or for the processor.
    is_busy: bool,
}

impl Helper {
    /// Its thread has moved. Says whether the helper had been waiting for that.
    pub fn rouse(&mut self) -> bool {
        !core::mem::replace(&mut self.is_busy, true)
    }

    /// Offset of the page to load now, or none if it is as far ahead of `at` as it may be.
    pub fn next(&mut self, at: u64, given: &Traffic, page: u64) -> Option<u64> {
        let here = at / page * page;
        // A pass begins anew, or the thread has come past.
        if self.next <= here || self.next > here + given.ahead + page {
            self.next = here + page;
        }
        let may = self.next <= at + given.ahead && self.next < given.size;
        self.is_busy = may;
        let next = self.next;
        may.then(|| {
            self.next += page;
            next
        })
    }
}
