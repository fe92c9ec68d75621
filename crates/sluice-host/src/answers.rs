//! What a core does with the answers to its misses.
//!
//! A core may learn of an answer before the answer comes, but goes on with each when it comes. So
//! results are used in the order of their times, whichever was known first.

use super::artifact::Artifact;
use super::core::Core;
use super::memory::Memory;
use super::miss::Miss;
use super::window::{NOBODY, UNKNOWN};
use sluice_units::Ps;
use std::cmp::Reverse;

impl<A: Artifact> Core<A> {
    /// The line of a miss comes at `at`, and no long-delay message. Says whether the core may go
    /// on by that.
    pub fn expect(&mut self, now: Ps, miss: u32, at: Ps, memory: &mut Memory<A>) -> bool {
        self.misses.expect(miss, self.ticks(at));
        if !(self.holds_stores && self.buffers_stores) {
            return false;
        }
        // Stores need not stay in the window any longer.
        let mut place = self.misses.wait(miss, NOBODY);
        while place != NOBODY {
            let next = std::mem::replace(&mut self.slots[place as usize].next, NOBODY);
            self.wait(place, miss);
            if self.slots[place as usize].done != UNKNOWN {
                self.knows(place);
            }
            place = next;
        }
        self.wake(now, memory);
        true
    }

    /// The line of a miss has come.
    pub fn resolve(&mut self, now: Ps, miss: u32, memory: &mut Memory<A>) {
        let Miss { due, stored, .. } = *self.misses.get(miss);
        if stored {
            self.stores.settle(miss, due);
        }
        let mut place = self.misses.settle(miss);
        while place != NOBODY {
            let slot = &mut self.slots[place as usize];
            let next = std::mem::replace(&mut slot.next, NOBODY);
            // The line may have come before the address is known.
            let done = due.max(slot.from + self.l1_ticks);
            self.finish(place, done);
            self.knows(place);
            place = next;
        }
        self.wake(now, memory);
    }

    pub(super) fn knows(&mut self, place: u16) {
        let slot = &self.slots[place as usize];
        self.known.push(Reverse((slot.done, slot.number, place)));
    }

    /// Executes what needed the results that are now known.
    pub(super) fn wake(&mut self, now: Ps, memory: &mut Memory<A>) {
        while let Some(Reverse((done, _, place))) = self.known.pop() {
            let mut waiter = std::mem::replace(&mut self.slots[place as usize].waiters, NOBODY);
            while waiter != NOBODY {
                let slot = &mut self.slots[waiter as usize];
                slot.from = slot.from.max(done);
                let next = std::mem::replace(&mut slot.next, NOBODY);
                self.execute(now, waiter, memory);
                if self.slots[waiter as usize].done != UNKNOWN {
                    self.knows(waiter);
                }
                waiter = next;
            }
        }
    }

    /// A miss is answered with a long-delay message, here at `at`; its data could be there at
    /// `data_at`.
    pub fn delay(&mut self, miss: u32, at: Ps, data_at: Ps) {
        let (at, data) = (self.ticks(at), self.ticks(data_at));
        if !self.artifact.fills_delayed() {
            let line = self.misses.get(miss).line;
            self.forget(line);
        }
        self.misses.expect(miss, at);
        let mut place = self.misses.settle(miss);
        while place != NOBODY {
            let slot = &mut self.slots[place as usize];
            (slot.delayed, slot.data) = (true, data);
            slot.from = slot.from.max(at);
            place = std::mem::replace(&mut slot.next, NOBODY);
        }
    }
}
