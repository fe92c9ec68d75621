//! Dies and channels: when an operation that begins at a given time has its parts done.

use super::flash::{Origin, Served};
use super::op::{Group, Op, Verb};
use super::queues::Queues;
use super::spans::Spans;
use super::timeline::Timeline;
use crate::config::{MultiPlane, NandSettings};
use crate::layout::{Channel, Die};
use sluice_units::{Ps, Table};

/// The dies' chains of reserved work and the channels' reservations.
pub(super) struct Array {
    dies: Table<Die, DieState>,
    /// Per die: the end of its chain, which others may still join.
    last: Table<Die, Option<Last>>,
    /// Per die: what of its chain is collection's.
    gc: Table<Die, Spans>,
    channels: Table<Channel, Timeline>,
    /// What the channels have not done, if somebody wants to know.
    pub queues: Option<Queues>,
    /// No operation is asked for before this.
    horizon: Ps,
    /// No channel is reserved before this: posted work that began earlier is played forward late.
    floor: Ps,
    command: Ps,
    transfer: Ps,
    /// A die senses the next page while the one before waits in its second register.
    cache_read: bool,
    multi_plane: MultiPlane,
}

#[derive(Clone, Default)]
struct DieState {
    /// When its chain ends: it can take another command.
    free_at: Ps,
    /// When its registers have been read out.
    out_at: Ps,
    /// Until when collection has it, some time after now.
    gc_until: Ps,
}

#[derive(Clone, Copy)]
struct Last {
    group: Group,
    start: Ps,
    run: Run,
}

/// The parts of an operation in time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// When the cells begin.
    pub cells_from: Ps,
    /// Read: when the data can leave the die. Else: when the cells are done.
    pub ready_at: Ps,
    /// When the die can take another command.
    pub end: Ps,
    /// Read: when the data has left the channel. Else: as `end`.
    pub done_at: Ps,
}

impl Array {
    pub fn new(settings: &NandSettings) -> Array {
        let dies = settings.die_count();
        // A die of one plane has nothing to join, and need not remember what was last.
        let multi_plane = match settings.planes {
            1 => MultiPlane::Off,
            _ => settings.multi_plane,
        };
        Array {
            dies: Table::filled(dies, DieState::default()),
            last: Table::filled(dies, None),
            gc: Table::filled(dies, Spans::default()),
            channels: Table::from_fn(settings.channels, |_| Timeline::new()),
            queues: None,
            horizon: Ps::ZERO,
            floor: Ps::ZERO,
            command: settings.command,
            transfer: settings.transfer,
            cache_read: settings.cache_read,
            multi_plane,
        }
    }

    /// Nothing will be asked for before `now`: reservations that have passed can be dropped.
    pub fn pass(&mut self, now: Ps) {
        self.horizon = now;
    }

    /// The time before which nothing will be asked for.
    pub fn horizon(&self) -> Ps {
        self.horizon
    }

    /// Every die.
    pub fn dies(&self) -> impl Iterator<Item = Die> + use<> {
        self.dies.indices()
    }

    /// When the die's chain ends.
    pub fn free_at(&self, die: Die) -> Ps {
        self.dies[die].free_at
    }

    pub fn multi_plane(&self) -> MultiPlane {
        self.multi_plane
    }

    /// How much of [now, to) the die's chain is collection's.
    pub fn gc_within(&self, now: Ps, to: Ps, die: Die) -> Ps {
        if self.dies[die].gc_until <= now {
            return Ps::ZERO;
        }
        self.gc[die].within(now, to)
    }

    /// Whether collection is in the die's chain at `now` or later.
    pub fn gc_holds(&self, now: Ps, die: Die) -> bool {
        self.dies[die].gc_until > now
    }

    /// The time that a read takes if it waits for nothing.
    pub fn service(&self, op: &Op) -> Ps {
        self.command + op.time + self.transfer
    }

    /// Whether nothing but times decides: commands take none, and nothing joins another.
    pub fn is_plain(&self) -> bool {
        self.command == Ps::ZERO && self.multi_plane == MultiPlane::Off
    }

    /// A read of the host where the array [is plain](Array::is_plain), at little cost.
    #[inline]
    pub fn read_plainly(&mut self, now: Ps, die: Die, time: Ps) -> Served {
        let state = &mut self.dies[die];
        let start = now.max(state.free_at);
        let ready_at = (start + time).max(state.out_at);
        let done_at = match self.transfer {
            Ps::ZERO => ready_at,
            transfer => {
                // Dies are numbered with the channel running fastest.
                let channel = Channel(die.0 % self.channels.count());
                let floor = self.horizon.min(start);
                self.channels[channel].reserve(floor, ready_at, transfer)
            }
        };
        state.out_at = done_at;
        state.free_at = if self.cache_read { ready_at } else { done_at };
        let gc = match state.gc_until > now {
            true => self.gc[die].within(now, start),
            false => Ps::ZERO,
        };
        let service = time + self.transfer;
        Served {
            done_at,
            queue: done_at - now - gc - service,
            gc,
            service,
        }
    }

