//! A core: instructions are issued in order into a window, executed as soon as their addresses are
//! known, and retired in order.
//!
//! What only this core sees (its window, L1, L2 and TLB) runs ahead of the clock that all share.
//! What leaves the L2 becomes an event, so that shared parts are used in the order of time.
//! Time here is in ticks: picoseconds times the width, so that an instruction takes one cycle's
//! worth of them, exactly.

use super::artifact::Artifact;
use super::config::Cpu;
use super::memory::Memory;
use super::miss::{Miss, Misses};
use super::sched::Thread;
use super::stats::LevelStats;
use super::stores::StoreBuffer;
use super::stream::{Instr, MemOp};
use super::tags::{DIRTY, PENDING, Tags};
use super::tlb::TlbTags;
use super::window::{EMPTY, Known, NO_MISS, SLOTS, Slot, UNKNOWN};
use sluice_units::Ps;
use std::collections::BinaryHeap;

/// A line on its way to memory.
#[derive(Clone, Copy)]
pub(super) struct Sent {
    pub line: u32,
    /// Whether the core had written it; if not, the L3 may have it as written.
    pub dirty: bool,
}

/// What stopped a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// Far enough ahead of the clock: go on at this time.
    Later(Ps),
    /// The oldest instruction waits for a miss.
    Blocked,
    /// The oldest instruction got a long-delay message: it is at retirement at this time.
    Delayed(Ps),
    /// Needs more of the program.
    Starved,
    /// Needs more of the program, and all that was issued has retired at this time.
    Drained(Ps),
}

/// Counters of a core.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CoreStats {
    pub instructions: u64,
    pub loads: u64,
    pub stores: u64,
    /// Issue slots of entries with computation.
    pub compute: u64,
    pub squashed: u64,
    pub tlb_misses: u64,
    pub levels: [LevelStats; 2],
}

pub(super) struct Core<A> {
    /// The thread that it runs.
    pub thread: Option<u32>,
    /// The thread that it ran last.
    pub last: Option<u32>,
    /// Whether it waits for a miss to be answered.
    pub blocked: bool,
    /// Events of before a squash carry an older epoch and mean nothing.
    pub epoch: u32,
    pub stats: CoreStats,
    /// Misses since last asked, with the time at which each leaves the L2.
    pub left: Vec<(Ps, u32)>,
    pub misses: Misses,
    cycle: u64,
    width: u64,
    window: u64,
    pub(super) l1_ticks: u64,
    pub(super) l2_ticks: u64,
    walk: u64,
    /// Whether a store must stay in the window until it is known that its line comes.
    pub(super) holds_stores: bool,
    /// Whether it leaves it before the line is there.
    pub(super) buffers_stores: bool,
    pub(super) artifact: A,
    /// Whether a line that leaves the L2 leaves the L1 too.
    pub(super) l2_rules: bool,
    pub(super) l1: Tags,
    pub(super) l2: Tags,
    /// Written lines that have left the L1, and that the L2 had no longer.
    pub(super) passed: Vec<u32>,
    pub(super) tlb: TlbTags,
    pub(super) slots: Box<[Slot; SLOTS as usize]>,
    /// Numbers of entries of the running thread.
    head: u64,
    tail: u64,
    /// Instructions issued.
    number: u64,
    /// When the last was issued, and when the last retired.
    issued: u64,
    retired: u64,
    pub(super) stores: StoreBuffer,
    /// Lines sent to memory since last asked, with the time at which each leaves the L2.
    pub(super) sent: Vec<(Ps, Sent)>,
    /// Whether it shares memory with other hosts.
    pub(super) shares: bool,
    /// Slots that look for a shared line later, since last asked, with the time of that.
    pub(super) later: Vec<(Ps, u16)>,
    /// Whether there were any so far: then a line is marked as written when its store retires, but
    /// for cores that share memory, where that is when the store is done.
    pub(super) sends: bool,
    /// How many are on their way, and when the last of those that have arrived did.
    pub(super) flushing: u32,
    pub(super) flushed: u64,
    /// Slots that have a result which their waiters do not know yet.
    pub(super) known: BinaryHeap<Known>,
}

