//! A controller that chooses among what waits (FR-FCFS: Rixner and others, "Memory access
//! scheduling", ISCA 2000).
//!
//! A bank chooses when the column command of the access before is given: the oldest access to its
//! open row, or the oldest of all, whose row it opens as soon as it may. A channel gives the column
//! command that can be given first, of all its banks have chosen, and of several the oldest. Both
//! choose among what is in the queue of the channel; the queue is bounded, and what comes later
//! waits outside in order.

use super::{Command, Dram, DramAddress, DramLayout};
use crate::request::Op;
use sluice_units::Ps;
use std::collections::{BTreeSet, VecDeque};

/// An access that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Counts accesses in the order in which they came.
    order: u64,
    id: u64,
    addr: u64,
    op: Op,
    place: DramAddress,
}

/// A channel's queue.
#[derive(Default)]
struct Channel {
    /// Accesses in it, which wait at their banks.
    len: usize,
    /// Accesses that have found it full.
    outside: VecDeque<Waiting>,
    /// The next column command: its time, the order of its access, and its bank.
    next: Option<(Ps, u64, usize)>,
}

/// A bank's part of its channel's queue.
#[derive(Default)]
struct Bank {
    waiting: VecDeque<Waiting>,
    /// The access whose row is open or being opened.
    chosen: Option<Waiting>,
    /// When it can choose the next.
    free_at: Ps,
}

/// What happens at a time. At one moment banks choose first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// A bank chooses one of those that wait for it.
    Choose(usize),
    /// A channel gives a column command.
    Give(usize),
}

/// A module behind a controller that reorders.
pub struct Scheduled {
    dram: Dram,
    entries: usize,
    channels: Vec<Channel>,
    banks: Vec<Bank>,
    due: BTreeSet<(Ps, Step)>,
    /// When what was given is done, in the order of giving at one moment.
    given: BTreeSet<(Ps, u64, u64)>,
    asked: u64,
    count: u64,
}

impl Scheduled {
    /// An idle module; `entries` of each channel's queue, at least 1.
    pub fn new(layout: &DramLayout, entries: usize) -> Scheduled {
        let dram = Dram::new(layout);
        let channels = (0..layout.channels).map(|_| Channel::default()).collect();
        let banks = dram.banks.iter().map(|_| Bank::default()).collect();
        Scheduled {
            dram,
            entries,
            channels,
            banks,
            due: BTreeSet::new(),
            given: BTreeSet::new(),
            asked: 0,
            count: 0,
        }
    }

    /// An access to the line of 64 bytes that holds the address has come. Calls are in the order of
    /// time, [`Scheduled::advance`] included.
    pub fn request(&mut self, now: Ps, id: u64, addr: u64, op: Op) {
        let place = self.dram.map.place(addr);
        self.asked += 1;
        let waiting = Waiting {
            order: self.asked,
            id,
            addr,
            op,
            place,
        };
        let channel = &mut self.channels[place.channel as usize];
        match channel.len < self.entries {
            true => self.enter(now, waiting),
            false => channel.outside.push_back(waiting),
        }
    }

    fn enter(&mut self, now: Ps, waiting: Waiting) {
        self.channels[waiting.place.channel as usize].len += 1;
        let number = self.dram.bank_of(&waiting.place);
        let bank = &mut self.banks[number];
        bank.waiting.push_back(waiting);
        if bank.waiting.len() == 1 && bank.chosen.is_none() {
            let at = now.max(bank.free_at);
            self.due.insert((at, Step::Choose(number)));
        }
    }

    /// The channel that has an address.
    pub fn channel_of(&self, addr: u64) -> usize {
        self.dram.channel_of(addr)
    }

    /// When something happens next, if ever.
    pub fn next_at(&self) -> Option<Ps> {
        let due = self.due.first().map(|due| due.0);
        let done = self.given.first().map(|given| given.0);
        due.into_iter().chain(done).min()
    }

    /// Time goes on to `now`; `done` gets the id of each request that is done.
    pub fn advance(&mut self, now: Ps, done: impl FnMut(u64)) {
        self.advance_telling(now, done, |_| ());
    }

    /// As [`Scheduled::advance`], and calls back with every command and its time.
    pub fn advance_telling(
        &mut self,
        now: Ps,
        mut done: impl FnMut(u64),
        mut tell: impl FnMut(Command),
    ) {
        while let Some((at, step)) = self.due.first().copied().filter(|due| due.0 <= now) {
            self.due.pop_first();
            match step {
                Step::Choose(bank) => self.choose(at, bank, &mut tell),
                Step::Give(channel) => self.give(at, channel, &mut tell),
            }
        }
        while let Some((_, _, id)) = self.given.first().copied().filter(|given| given.0 <= now) {
            self.given.pop_first();
            done(id);
        }
    }

    /// A bank chooses an access, and opens its row.
    fn choose(&mut self, at: Ps, number: usize, tell: &mut impl FnMut(Command)) {
        let Bank {
            waiting, chosen, ..
        } = &mut self.banks[number];
        let dram = &mut self.dram;
        let hit = waiting.iter().position(|it| dram.is_open(at, &it.place));
        *chosen = waiting.remove(hit.unwrap_or(0));
        let Some(it) = *chosen else {
            return;
        };
        dram.open_row(at, &it.place, it.op, tell);
        let found = (dram.column_at(at, &it.place, it.op), it.order, number);
        let channel = it.place.channel as usize;
        // A row that opens keeps no column command of another bank waiting.
        if self.channels[channel].next.is_none_or(|next| found < next) {
            self.set_next(channel, Some(found));
        }
    }

    fn set_next(&mut self, channel: usize, next: Option<(Ps, u64, usize)>) {
        let step = Step::Give(channel);
        if let Some((at, ..)) = self.channels[channel].next {
            self.due.remove(&(at, step));
        }
        self.channels[channel].next = next;
        if let Some((at, ..)) = next {
            self.due.insert((at, step));
        }
    }

    /// A channel gives the column command that is due.
    fn give(&mut self, at: Ps, channel: usize, tell: &mut impl FnMut(Command)) {
        let Some((_, _, number)) = self.channels[channel].next.take() else {
            return;
        };
        let bank = &mut self.banks[number];
        let Some(it) = bank.chosen.take() else {
            return;
        };
        let access = self.dram.access_telling(at, it.addr, it.op, tell);
        self.count += 1;
        self.given.insert((access.done_at, self.count, it.id));
        bank.free_at = access.given_at;
        if !bank.waiting.is_empty() {
            self.due.insert((bank.free_at, Step::Choose(number)));
        }
        self.channels[channel].len -= 1;
        if let Some(next) = self.channels[channel].outside.pop_front() {
            self.enter(at, next);
        }
        let next = self.first_of(at, channel);
        self.set_next(channel, next);
    }

    /// The column command that a channel can give first.
    fn first_of(&mut self, at: Ps, channel: usize) -> Option<(Ps, u64, usize)> {
        let each = self.banks.len() / self.channels.len();
        let banks = channel * each..(channel + 1) * each;
        let dram = &mut self.dram;
        let chosen = banks.filter_map(|bank| Some((bank, self.banks[bank].chosen?)));
        let columns = chosen.map(|(bank, it)| {
            let column = dram.column_at(at, &it.place, it.op);
            (column, it.order, bank)
        });
        columns.min()
    }
}
