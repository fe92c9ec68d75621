//! Read-first scheduling: what the host waits for goes before what it only asked to have done.
//!
//! Reads are reserved in their die's chain when they are asked for. Programs, erases and the moves
//! of collection are posted: they queue, and begin in order when their die has nothing else to
//! do. They are played forward when somebody asks, channel by channel and in order of time, so
//! that the result does not depend on when that is. An operation that would begin at the very
//! moment of a request has not begun: the read goes first.

use super::array::{Array, Run};
use super::current::{Current, Rules};
use super::flash::{Origin, ProgramEnd};
use super::log_ends::LogEnds;
use super::op::{Group, Op, Verb};
use super::packed::{HELD, Packed, PostedOp};
use crate::config::{MultiPlane, NandSettings, ReadFirst};
use crate::layout::{Block, Channel, Die};
use sluice_units::{Ppn, Ps, Table};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, binary_heap::PeekMut};
use std::ops::Range;

/// The posted work of every die.
pub(super) struct Posted {
    rules: Rules,
    /// Operations that a die may have waiting.
    queue_max: u32,
    /// Operations that have begun whose data is kept: with more, that of the oldest is forgotten.
    begun_max: u32,
    /// Room for those that wait and those that have begun.
    places: u32,
    /// Planes of a die: of one alone no two operations run together.
    planes: u32,
    dies: Table<Die, DieState>,
    /// Per die and place: a waiting operation, packed into integers.
    waiting: Vec<Packed>,
    /// Per channel: each die that has posted work, with a time before which it does not begin.
    next: Table<Channel, BinaryHeap<Reverse<(Ps, Die)>>>,
    /// Per channel: how many reads, programs and erases wait.
    counts: Table<Channel, [u32; 3]>,
    /// Per block: waiting programs whose data the controller holds.
    held: Table<Block, u32>,
    pages_per_block: u32,
    /// Programs of the write log that went before later reads.
    log_ends: LogEnds,
    /// Operations made to wait for a read after they had begun.
    pub suspensions: u64,
    /// Operations that went before later reads because a queue was full.
    pub forced: u64,
}

#[derive(Clone, Default)]
struct DieState {
    /// The place of the oldest operation kept.
    head: u32,
    /// How many have begun whose data is kept: together, or with [`DieState::is_forced`] one after
    /// another.
    running: u32,
    /// How many wait, behind those.
    len: u32,
    /// Whether work went before later reads since other work began last. Then nothing that has
    /// begun is suspended any more, and its end is kept as its `ready_at`.
    is_forced: bool,
    listed: bool,
    current: Current,
    /// When what went before later reads last begins: its places are free then.
    forced_at: Ps,
    /// When the latest program of the host's ends that went before later reads.
    forced_end: Ps,
}

impl Posted {
    /// `log_programs`: the most that the write log waits for at once.
    pub fn new(settings: &NandSettings, rules: &ReadFirst, log_programs: u32) -> Posted {
        let dies = settings.die_count();
        let queue_max = settings.write_queue;
        let begun_max = queue_max + settings.planes;
        let blocks = settings.plane_count() * settings.blocks_per_plane;
        let places = queue_max + begun_max;
        let per_channel = (dies / settings.channels) as usize;
        Posted {
            rules: Rules::new(rules),
            queue_max,
            begun_max,
            places,
            planes: settings.planes,
            dies: Table::filled(dies, DieState::default()),
            waiting: vec![[0; 3]; dies as usize * places as usize],
            next: Table::from_fn(settings.channels, |_| {
                BinaryHeap::with_capacity(per_channel)
            }),
            counts: Table::filled(settings.channels, [0; 3]),
            held: Table::filled(blocks, 0),
            pages_per_block: settings.pages_per_block,
            log_ends: LogEnds::new(log_programs),
            suspensions: 0,
            forced: 0,
        }
    }

