//! Memory that several hosts share, whose devices keep their caches coherent (HDM-DB).
//!
//! A host is one peer of that coherence, whatever it has inside. Its L3 has every shared line that
//! an L1 or an L2 has, so that a snoop finds all copies and a line that leaves the L3 leaves the
//! host. A host may read what its caches have. It may write what it *owns*: a store to another
//! line is a miss that asks to own it.
//!
//! An access looks for its line when its time has come, and not while the core runs ahead: what a
//! snoop took before is gone. That is when a load sees its data, and when a store is done; if the
//! line is missing, both are when the line, or the right to write it, is with the host.

use super::artifact::Artifact;
use super::core::Core;
use super::memory::Memory;
use super::miss::Miss;
use super::port::{AskFor, Waiter};
use super::rights::{Peer, Performed, Shared};
use super::stream::MemOp;
use super::system::{Event, Host};
use super::tags::{DIRTY, PENDING, Tags};
use super::window::UNKNOWN;
use sluice_cxl::coherence::State;
use sluice_units::{LINE_BYTES, Ps};

impl<A: Artifact> Memory<A> {
    /// Whether the host may write a shared line.
    #[inline]
    fn owns(&self, line: u32) -> bool {
        let shared = self.shared.as_ref();
        shared.is_some_and(|shared| shared.owned.has(line as usize))
    }

    /// The host may write a shared line from now on.
    pub(super) fn own(&mut self, line: u32) {
        if let Some(shared) = &mut self.shared {
            shared.owned.set(line as usize);
        }
    }

    /// It may not any longer. Says whether it could.
    fn disown(&mut self, line: u32) -> bool {
        let shared = self.shared.as_mut();
        shared.is_some_and(|shared| shared.owned.clear(line as usize))
    }

    /// A load or store is done.
    fn perform(&mut self, line: u32, at: Ps, is_store: bool) {
        if let Some(log) = self.shared.as_mut().and_then(|shared| shared.log.as_mut()) {
            let addr = u64::from(line) * LINE_BYTES;
            log.push(Performed { addr, at, is_store });
        }
    }
}

impl<A: Artifact> Core<A> {
    /// A slot looks for a shared line: now, or when its time has come.
    #[inline(never)]
    pub(super) fn reach(&mut self, now: Ps, place: u16, memory: &mut Memory<A>) {
        let at = self.time(self.slots[place as usize].from);
        if at <= now {
            return self.look_for(place, memory);
        }
        self.slots[place as usize].done = UNKNOWN;
        self.later.push((at, place));
    }

    /// A slot whose time has come looks for its line.
    fn reach_now(&mut self, now: Ps, place: u16, memory: &mut Memory<A>) {
        self.look_for(place, memory);
        if self.slots[place as usize].done != UNKNOWN {
            self.knows(place);
            self.wake(now, memory);
        }
    }

    fn look_for(&mut self, place: u16, memory: &mut Memory<A>) {
        let slot = &self.slots[place as usize];
        let (line, from, is_store) = (slot.line, slot.from, slot.op == MemOp::Store);
        let Some((level, there, pending)) = self.find(line, from) else {
            let write_back = self.fill_l2(line);
            self.fill_l1(line, PENDING);
            return self.miss(place, Miss::new(line, write_back), is_store);
        };
        if pending && let Some(miss) = self.misses.find_unanswered(line) {
            self.stats.levels[level].merges += 1;
            if is_store {
                self.misses.want(miss);
            }
            return self.wait(place, miss);
        }
        if is_store && !memory.owns(line) {
            self.flag(line, PENDING);
            return self.miss(place, Miss::new(line, None), true);
        }
        let answered = self.misses.find_answered(line).filter(|_| pending);
        let due = answered.map_or(0, |miss| self.misses.get(miss).due);
        self.stats.levels[level].merges += u64::from(due > there);
        if is_store {
            self.flag(line, DIRTY);
        }
        memory.perform(line, self.time(from), is_store);
        self.finish(place, there.max(due));
    }

    /// Finds a line in what the core has of its own: at which level, when it has it, and whether it
    /// may still be on its way.
    fn find(&mut self, line: u32, from: u64) -> Option<(usize, u64, bool)> {
        if let Some(entry) = self.l1.find(line) {
            self.stats.levels[0].hits += 1;
            return Some((0, from + self.l1_ticks, *entry & PENDING != 0));
        }
        self.stats.levels[0].misses += 1;
        let Some(entry) = self.l2.find(line) else {
            self.stats.levels[1].misses += 1;
            return None;
        };
        self.stats.levels[1].hits += 1;
        let pending = *entry & PENDING;
        self.fill_l1(line, pending);
        Some((1, from + self.l2_ticks, pending != 0))
    }

    /// Marks a line wherever the core has it.
    fn flag(&mut self, line: u32, flag: u32) {
        for level in [&mut self.l1, &mut self.l2] {
            if let Some(entry) = level.peek(line) {
                *entry |= flag;
            }
        }
    }

    /// A slot waits for a line, or for the right to write it.
    fn miss(&mut self, place: u16, miss: Miss, writes: bool) {
        let miss = self.misses.add(miss);
        if writes {
            self.misses.want(miss);
        }
        let leaves = self.slots[place as usize].from + self.l2_ticks;
        self.left.push((self.time(leaves), miss));
        self.wait(place, miss);
    }

    /// Loses a line. Says whether it had it as written. A place that waits for the line's answer
    /// goes on waiting.
    fn lose_line(&mut self, line: u32) -> bool {
        let waits = self.misses.find_unanswered(line).is_some();
        let mut dirty = false;
        for level in [&mut self.l1, &mut self.l2] {
            dirty |= match level.peek(line) {
                Some(entry) if waits && *entry & PENDING != 0 => Tags::clean(entry),
                Some(_) => level.remove(line) & DIRTY != 0,
                None => false,
            };
        }
        dirty
    }
}

