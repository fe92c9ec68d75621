//! Misses of a core and its MSHRs.

use super::artifact::Artifact;
use super::system::{Event, Host};
use sluice_units::Ps;

impl<A: Artifact> Host<'_, A> {
    /// A miss has left the L2, and takes an MSHR or waits for one.
    pub(super) fn access(&mut self, number: usize, miss: u32) {
        let misses = &mut self.cores[number].misses;
        let (mshr, free_at) = misses.first_mshr();
        if misses.waits() || free_at > self.now {
            if misses.wait_for_mshr(self.now, miss) {
                self.retry_at(number, free_at);
            }
            return;
        }
        self.look_up(number, miss, mshr);
    }

    /// A miss that finds no MSHR of the L3 keeps its core's. Returns the core's epoch.
    pub(super) fn keep_mshr(&mut self, number: usize, mshr: usize) -> u32 {
        let core = &mut self.cores[number];
        core.misses.take_mshr(mshr, Ps::MAX);
        core.epoch
    }

    /// A miss with an MSHR looks up the L3 again. After a squash it only gives the MSHR back.
    pub(super) fn look_up_again(&mut self, number: usize, miss: u32, mshr: usize, epoch: u32) {
        self.l3.waiting.end(self.now);
        let squashed = self.cores[number].epoch != epoch;
        if squashed {
            self.cores[number].misses.take_mshr(mshr, self.now);
        } else {
            self.look_up(number, miss, mshr);
        }
        // Others of the core may not have known when an MSHR is free.
        let misses = &self.cores[number].misses;
        if misses.stalled || squashed && misses.waits() {
            self.retry_all(number);
        }
    }

    /// The first miss that waits takes an MSHR.
    pub(super) fn retry(&mut self, number: usize) {
        let core = &mut self.cores[number];
        let (mshr, free_at) = core.misses.first_mshr();
        if free_at > self.now {
            // An answer has freed one earlier, and those that waited went on.
            return;
        }
        let Some(miss) = core.misses.next_waiting(self.now) else {
            return;
        };
        self.look_up(number, miss, mshr);
        let misses = &self.cores[number].misses;
        if misses.waits() {
            let (_, free_at) = misses.first_mshr();
            self.retry_at(number, free_at);
        }
    }

    pub(super) fn retry_at(&mut self, number: usize, at: Ps) {
        let core = &mut self.cores[number];
        if at == Ps::MAX {
            // The answer that frees one goes on with it.
            core.misses.stalled = true;
            return;
        }
        let (core, epoch) = (number as u32, core.epoch);
        self.events
            .push(at.max(self.now), Event::Retry { core, epoch });
    }

    /// Misses of a core take the MSHRs that are free.
    pub(super) fn retry_all(&mut self, number: usize) {
        self.cores[number].misses.stalled = false;
        loop {
            let misses = &mut self.cores[number].misses;
            let (mshr, free_at) = misses.first_mshr();
            if misses.waits() && free_at > self.now {
                return self.retry_at(number, free_at);
            }
            let Some(miss) = misses.next_waiting(self.now) else {
                return;
            };
            self.look_up(number, miss, mshr);
        }
    }
}