    /// Puts the operation at the end of its die's chain, `from` or later. With it goes the time
    /// at which it begins.
    #[inline]
    pub fn append(&mut self, now: Ps, from: Ps, op: &Op) -> (Ps, Run) {
        if self.multi_plane != MultiPlane::Off
            && let Some(joined) = self.join(now, op)
        {
            return joined;
        }
        let start = from.max(self.dies[op.die].free_at);
        let run = self.run(start, op);
        self.chain(start, op, run);
        self.note(op, run.done_at);
        if self.multi_plane != MultiPlane::Off {
            let group = Group::new(op);
            self.last[op.die] = Some(Last { group, start, run });
        }
        (start, run)
    }

    /// Puts a run that begins at `start` at the end of its die's chain.
    pub fn chain(&mut self, start: Ps, op: &Op, run: Run) {
        let die = &mut self.dies[op.die];
        die.free_at = run.end;
        if self.multi_plane != MultiPlane::Off {
            self.last[op.die] = None;
        }
        if op.origin == Origin::Gc {
            die.gc_until = run.end;
            self.gc[op.die].add(self.horizon, start, run.end);
        }
    }

    /// Lets the operation share the last command of the chain, if that has not begun before `now`.
    fn join(&mut self, now: Ps, op: &Op) -> Option<(Ps, Run)> {
        let mut last = self.last[op.die]?;
        if last.start < now || !last.group.join(op, self.multi_plane) {
            return None;
        }
        let before = last.run.end;
        last.run = self.widen(last.run, op);
        self.chain(before, op, last.run);
        self.last[op.die] = Some(last);
        self.note(op, last.run.done_at);
        Some((last.start, last.run))
    }

    /// Counts an operation as asked for until `end`, if somebody wants to know.
    #[inline]
    pub fn note(&mut self, op: &Op, end: Ps) {
        if let Some(queues) = &mut self.queues {
            queues.add(self.horizon, op.channel, op.verb, op.die, end);
        }
    }

    /// When the parts of an operation are done that begins at `start`, when its die is free.
    #[inline]
    pub fn run(&mut self, start: Ps, op: &Op) -> Run {
        self.floor = self.horizon.min(start);
        let out_at = self.dies[op.die].out_at;
        match op.verb {
            Verb::Read => {
                let cells_from = self.bus(start, op.channel, self.command);
                // The second register is free once the page before has left it.
                let ready_at = (cells_from + op.time).max(out_at);
                self.read_out(op, cells_from, ready_at)
            }
            Verb::Program => {
                let load = self.command + self.transfer;
                let cells_from = self.bus(start.max(out_at), op.channel, load);
                Run::of_cells(cells_from, op.time)
            }
            Verb::Erase => {
                let cells_from = self.bus(start, op.channel, self.command);
                Run::of_cells(cells_from, op.time)
            }
        }
    }

    /// The run with one more plane's operation in it, whose `done_at` is that operation's.
    pub fn widen(&mut self, run: Run, op: &Op) -> Run {
        match op.verb {
            Verb::Read => {
                let wider = self.read_out(op, run.cells_from, run.ready_at);
                let end = wider.end.max(run.end);
                Run { end, ..wider }
            }
            Verb::Program => {
                let time = run.end - run.cells_from;
                let loaded = self.bus(run.cells_from, op.channel, self.transfer);
                Run::of_cells(loaded, time)
            }
            Verb::Erase => run,
        }
    }

    fn read_out(&mut self, op: &Op, cells_from: Ps, ready_at: Ps) -> Run {
        let done_at = self.bus(ready_at, op.channel, self.transfer);
        let out_at = &mut self.dies[op.die].out_at;
        *out_at = done_at.max(*out_at);
        Run {
            cells_from,
            ready_at,
            end: if self.cache_read { ready_at } else { done_at },
            done_at,
        }
    }

    /// Takes the channel for `length` at `earliest` or later, and says when that ends.
    #[inline]
    fn bus(&mut self, earliest: Ps, channel: Channel, length: Ps) -> Ps {
        if length == Ps::ZERO {
            return earliest;
        }
        self.channels[channel].reserve(self.floor, earliest, length)
    }
}

impl Run {
    fn of_cells(cells_from: Ps, time: Ps) -> Run {
        let end = cells_from + time;
        Run {
            cells_from,
            ready_at: end,
            end,
            done_at: end,
        }
    }
}