impl<A: Artifact> Core<A> {
    pub fn new(cpu: &Cpu, coordinated: bool, artifact: A) -> Core<A> {
        let buffers_stores = cpu.store_buffer > 0;
        let width = u64::from(cpu.width);
        Core {
            thread: None,
            last: None,
            blocked: false,
            epoch: 0,
            stats: CoreStats::default(),
            left: Vec::with_capacity(SLOTS as usize),
            misses: Misses::new(cpu.l1.mshrs.min(cpu.l2.mshrs)),
            cycle: cpu.cycle.0,
            width,
            // A retired instruction holds neither, and the rest waits for the oldest: both end
            // there.
            window: u64::from(cpu.window.min(cpu.scheduler)),
            l1_ticks: cpu.l1.latency.0 * width,
            l2_ticks: cpu.l2.latency.0 * width,
            walk: cpu.tlb.walk.0 * width,
            holds_stores: coordinated,
            buffers_stores,
            artifact,
            l2_rules: cpu.l2_rules,
            passed: Vec::new(),
            l1: Tags::new(&cpu.l1),
            l2: Tags::new(&cpu.l2),
            tlb: TlbTags::new(&cpu.tlb),
            slots: Box::new([EMPTY; SLOTS as usize]),
            head: 0,
            tail: 0,
            number: 0,
            issued: 0,
            retired: 0,
            stores: StoreBuffer::new(cpu.store_buffer),
            sent: Vec::new(),
            shares: false,
            later: Vec::new(),
            sends: false,
            flushing: 0,
            flushed: 0,
            known: BinaryHeap::with_capacity(SLOTS as usize),
        }
    }

    pub(super) fn ticks(&self, time: Ps) -> u64 {
        time.0 * self.width
    }

    pub(super) fn time(&self, ticks: u64) -> Ps {
        Ps(ticks / self.width)
    }

    /// Starts or goes on with a thread, not before `at`.
    pub fn start(&mut self, thread: u32, head: u64, at: Ps) {
        self.thread = Some(thread);
        self.last = Some(thread);
        (self.head, self.tail) = (head, head);
        self.lose_until(at);
    }

    /// Issues nothing before `at`.
    pub fn lose_until(&mut self, at: Ps) {
        self.issued = self.issued.max(self.ticks(at));
        self.retired = self.retired.max(self.ticks(at));
    }

    /// Issues nothing for so long.
    pub fn lose(&mut self, time: Ps) {
        self.issued += self.ticks(time);
    }

    /// Compute time so far: cycles whose instructions were not all loads and stores.
    pub fn compute(&self) -> Ps {
        self.time(self.stats.compute * self.cycle)
    }

    /// Runs on until something stops it. What leaves the L2 is in `left` afterwards.
    pub fn run(&mut self, now: Ps, limit: Ps, thread: &Thread, memory: &mut Memory<A>) -> Pause {
        let limit = self.ticks(limit);
        self.blocked = false;
        loop {
            let Some(entry) = thread.entry(self.tail) else {
                return Pause::Starved;
            };
            if self.issued > limit {
                return Pause::Later(self.time(self.issued));
            }
            if let Err(pause) = self.issue(now, entry, memory) {
                self.blocked = pause == Pause::Blocked;
                return pause;
            }
        }
    }

    /// Retires all that was issued, if that is possible now.
    pub fn drain(&mut self) -> Pause {
        self.blocked = false;
        while self.head < self.tail {
            if let Err(pause) = self.retire() {
                self.blocked = pause == Pause::Blocked;
                return pause;
            }
        }
        Pause::Drained(self.time(self.retired))
    }

