//! A place in the cache for a page that is brought in: when it misses, or when it arrives
//! (`cache.evict_at`).

use super::data_cache::Room;
use super::observer::Observer;
use super::pipeline::Pipeline;
use crate::cache::{Ahead, Arrival, Fill};
use crate::request::{Effects, Trigger};
use sluice_units::{Lpn, Ps, Slot};

impl<O: Observer> Pipeline<O> {
    /// Finds a slot for a page that is demanded at `at`, whose fill can start at `from`, waiting
    /// for one if it must. Returns the slot and when the fill can start then. `None` if there never
    /// is one: flash refuses every page that could leave.
    pub fn make_room<E: Effects>(
        &mut self,
        at: Ps,
        from: Ps,
        lpn: Lpn,
        effects: &mut E,
    ) -> Option<(Slot, Ps)> {
        let (slot, start) = self.wait_for_room(from, lpn, effects)?;
        self.storage.stats.mshr_stalls += u64::from(start > at);
        Some((slot, start))
    }

    /// Finds a slot for a page that is brought in, waiting from `start` on for one if it must.
    /// `None` as [`Pipeline::make_room`].
    pub fn wait_for_room<E: Effects>(
        &mut self,
        start: Ps,
        lpn: Lpn,
        effects: &mut E,
    ) -> Option<(Slot, Ps)> {
        if self.storage.evicts_at_fill() {
            return Some((self.slot_in_flight(effects), start));
        }
        self.storage.cache.count_miss(lpn);
        self.wait_for_place(start, lpn, false, effects)
    }

    /// A slot for a page that `by` has brought in at `at`, without waiting and without pushing the
    /// page `keep` out, and when its fill can begin.
    pub fn room_at_once<E: Effects>(
        &mut self,
        at: Ps,
        lpn: Lpn,
        by: Ahead,
        keep: Option<Lpn>,
        effects: &mut E,
    ) -> Option<(Slot, Ps)> {
        if self.storage.evicts_at_fill() {
            return Some((self.slot_in_flight(effects), at));
        }
        self.storage.cache.count_miss(lpn);
        self.place_for(at, lpn, keep, by == Ahead::Pick, effects)
    }

    /// A place in the cache for a page, from `at` on or as soon as there is one. `None` as
    /// [`Pipeline::make_room`].
    fn wait_for_place<E: Effects>(
        &mut self,
        mut at: Ps,
        lpn: Lpn,
        for_prefetch: bool,
        effects: &mut E,
    ) -> Option<(Slot, Ps)> {
        loop {
            let place = self.place_for(at, lpn, None, for_prefetch, effects);
            if place.is_some() {
                return place;
            }
            // Every page of the set is in flight: the first to arrive is the first that can leave.
            let next = self.storage.cache.next_arrival(lpn, at);
            if next.is_none() && self.storage.back.is_read_only() {
                return None;
            }
            at = next.expect("a page that cannot be evicted is in flight");
        }
    }

    /// A slot that is free, or freed by pushing a page other than `keep` out at `at`, and when its
    /// fill can begin.
    fn place_for<E: Effects>(
        &mut self,
        at: Ps,
        lpn: Lpn,
        keep: Option<Lpn>,
        for_prefetch: bool,
        effects: &mut E,
    ) -> Option<(Slot, Ps)> {
        let victim = match self.storage.room(at, lpn, keep, effects)? {
            Room::Free(slot) => return Some((slot, at)),
            Room::Evicted(victim) => victim,
        };
        let stats = &mut self.storage.stats;
        self.prefetch.evicted(&victim, for_prefetch, stats);
        let free_at = self.storage.place_free_at(at);
        Some((victim.slot, self.front.replaces(free_at)))
    }

    /// A slot for a page on its way that gets a place when it arrives.
    fn slot_in_flight<E: Effects>(&mut self, effects: &mut E) -> Slot {
        loop {
            if let Some(slot) = self.storage.cache.take_in_flight() {
                return slot;
            }
            // As many pages are on their way as can be: the first to arrive makes room.
            let first = self.storage.cache.next_landing();
            self.land(first.expect("pages are in flight"), effects);
        }
    }

    /// Gives the pages a place that have arrived by then, one after another, each at its time. Says
    /// when the next one arrives. With `cache.evict_at = miss` every page has its place already.
    pub fn land<E: Effects>(&mut self, by: Ps, effects: &mut E) -> Option<Ps> {
        while let Some(page) = self.storage.cache.arrived(by) {
            self.storage.pass_until(page.at);
            self.give_place(&page, effects);
        }
        self.storage.cache.next_landing()
    }

    fn give_place<E: Effects>(&mut self, page: &Arrival, effects: &mut E) {
        let trigger = match page.fill {
            Fill::Ahead(Ahead::Command) => Trigger::Command,
            Fill::Ahead(_) => Trigger::Prefetch,
            Fill::Read | Fill::Write => Trigger::Demand,
        };
        let is_pick = page.fill == Fill::Ahead(Ahead::Pick);
        let cache = &mut self.storage.cache;
        let is_store = cache.peek(page.lpn).is_some_and(|found| found.is_dirty);
        cache.begin(page.at, trigger, is_store);
        cache.by(page.thread);
        cache.count_miss(page.lpn);
        // Without a place it stays in its MSHR entry's buffer.
        if let Some((slot, _)) = self.wait_for_place(page.at, page.lpn, is_pick, effects) {
            self.storage.land(page, slot);
        }
        self.storage.cache.by(self.callers.current());
    }
}
