//! What happens when a page is not in the cache: room is made, and the page is brought in.

use super::Device;
use crate::cache::Fill;
use crate::parts::Parts;
use crate::prefetch::{Outcome, Picks};
use crate::request::{Completion, Effects, Op, ServedBy};
use sluice_units::{Lpn, Ps};

impl Device {
    /// Serves an access, which reached the cache at `at`, to a page that is not there.
    pub(super) fn miss<E: Effects>(
        &mut self,
        at: Ps,
        lpn: u32,
        op: Op,
        effects: &mut E,
    ) -> Completion {
        self.stats.misses += 1;
        let fill = match op {
            Op::Write => Fill::Write,
            Op::Read => Fill::Read,
        };
        let mut parts = self.front_parts();
        let (slot, start) = self.make_room(at, lpn, effects);
        parts.stall = start - at;
        let done_at = self.fill(slot, start, lpn, fill, &mut parts);
        self.count_latency(parts, done_at);
        self.prefetch_after(at, lpn, Outcome::Miss, effects);
        self.completion(done_at, ServedBy::Flash, false)
    }

    /// Finds a slot for a demanded page, waiting for an MSHR entry and for a way if it must.
    ///
    /// Returns the slot and the time at which the fill can start.
    fn make_room<E: Effects>(&mut self, at: Ps, lpn: u32, effects: &mut E) -> (u32, Ps) {
        self.mshr.retire(at);
        let mut start = self.mshr.free_at(at);
        self.cache.announce(lpn);
        let slot = loop {
            if let Some(slot) = self.slot_for(start, lpn, None, effects) {
                break slot;
            }
            // Every page of the set is in flight: the first to arrive is the first that can leave.
            let next = self.cache.next_ready(lpn, start);
            start = next.expect("a page that cannot be evicted is in flight");
        };
        self.stats.mshr_stalls += u64::from(start > at);
        (slot, start)
    }

    /// A slot that is free, or freed by pushing another page out at `at`.
    fn slot_for<E: Effects>(
        &mut self,
        at: Ps,
        lpn: u32,
        keep: Option<u32>,
        effects: &mut E,
    ) -> Option<u32> {
        if let Some(slot) = self.cache.take_free(lpn) {
            return Some(slot);
        }
        let evicted = self.cache.evict(lpn, at, keep)?;
        let written = effects.unmap(Lpn(u64::from(evicted.lpn)));
        self.stats.evictions += 1;
        self.stats.prefetch_unused += u64::from(evicted.unused);
        if evicted.dirty || written {
            self.stats.dirty_evictions += 1;
            self.back.write(at, evicted.lpn, &mut self.stats);
        }
        Some(evicted.slot)
    }

    /// Reads the page into the slot. Returns when the host can have it.
    fn fill(&mut self, slot: u32, start: Ps, lpn: u32, fill: Fill, parts: &mut Parts) -> Ps {
        let read_at = self.back.read(start, lpn, parts, &mut self.stats);
        parts.dram = self.config.cache.hit_latency;
        let ready_at = read_at + parts.dram;
        self.mshr.retire(start);
        self.mshr.take(ready_at);
        self.cache.insert(slot, lpn, ready_at, fill);
        ready_at
    }

    /// Asks the prefetcher, and brings in what it picks as far as there is room.
    pub(super) fn prefetch_after<E: Effects>(
        &mut self,
        at: Ps,
        lpn: u32,
        outcome: Outcome,
        effects: &mut E,
    ) {
        let mut picks = Picks::new();
        self.prefetch.access(u64::from(lpn), outcome, &mut picks);
        for pick in picks.as_slice() {
            if *pick < self.pages() && !self.cache.contains(*pick as u32) {
                self.prefetch_one(at, *pick as u32, lpn, effects);
            }
        }
    }

    /// Brings a page in, without waiting for anything and without pushing out the page `keep`.
    fn prefetch_one<E: Effects>(&mut self, at: Ps, lpn: u32, keep: u32, effects: &mut E) {
        self.mshr.retire(at);
        if self.mshr.free_at(at) > at {
            self.stats.prefetch_dropped += 1;
            return;
        }
        self.cache.announce(lpn);
        match self.slot_for(at, lpn, Some(keep), effects) {
            Some(slot) => {
                // Nobody waits for it: its parts are not counted.
                self.fill(slot, at, lpn, Fill::Prefetch, &mut Parts::default());
                self.stats.prefetch_issued += 1;
            }
            None => self.stats.prefetch_dropped += 1,
        }
    }
}
