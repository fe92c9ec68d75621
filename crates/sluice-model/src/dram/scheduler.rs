//! A controller that looks for row hits among what waits (FR-FCFS: Rixner and others, "Memory
//! access scheduling", ISCA 2000).
//!
//! A bank takes its next access when the last column command of the one before is given: the oldest
//! to its open row, or the oldest of all. It chooses among what is in the queue of its channel; the
//! queue is bounded, and what comes later waits outside in order. Banks do not wait for each other.

use super::{Dram, DramAddress, DramLayout};
use crate::request::Op;
use sluice_units::Ps;
use std::collections::{BTreeSet, VecDeque};

/// An access that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    id: u64,
    addr: u64,
    op: Op,
    place: DramAddress,
}

/// The queue of a channel.
#[derive(Default)]
struct Queue {
    /// Accesses in it, which wait at their banks.
    len: usize,
    /// What has found it full.
    outside: VecDeque<Waiting>,
}

/// A bank's part of its channel's queue.
#[derive(Default)]
struct Bank {
    waiting: VecDeque<Waiting>,
    /// When it can take the next.
    free_at: Ps,
}

/// A module behind a controller that reorders.
pub struct Scheduled {
    dram: Dram,
    entries: usize,
    queues: Vec<Queue>,
    banks: Vec<Bank>,
    /// When a bank takes one of those that wait for it.
    due: BTreeSet<(Ps, usize)>,
    /// When what was taken is done, in the order of taking at one moment.
    taken: BTreeSet<(Ps, u64, u64)>,
    count: u64,
}

impl Scheduled {
    /// An idle module; `entries` of each channel's queue, at least 1.
    pub fn new(layout: &DramLayout, entries: usize) -> Scheduled {
        let dram = Dram::new(layout);
        let queues = (0..layout.channels).map(|_| Queue::default()).collect();
        let banks = dram.banks.iter().map(|_| Bank::default()).collect();
        Scheduled {
            dram,
            entries,
            queues,
            banks,
            due: BTreeSet::new(),
            taken: BTreeSet::new(),
            count: 0,
        }
    }

    /// An access to the line of 64 bytes that holds the address has come. Calls are in the order of
    /// time, [`Scheduled::advance`] included.
    pub fn request(&mut self, now: Ps, id: u64, addr: u64, op: Op) {
        let place = self.dram.map.place(addr);
        let waiting = Waiting {
            id,
            addr,
            op,
            place,
        };
        let queue = &mut self.queues[place.channel as usize];
        match queue.len < self.entries {
            true => self.enter(now, waiting),
            false => queue.outside.push_back(waiting),
        }
    }

    fn enter(&mut self, now: Ps, waiting: Waiting) {
        self.queues[waiting.place.channel as usize].len += 1;
        let number = self.dram.bank_of(&waiting.place);
        let bank = &mut self.banks[number];
        bank.waiting.push_back(waiting);
        if bank.waiting.len() == 1 {
            self.due.insert((now.max(bank.free_at), number));
        }
    }

    /// When something happens next, if ever.
    pub fn next_at(&self) -> Option<Ps> {
        let due = self.due.first().map(|due| due.0);
        let done = self.taken.first().map(|taken| taken.0);
        due.into_iter().chain(done).min()
    }

    /// Time goes on to `now`; `done` is told the ids of what is done.
    pub fn advance(&mut self, now: Ps, mut done: impl FnMut(u64)) {
        while let Some((at, bank)) = self.due.first().copied().filter(|due| due.0 <= now) {
            self.due.pop_first();
            self.take(at, bank);
        }
        while let Some((_, _, id)) = self.taken.first().copied().filter(|taken| taken.0 <= now) {
            self.taken.pop_first();
            done(id);
        }
    }

    /// A bank takes one of those that wait for it.
    fn take(&mut self, at: Ps, number: usize) {
        let waiting = &mut self.banks[number].waiting;
        let dram = &self.dram;
        let hit = waiting.iter().position(|it| dram.is_open(at, &it.place));
        let Some(it) = waiting.remove(hit.unwrap_or(0)) else {
            return;
        };
        let access = self.dram.access(at, it.addr, it.op);
        self.count += 1;
        self.taken.insert((access.done_at, self.count, it.id));
        let bank = &mut self.banks[number];
        bank.free_at = access.given_at;
        if !bank.waiting.is_empty() {
            self.due.insert((bank.free_at, number));
        }
        let queue = &mut self.queues[it.place.channel as usize];
        queue.len -= 1;
        if let Some(next) = queue.outside.pop_front() {
            self.enter(at, next);
        }
    }
}
