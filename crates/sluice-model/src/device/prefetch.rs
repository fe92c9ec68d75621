//! What the prefetcher picks, and what becomes of it.

use super::Device;
use crate::cache::Fill;
use crate::parts::Parts;
use crate::prefetch::{Outcome, Picks};
use crate::request::Effects;
use sluice_units::{Lpn, Ps};

impl Device {
    /// Shows the prefetcher an access, and brings in what it picks as far as there is room.
    pub(super) fn prefetch_after<E: Effects>(
        &mut self,
        at: Ps,
        lpn: u32,
        outcome: Outcome,
        effects: &mut E,
    ) {
        self.stats.prefetch_used += u64::from(outcome != Outcome::Miss);
        self.stats.prefetch_late += u64::from(outcome == Outcome::LateUse);
        if !self.prefetches {
            return;
        }
        let mut picks = Picks::new();
        self.prefetch.access(at, lpn, outcome, &mut picks);
        for pick in picks.as_slice() {
            if *pick < self.pages() && !self.cache.contains(*pick as u32) {
                self.prefetch_one(at, *pick as u32, Some(lpn), effects);
            }
        }
    }

    /// Brings a page in, without waiting for anything and without pushing out the page `keep`,
    /// whose access made the prefetcher pick it. Says whether there was room.
    pub(super) fn prefetch_one<E: Effects>(
        &mut self,
        at: Ps,
        lpn: u32,
        keep: Option<u32>,
        effects: &mut E,
    ) -> bool {
        self.back.pass(self.now, &mut self.stats);
        self.mshr.retire(at);
        if self.mshr.free_at(at) > at {
            self.stats.prefetch_dropped += 1;
            return false;
        }
        self.cache.announce(lpn);
        let Some(slot) = self.slot_for(at, lpn, keep, effects) else {
            self.stats.prefetch_dropped += 1;
            return false;
        };
        effects.cached(Lpn(lpn));
        // Nobody waits for it: its parts are not counted.
        let ready_at = self.fill(slot, at, lpn, Fill::Prefetch, &mut Parts::default());
        self.stats.prefetch_issued += 1;
        if let Some(cause) = keep {
            self.prefetch.arrives(ready_at, lpn, cause);
        }
        true
    }
}