    /// Issues one entry.
    #[inline]
    fn issue(&mut self, now: Ps, entry: Instr, memory: &mut Memory<A>) -> Result<(), Pause> {
        let count = entry.count();
        let number = self.number + count;
        let mut floor = 0;
        while self.head < self.tail {
            let oldest = self.slots[(self.head % SLOTS) as usize].number;
            if oldest + self.window > number {
                break;
            }
            self.retire()?;
            // What comes a window behind it was not issued before it had gone.
            floor = floor.max(self.retired + (number - oldest - self.window) * self.cycle);
        }
        self.number = number;
        self.issued = (self.issued + count * self.cycle).max(floor);
        self.stats.compute += if entry.work > 0 { count } else { 0 };
        let place = (self.tail % SLOTS) as u16;
        self.slots[place as usize] = Slot {
            number,
            from: self.issued,
            done: self.issued,
            line: (entry.addr / 64) as u32,
            count: count as u32,
            op: entry.op,
            ..EMPTY
        };
        let before = self.tail.checked_sub(u64::from(entry.after));
        let before = before.filter(|before| entry.after > 0 && *before >= self.head);
        self.tail += 1;
        if !matches!(entry.op, MemOp::Load | MemOp::Store) {
            return Ok(());
        }
        if let Some(before) = before {
            let needed = &mut self.slots[(before % SLOTS) as usize];
            if needed.done == UNKNOWN {
                let next = std::mem::replace(&mut needed.waiters, place);
                let slot = &mut self.slots[place as usize];
                (slot.done, slot.next) = (UNKNOWN, next);
                return Ok(());
            }
            let from = needed.done;
            let slot = &mut self.slots[place as usize];
            slot.from = slot.from.max(from);
        }
        self.execute(now, place, memory);
        Ok(())
    }

    /// Looks for a slot's line in what the core has of its own.
    #[inline]
    pub(super) fn execute(&mut self, now: Ps, place: u16, memory: &mut Memory<A>) {
        let Slot { line, op, .. } = self.slots[place as usize];
        if !self.tlb.find(line) {
            self.stats.tlb_misses += 1;
            let extra = memory.walk(now, u64::from(line) / 64);
            let wait = self.walk + self.ticks(extra);
            self.slots[place as usize].from += wait;
        }
        if self.shares && memory.shares(line) {
            return self.reach(now, place, memory);
        }
        let from = self.slots[place as usize].from;
        let flags = match op {
            MemOp::Store if !self.sends || self.shares => DIRTY,
            _ => 0,
        };
        if let Some(entry) = self.l1.find(line) {
            self.stats.levels[0].hits += 1;
            if flags != 0 && !self.artifact.joins_write(|| self.misses.find(line)) {
                *entry |= flags;
            }
            return match *entry & PENDING {
                0 => self.finish(place, from + self.l1_ticks),
                _ => self.merge(place, line, 0, from + self.l1_ticks),
            };
        }
        self.stats.levels[0].misses += 1;
        if let Some(entry) = self.l2.find(line) {
            self.stats.levels[1].hits += 1;
            let there = from + self.l2_ticks;
            if *entry & PENDING != 0 && !self.misses.comes_after(line, there) {
                *entry &= !PENDING;
            }
            // A line may leave the L1 while it is on its way.
            let pending = *entry & PENDING;
            self.fill_l1(line, flags | pending);
            return match pending {
                0 => self.finish(place, there),
                _ => self.merge(place, line, 1, there),
            };
        }
        self.stats.levels[1].misses += 1;
        let write_back = self.fill_l2(line);
        let writes = flags != 0 && self.artifact.writes_store_misses();
        let flags = if writes { 0 } else { flags };
        self.fill_l1(line, flags | PENDING);
        let miss = self.misses.add(Miss::new(line, write_back));
        self.artifact.misses(miss, writes);
        self.left.push((self.time(from + self.l2_ticks), miss));
        self.wait(place, miss);
    }

    /// The line is on its way, or was when it was last used. The cache of a level that found it
    /// would have it at `hit`.
    fn merge(&mut self, place: u16, line: u32, level: usize, hit: u64) {
        let known = self.misses.find(line);
        let due = known.map_or(0, |miss| self.misses.get(miss).due);
        if let Some(miss) = known.filter(|miss| self.misses.is_open(*miss)) {
            self.stats.levels[level].merges += 1;
            return self.wait(place, miss);
        }
        if due > hit {
            self.stats.levels[level].merges += 1;
            return self.finish(place, due);
        }
        if let Some(entry) = self.l1.peek(line) {
            *entry &= !PENDING;
        }
        self.finish(place, hit);
    }