    /// Takes an operation over. If the queue is full, the oldest waiting one goes before all reads
    /// that are asked for later.
    pub fn post(&mut self, now: Ps, asked: &PostedOp, array: &mut Array) {
        let die = asked.op.die;
        if self.dies[die].len == self.queue_max {
            self.force(now, die, array);
        }
        let state = &self.dies[die];
        let place = self.place(die, state.running + state.len);
        self.waiting[place] = asked.pack();
        self.counts[asked.op.channel][asked.op.verb as usize] += 1;
        if let Some(ppn) = asked.held {
            self.held[Block(ppn.0 / self.pages_per_block)] += 1;
        }
        self.dies[die].len += 1;
        if !self.dies[die].listed {
            self.dies[die].listed = true;
            let begins = self.begins_at(die, array);
            let channel = self.channel_of(die);
            self.next[channel].push(Reverse((begins, die)));
        }
    }

    /// Begins all posted work of the die's channel whose time is before `now`.
    pub fn play(&mut self, now: Ps, die: Die, array: &mut Array) {
        let channel = self.channel_of(die);
        while let Some(Reverse((at, die))) = self.next[channel].peek().copied() {
            if at >= now {
                return;
            }
            let begins = self.begins_at(die, array);
            if begins <= at {
                self.begin(die, begins, array);
            }
            let again = self.begins_at(die, array);
            let Some(mut top) = self.next[channel].peek_mut() else {
                return;
            };
            if self.dies[die].len > 0 {
                *top = Reverse((again, die));
            } else {
                PeekMut::pop(top);
                self.dies[die].listed = false;
            }
        }
    }

    /// Whether the controller still has the data of a page that is being written.
    pub fn holds(&self, now: Ps, die: Die, ppn: Ppn) -> bool {
        if self.held[Block(ppn.0 / self.pages_per_block)] == 0 {
            return false;
        }
        let state = &self.dies[die];
        let waits = self.find(die, state.running..state.running + state.len, ppn);
        waits.is_some() || {
            let begun = self.find(die, 0..state.running, ppn);
            begun.is_some_and(|index| self.end_of_begun(die, index) > now)
        }
    }

    /// When an operation ends that has begun and whose data is kept.
    fn end_of_begun(&self, die: Die, index: u32) -> Ps {
        let state = &self.dies[die];
        match state.is_forced {
            true => self.peek(die, index).ready_at,
            false => state.current.end,
        }
    }

    /// The log asks for the end of the page's program.
    pub fn ask(&mut self, ppn: Ppn) {
        self.log_ends.ask(ppn);
    }

    /// What is known at `now` of the end of a posted program.
    pub fn program_end(&mut self, now: Ps, die: Die, ppn: Ppn, array: &mut Array) -> ProgramEnd {
        self.play(now, die, array);
        let state = &self.dies[die];
        if let Some(index) = self.find(die, state.running..state.running + state.len, ppn) {
            let asked = self.peek(die, index);
            let before = self.least_time(die, state.running..index, array);
            let begins = (self.begins_at(die, array) + before).max(asked.ready_at);
            return ProgramEnd::NotBefore((begins + asked.op.time).max(now + Ps(1)));
        }
        let may_be_put_off = !state.is_forced && state.current.end > now;
        if may_be_put_off && self.find(die, 0..state.running, ppn).is_some() {
            return ProgramEnd::NotBefore(state.current.end);
        }
        let end = self.log_ends.take(ppn);
        ProgramEnd::At(end.map_or(now, |end| end.max(now)))
    }

    /// When the operation that was posted last to a die has a place there, `at` at the earliest.
    pub fn held_at(&self, at: Ps, die: Die) -> Ps {
        self.dies[die].forced_at.max(at)
    }

    /// About when the die has programmed what the host wrote, as [`Posted::idle_at`] does.
    pub fn programmed_at(&self, die: Die, array: &Array) -> Ps {
        let state = &self.dies[die];
        let mut waiting = (state.running..state.running + state.len).rev();
        match waiting.find(|index| self.peek(die, *index).op.is_of_host()) {
            Some(last) => self.done_at(die, last + 1, array),
            None if state.current.is_of_host => state.forced_end.max(state.current.end),
            None => state.forced_end,
        }
    }

