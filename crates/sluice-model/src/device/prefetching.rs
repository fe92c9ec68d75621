//! Prefetches of a device: what the prefetcher sees, what it brings in, and what the host maps.

use super::advice::Pattern;
use super::arrivals::Arrived;
use super::observer::Observer;
use super::pipeline::Pipeline;
use crate::cache::{Ahead, Fill, Peek};
use crate::prefetch::{Outcome, Picks, Seen};
use crate::request::{Effects, Trigger};
use sluice_units::{Lpn, Ps};

/// The access that a page is brought in behind.
#[derive(Clone, Copy)]
pub(super) struct Cause {
    /// What has it brought in.
    pub by: Ahead,
    /// The page whose access it saw, or which the host reported as accessed.
    pub lpn: Lpn,
    /// The page whose access is being served, which stays.
    pub keep: Lpn,
}

impl<O: Observer> Pipeline<O> {
    /// Shows the prefetcher an access, and brings in what it picks as far as there is room. `by` is
    /// what had the page brought in, if the access is the first since. A sampled page's first use
    /// comes after those of the pages that it stands for, of which nobody knows whether they were
    /// stores.
    pub fn prefetch_after<E: Effects>(&mut self, seen: Seen, by: Option<Ahead>, effects: &mut E) {
        let lpn = seen.lpn;
        if by.is_some() {
            for place in self.storage.settle_sample(lpn) {
                let arrivals = self.storage.arrivals.as_ref();
                let mapped = arrivals.and_then(|all| all.mapped(place));
                // The prefetcher knows nothing of one that has left since, or come anew.
                let is_there = |page: &Arrived| {
                    let found = self.storage.cache.peek(page.lpn);
                    found.is_some_and(|found| found.ready_at == page.at)
                };
                let Some(page) = mapped else { continue };
                let outcome = Outcome::FirstUse;
                if is_there(&page) {
                    let before = Seen {
                        lpn: page.lpn,
                        outcome,
                        is_store: false,
                        ..seen
                    };
                    self.follow(before, Some(page.by), lpn, effects);
                } else {
                    self.count_use(page.lpn, outcome, Some(page.by));
                }
            }
        }
        self.follow(seen, by, lpn, effects);
    }

    /// Counts an access, and lets the throttle know how prefetches fare.
    fn count_use(&mut self, lpn: Lpn, outcome: Outcome, by: Option<Ahead>) {
        if by.is_some_and(Ahead::is_counted) {
            self.storage.stats.prefetch_used += 1;
            self.storage.stats.prefetch_late += u64::from(outcome == Outcome::LateUse);
        }
        self.prefetch.fares(lpn, outcome, by);
    }

    /// Shows the prefetcher a page's access, and brings in what it picks without pushing out the
    /// page `keep`, whose access is being served.
    fn follow<E: Effects>(&mut self, seen: Seen, by: Option<Ahead>, keep: Lpn, effects: &mut E) {
        let Seen {
            at, lpn, outcome, ..
        } = seen;
        self.count_use(lpn, outcome, by);
        match self.advice.of(lpn) {
            Pattern::Normal if self.prefetch.is_on() => {}
            Pattern::Normal => return,
            Pattern::Random => {
                self.storage.stats.random_quiet += u64::from(self.prefetch.is_on());
                return;
            }
            // The pages that a sampled page stands for are not looked at one by one: it is ahead of
            // them.
            Pattern::Sequential if lpn != keep => return,
            Pattern::Sequential => return self.follow_line(at, lpn, effects),
        }
        let mut picks = Picks::new();
        self.prefetch.access(seen, &mut picks);
        self.storage.stats.prefetch_refused = self.prefetch.refused();
        for pick in picks.on_device(self.front.pages()) {
            if !self.storage.cache.contains(pick) {
                let by = Ahead::Pick;
                self.prefetch_one(at, pick, Some(Cause { by, lpn, keep }), effects);
            }
        }
    }

    /// Has the host map the prefetched pages that have arrived by then. Says when the next one
    /// does.
    pub fn map_arrived<E: Effects>(&mut self, by: Ps, effects: &mut E) -> Option<Ps> {
        self.land(by, effects);
        let arrivals = self.storage.arrivals.as_mut()?;
        while let Some(page) = arrivals.due(by) {
            let found = self.storage.cache.peek(page.lpn);
            let is_it = |found: Peek| found.is_unused && found.ready_at == page.at;
            if found.is_some_and(is_it) && effects.map(page.lpn) {
                self.storage.cache.forget_prefetch(page.lpn);
                self.storage.stats.prefetch_mapped += 1;
                arrivals.map(page);
            }
        }
        arrivals.next_at()
    }

    /// Brings a page in, without waiting for anything and without pushing out the page whose access
    /// is being served; without a cause a command asks for it. Says whether there was room.
    pub fn prefetch_one<E: Effects>(
        &mut self,
        at: Ps,
        lpn: Lpn,
        cause: Option<Cause>,
        effects: &mut E,
    ) -> bool {
        self.storage.pass();
        if cause.is_some() {
            self.storage.cache.begin(at, Trigger::Prefetch, false);
        }
        let by = cause.map_or(Ahead::Command, |cause| cause.by);
        let room = match self.front.fill_starts(at) > at {
            true => None,
            false => self.room_at_once(at, lpn, by, cause.map(|cause| cause.keep), effects),
        };
        let stats = &mut self.storage.stats;
        let Some((slot, start)) = room else {
            stats.prefetch_dropped += u64::from(by.is_counted());
            return false;
        };
        stats.prefetch_issued += u64::from(by.is_counted());
        stats.command_fills += u64::from(by == Ahead::Command);
        effects.cached(lpn);
        // No access waits for it: where its time goes is not counted.
        let (ready_at, _) = self.fill(slot, start, lpn, Fill::Ahead(by));
        let Some(cause) = cause else {
            return true;
        };
        if by == Ahead::Pick {
            self.prefetch.arrives(ready_at, lpn, cause.lpn);
        }
        if E::MAPS
            && let Some(arrivals) = &mut self.storage.arrivals
        {
            arrivals.send(ready_at, lpn, by);
        }
        true
    }
}