    /// A slot waits for a miss; a store only with its data, unless it must be able to come back.
    pub(super) fn wait(&mut self, place: u16, miss: u32) {
        let due = self.misses.get(miss).due;
        let slot = &mut self.slots[place as usize];
        slot.miss = miss;
        let leaves = self.buffers_stores && !(self.holds_stores && due == UNKNOWN);
        if slot.op == MemOp::Store && leaves {
            (slot.done, slot.data) = (slot.from, UNKNOWN);
            return;
        }
        slot.done = UNKNOWN;
        slot.next = self.misses.wait(miss, place);
    }

    /// A slot has its line at `at`.
    #[inline]
    pub(super) fn finish(&mut self, place: u16, at: u64) {
        let slot = &mut self.slots[place as usize];
        match slot.op {
            MemOp::Store if self.buffers_stores => (slot.done, slot.data) = (slot.from, at),
            _ => slot.done = at,
        }
    }

    /// Retires the oldest instruction.
    #[inline]
    fn retire(&mut self) -> Result<(), Pause> {
        let slot = self.slots[(self.head % SLOTS) as usize];
        if slot.delayed {
            return Err(Pause::Delayed(self.time(self.retired.max(slot.from))));
        }
        if slot.done == UNKNOWN {
            return Err(Pause::Blocked);
        }
        let count = u64::from(slot.count);
        let mut at = (self.retired + count * self.cycle).max(slot.done);
        match slot.op {
            MemOp::Load => self.stats.loads += 1,
            MemOp::Store => {
                if self.buffers_stores {
                    let Some(room) = self.stores.room() else {
                        return Err(Pause::Blocked);
                    };
                    at = at.max(room);
                    self.buffer(&slot);
                }
                if self.sends && !self.shares && !self.written(slot.line) {
                    // The core has it no longer.
                    self.stats.levels[1].write_backs += 1;
                    self.passed.push(slot.line);
                }
                self.stats.stores += 1;
            }
            MemOp::Flush => self.flush(slot.line, at)?,
            MemOp::Fence if self.flushing > 0 => return Err(Pause::Blocked),
            MemOp::Fence => at = at.max(self.flushed),
            MemOp::None => {}
        }
        self.retired = at;
        self.stats.instructions += count;
        self.head += 1;
        Ok(())
    }

    /// A store goes to the store buffer.
    #[inline]
    fn buffer(&mut self, store: &Slot) {
        if store.data != UNKNOWN {
            return self.stores.push(store.data, NO_MISS);
        }
        let hit = store.from + self.l1_ticks;
        if self.misses.is_open(store.miss) {
            self.misses.wait_retired(store.miss);
            return self.stores.push(hit, store.miss);
        }
        let at = hit.max(self.misses.get(store.miss).due);
        self.stores.push(at, NO_MISS);
    }

    /// When the data of the oldest instruction, which was delayed, could be there.
    pub fn delayed_until(&self) -> Ps {
        self.time(self.slots[(self.head % SLOTS) as usize].data)
    }

    /// Gives up everything that has not retired. Lines that were displaced for misses that never
    /// left are in `write_backs` afterwards.
    ///
    /// Returns the number of the entry to go on with.
    pub fn squash(&mut self, now: Ps, write_backs: &mut Vec<u32>) -> u64 {
        for number in self.head..self.tail {
            let Slot { count, miss, .. } = self.slots[(number % SLOTS) as usize];
            self.stats.squashed += u64::from(count);
            if miss != NO_MISS && self.misses.give_up(miss) {
                let Miss {
                    line, write_back, ..
                } = *self.misses.get(miss);
                self.forget(line);
                write_backs.extend(write_back);
            }
        }
        self.epoch += 1;
        self.blocked = false;
        self.tail = self.head;
        self.misses.stop_waiting(now);
        self.head
    }

    /// The oldest entry was given up, and only its own instruction will be executed again: what
    /// came before it counts as done.
    pub fn count_work(&mut self, work: u16) {
        self.stats.instructions += u64::from(work);
        self.stats.squashed -= u64::from(work);
    }

    /// The number of the oldest entry that has not retired.
    pub fn head(&self) -> u64 {
        self.head
    }
}