    /// About when the die has done all that it has: what waits may run together or later.
    pub fn idle_at(&self, die: Die, array: &Array) -> Ps {
        let state = &self.dies[die];
        self.done_at(die, state.running + state.len, array)
    }

    /// About when the die has done what it has before a place.
    fn done_at(&self, die: Die, to: u32, array: &Array) -> Ps {
        let state = &self.dies[die];
        let begun = array.free_at(die).max(state.current.end);
        (state.running..to).fold(begun, |end, index| {
            let asked = self.peek(die, index);
            end.max(asked.ready_at) + asked.op.time
        })
    }

    /// Reserves a read in the die's chain, before the posted work that it may overtake.
    ///
    /// With the run go the time at which it begins, and how long it waits for posted work of
    /// collection.
    pub fn read(&mut self, now: Ps, op: &Op, array: &mut Array) -> (Ps, Run, Ps) {
        let chain = array.free_at(op.die);
        let current = &mut self.dies[op.die].current;
        if current.end <= now || chain > current.end {
            let (start, run) = array.append(now, now.max(chain), op);
            return (start, run, current.hold(now, start, op.die, array));
        }
        let turn = self.rules.turn(now, current);
        let (start, run) = array.append(now, turn, op);
        let hold = current.hold(now, start, op.die, array);
        if start < current.end {
            let left = current.end - current.work_from.max(now);
            if start > current.cells_from || current.overtaken == 0 {
                current.stopped_at = start;
                self.suspensions += 1;
            }
            // A read that runs with the one before it overtakes nothing more.
            current.overtaken += u32::from(start >= turn);
            current.cells_from = array.free_at(op.die);
            current.work_from = current.cells_from + self.rules.resume;
            current.end = current.work_from + left;
        }
        (start, run, hold)
    }

    /// Whether a read asked for at `at` would have to wait for posted work of collection, which has
    /// begun or would begin before that. `due`: what is posted until then, if nothing waits.
    pub fn gc_holds(&self, at: Ps, die: Die, due: Option<&PostedOp>, array: &Array) -> bool {
        let state = &self.dies[die];
        let mut current = state.current;
        if current.end <= at {
            let waiting = (state.len > 0).then(|| self.peek(die, state.running));
            let Some(next) = waiting.as_ref().or(due) else {
                return false;
            };
            let begins = next.ready_at.max(array.free_at(die)).max(current.end);
            if begins >= at {
                return false;
            }
            current = Current::new(&next.op, begins, begins, begins + next.op.time);
        }
        let held = current.end > at && current.origin == Origin::Gc;
        held && self.rules.turn(at, &current) == current.end
    }

    /// Reads, programs and erases that wait on a channel.
    pub fn counts(&self, channel: Channel) -> [u32; 3] {
        self.counts[channel]
    }

    /// When an operation ends that was to end at `end` when it began.
    pub fn end_of(&self, die: Die, verb: Verb, end: Ps) -> Ps {
        let current = &self.dies[die].current;
        let same = verb != Verb::Read && verb == current.verb && current.from < end;
        if same { current.end.max(end) } else { end }
    }

    /// Lets the oldest waiting work of a die go before later reads.
    fn force(&mut self, now: Ps, die: Die, array: &mut Array) {
        self.forced += 1;
        let state = &mut self.dies[die];
        if !state.is_forced {
            // What is under way ends then: no read suspends it any more.
            state.is_forced = true;
            let (end, running) = (state.current.end.max(now), state.running);
            self.settle(die, 0..running, end);
        }
        let ended =
            (0..self.dies[die].running).take_while(|index| self.peek(die, *index).ready_at <= now);
        self.release(die, ended.count() as u32);
        let start = now.max(self.begins_at(die, array));
        let before = self.dies[die].running;
        let (op, run) = self.take(die, start, array);
        array.chain(start, &op, run);
        let taken = before..self.dies[die].running;
        self.dies[die].forced_at = start;
        if self.is_for_host(die, taken.clone()) {
            self.dies[die].forced_end = run.end;
        }
        self.settle(die, taken, run.end);
        let over = self.dies[die].running.saturating_sub(self.begun_max);
        self.release(die, over);
    }