impl Host<'_> {
    /// Its memory behind the port is shared with other hosts from now on, before the first
    /// instruction. What is done is kept for [`Host::take_performed`] if that `is_checked`.
    ///
    /// # Panics
    /// Without an L3 or a port, or after the first event.
    pub fn share(&mut self, is_checked: bool) {
        assert!(self.l3.is_there(), "a snoop looks into the L3");
        assert!(self.port.is_some() && self.now == Ps::ZERO);
        let lines = self.program.footprint().0.div_ceil(LINE_BYTES);
        self.memory.shared = Some(Box::new(Shared::new(lines as usize, is_checked)));
        self.cores.iter_mut().for_each(|core| core.shares = true);
    }
}

impl<A: Artifact> Host<'_, A> {
    /// What it is to the others that share its memory.
    pub fn peer(&self) -> Peer {
        let cpu = &self.config.cpu;
        Peer {
            lines: cpu.l3.lines,
            misses: cpu.cores * cpu.l1.mshrs.min(cpu.l2.mshrs),
            look_up: self.l3.latency(),
        }
    }

    /// Loads and stores that were done since last asked, in order.
    pub fn take_performed(&mut self) -> impl Iterator<Item = Performed> {
        let shared = self.memory.shared.as_mut();
        let log = shared.and_then(|shared| shared.log.as_mut());
        log.map(|log| log.drain(..)).into_iter().flatten()
    }

    /// A snoop has come for a line, of which the host keeps so much: nothing, a copy that it may
    /// read, or a copy that it asks for before it writes it again. Says whether one of its caches
    /// had the line as written.
    pub fn snoop(&mut self, addr: u64, keeps: State) -> bool {
        let line = (addr / LINE_BYTES) as u32;
        self.memory.disown(line);
        match keeps {
            State::Invalid => self.lose_line(line),
            _ => self.clean_line(line),
        }
    }

    fn lose_line(&mut self, line: u32) -> bool {
        let cores = self.cores.iter_mut();
        let dirty = cores.fold(false, |any, core| core.lose_line(line) | any);
        self.l3.remove(line) | dirty
    }

    fn clean_line(&mut self, line: u32) -> bool {
        let mut dirty = self.l3.clean(line);
        for core in &mut self.cores {
            for level in [&mut core.l1, &mut core.l2] {
                dirty |= level.peek(line).is_some_and(Tags::clean);
            }
        }
        dirty
    }

    /// A shared line leaves the L3, and so the host.
    #[inline(never)]
    pub(super) fn give_up(&mut self, line: u32, at: Ps) {
        let addr = u64::from(line) * LINE_BYTES;
        self.lose_line(line);
        if self.memory.disown(line) {
            self.l3.stats.write_backs += 1;
            self.send(addr, at, None);
        } else if let Some(port) = &mut self.port {
            port.give_up(addr, at);
        }
    }

    /// A shared line that was written comes from an L2. What a snoop has taken meanwhile is gone.
    pub(super) fn put_shared(&mut self, line: u32) {
        if self.memory.owns(line) {
            self.l3.mark(line);
        }
    }

    /// A program sends a shared line to memory. The host keeps nothing of it.
    pub(super) fn flush_shared(&mut self, number: usize, line: u32, at: Ps) {
        if self.memory.disown(line) {
            self.lose_line(line);
            return self.send(u64::from(line) * LINE_BYTES, at, Some(number as u32));
        }
        self.cores[number].arrived(at);
        self.wake(number);
    }

    /// Whether a store waits for a miss, and the host may not write its line.
    #[inline]
    pub(super) fn lacks_right(&self, number: usize, miss: u32) -> bool {
        let Miss { line, writes, .. } = *self.cores[number].misses.get(miss);
        writes && self.memory.shares(line) && !self.memory.owns(line)
    }

    /// What waited for a miss is done.
    #[inline(never)]
    pub(super) fn perform(&mut self, number: usize, miss: u32) {
        let core = &mut self.cores[number];
        let Miss { line, writes, .. } = *core.misses.get(miss);
        if !self.memory.shares(line) {
            return;
        }
        self.memory.perform(line, self.now, false);
        if writes {
            self.memory.perform(line, self.now, true);
            if !core.written(line) {
                self.l3.mark(line);
            }
        }
    }

    /// Misses whose line has come ask for the right to write it.
    pub(super) fn ask_again(&mut self, line: u32, waiters: &[Waiter]) {
        let Some((first, others)) = waiters.split_first() else {
            return;
        };
        for waiter in waiters {
            let misses = &mut self.cores[waiter.core as usize].misses;
            misses.take_mshr(waiter.mshr, Ps::MAX);
        }
        self.l3.ask();
        if let Some(port) = &mut self.port {
            port.read(line, self.now, AskFor::Owned, false, *first);
            let asked = port.waiters(line).expect("it was asked for just now");
            asked.extend_from_slice(others);
        }
    }

    /// Accesses to shared lines whose time has not come become events.
    #[inline(never)]
    pub(super) fn let_go_later(&mut self, number: usize) {
        let core = &mut self.cores[number];
        let epoch = core.epoch;
        for (at, place) in core.later.drain(..) {
            let core = number as u32;
            self.events.push(at, Event::Reach { core, place, epoch });
        }
    }

    /// It is the time of a core's access to a shared line.
    pub(super) fn reach(&mut self, number: usize, place: u16) {
        self.cores[number].reach_now(self.now, place, &mut self.memory);
        self.let_go(number);
        self.wake(number);
    }
}
