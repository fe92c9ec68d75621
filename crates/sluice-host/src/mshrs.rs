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
            if misses.wait_for_mshr(miss) {
                self.retry_at(number, free_at);
            }
            return;
        }
        self.look_up(number, miss, mshr);
    }

    /// The first miss that waits takes an MSHR.
    pub(super) fn retry(&mut self, number: usize) {
        let core = &mut self.cores[number];
        let (mshr, free_at) = core.misses.first_mshr();
        if free_at > self.now {
            // An answer has freed one earlier, and those that waited went on.
            return;
        }
        let Some(miss) = core.misses.next_waiting() else {
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
            core.misses.stalled_since = Some(self.now);
            return;
        }
        let wait = at.saturating_sub(self.now);
        core.stats.levels[0].mshr_wait += wait;
        let (core, epoch) = (number as u32, core.epoch);
        self.events
            .push(at.max(self.now), Event::Retry { core, epoch });
    }

    /// Misses of a core take the MSHRs that are free.
    pub(super) fn retry_all(&mut self, number: usize) {
        let core = &mut self.cores[number];
        if let Some(since) = core.misses.stalled_since.take() {
            core.stats.levels[0].mshr_wait += self.now - since;
        }
        loop {
            let misses = &mut self.cores[number].misses;
            let (mshr, free_at) = misses.first_mshr();
            if misses.waits() && free_at > self.now {
                return self.retry_at(number, free_at);
            }
            let Some(miss) = misses.next_waiting() else {
                return;
            };
            self.look_up(number, miss, mshr);
        }
    }
}