    /// Operations that have begun end then, whatever comes. The log learns it of its programs.
    fn settle(&mut self, die: Die, begun: Range<u32>, end: Ps) {
        for index in begun {
            let PostedOp { op, held, .. } = self.peek(die, index);
            if let (Origin::Log, Some(ppn)) = (op.origin, held) {
                self.log_ends.begin(ppn, end);
            }
            let place = self.place(die, index);
            PostedOp::end_at(&mut self.waiting[place], end);
        }
    }

    /// Lets the oldest waiting work of a die begin.
    fn begin(&mut self, die: Die, at: Ps, array: &mut Array) {
        self.release(die, self.dies[die].running);
        self.dies[die].is_forced = false;
        let (op, run) = self.take(die, at, array);
        let current = Current::new(&op, at, run.cells_from, run.end);
        let is_of_host = self.is_for_host(die, 0..self.dies[die].running);
        self.dies[die].current = Current {
            is_of_host,
            ..current
        };
    }

    /// Whether a program of the host's is among these.
    fn is_for_host(&self, die: Die, mut places: Range<u32>) -> bool {
        places.any(|index| self.peek(die, index).op.is_of_host())
    }

    /// Takes the oldest waiting operation, and those behind it that can run with it.
    fn take(&mut self, die: Die, at: Ps, array: &mut Array) -> (Op, Run) {
        let begun = self.dies[die].running;
        let first = self.peek(die, begun).op;
        let mut run = array.run(at, &first);
        let mut group = Group::new(&first);
        let mut count = 1;
        while count < self.dies[die].len {
            let asked = self.peek(die, begun + count);
            if asked.ready_at > at || !group.join(&asked.op, array.multi_plane()) {
                break;
            }
            run = array.widen(run, &asked.op);
            count += 1;
        }
        let state = &mut self.dies[die];
        state.len -= count;
        state.running += count;
        self.counts[first.channel][first.verb as usize] -= count;
        (0..count).for_each(|_| array.note(&first, run.end));
        (first, run)
    }

    /// Forgets the data of what began first of what is kept.
    fn release(&mut self, die: Die, count: u32) {
        for index in 0..count {
            if let Some(ppn) = self.peek(die, index).held {
                self.held[Block(ppn.0 / self.pages_per_block)] -= 1;
            }
        }
        let state = &mut self.dies[die];
        state.head = (state.head + count) % self.places;
        state.running -= count;
    }

    /// When the oldest waiting operation of a die begins if no read comes before it.
    fn begins_at(&self, die: Die, array: &Array) -> Ps {
        let state = &self.dies[die];
        let ready_at = match state.len {
            0 => Ps::ZERO,
            _ => self.peek(die, state.running).ready_at,
        };
        ready_at.max(array.free_at(die)).max(state.current.end)
    }

    /// An operation by its place, those that began last included.
    fn peek(&self, die: Die, index: u32) -> PostedOp {
        let channel = self.channel_of(die);
        PostedOp::unpack(self.waiting[self.place(die, index)], channel, die)
    }

    /// Which operation of a die holds the data of a page. They stay packed: of a long queue each is
    /// looked at.
    fn find(&self, die: Die, mut places: Range<u32>, ppn: Ppn) -> Option<u32> {
        let wanted = PostedOp::pack_held(ppn);
        places.find(|index| self.waiting[self.place(die, *index)][2] & HELD == wanted)
    }

    /// How long waiting operations hold up one behind them at least. Where planes work together,
    /// all of them could run with that one.
    fn least_time(&self, die: Die, places: Range<u32>, array: &Array) -> Ps {
        if self.planes > 1 && array.multi_plane() != MultiPlane::Off {
            return Ps::ZERO;
        }
        let time = |index| self.waiting[self.place(die, index)][1];
        Ps(places.map(time).sum())
    }

    fn place(&self, die: Die, index: u32) -> usize {
        let place = (self.dies[die].head + index) % self.places;
        die.index() * self.places as usize + place as usize
    }

    fn channel_of(&self, die: Die) -> Channel {
        Channel(die.0 % self.next.count())
    }
}
