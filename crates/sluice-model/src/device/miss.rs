//! What happens when a page is not in the cache: room is made, and the page is brought in.

use super::Device;
use crate::cache::{Evicted, Fill};
use crate::config::StoreMiss;
use crate::parts::Parts;
use crate::prefetch::Outcome;
use crate::request::{Completion, Effects, Op, Request, ServedBy};
use sluice_units::{Lpn, Ps};

impl Device {
    /// Serves an access, which reached the cache at `at`, to a page that is not there.
    pub(super) fn miss<E: Effects>(
        &mut self,
        at: Ps,
        lpn: u32,
        req: Request,
        effects: &mut E,
    ) -> Completion {
        if let Some(completion) = self.memory_access(req) {
            return completion;
        }
        self.stats.misses += 1;
        self.back.pass(self.now, &mut self.stats);
        self.expect(lpn, 1);
        let around = self.config.cache.store_miss == StoreMiss::Around;
        let done_at = match req.op {
            Op::Write if around => self.write_around(at, lpn),
            Op::Read if self.config.cache.loads_around => {
                self.stats.read_arounds += 1;
                self.around(at, lpn)
            }
            _ => self.bring_in(at, lpn, req, effects),
        };
        self.prefetch_after(at, lpn, Outcome::Miss, effects);
        self.completion(done_at, ServedBy::Flash, false)
    }

    /// Brings the page in for an access. Returns when the access is done.
    fn bring_in<E: Effects>(&mut self, at: Ps, lpn: u32, req: Request, effects: &mut E) -> Ps {
        let store = req.op == Op::Write;
        let mut parts = self.behind_parts();
        let from = self.requests.free_at(at);
        let (slot, start) = self.make_room(at, from, lpn, effects);
        effects.cached(Lpn(lpn));
        parts.stall = start - at;
        let fill = if store && self.marks_dirty {
            Fill::Write
        } else {
            Fill::Read
        };
        let ready_at = if store && self.config.cache.store_miss == StoreMiss::Merge {
            let mut unseen = Parts::default();
            let ready_at = self.fill(slot, start, lpn, fill, &mut unseen);
            parts.dram = unseen.dram;
            self.count_latency(parts, start + parts.dram);
            ready_at
        } else {
            let ready_at = self.fill(slot, start, lpn, fill, &mut parts);
            self.count_latency(parts, ready_at);
            self.requests.take(start, ready_at);
            ready_at
        };
        self.prefetch.arrives(ready_at, lpn, lpn);
        if store {
            self.back.contents.store(lpn);
        }
        if self.watches_lines {
            self.watch(ready_at, slot, lpn, req);
        }
        self.now + parts.total()
    }

    /// Reads the page, changes it and programs it, all outside the cache.
    fn write_around(&mut self, at: Ps, lpn: u32) -> Ps {
        let done_at = self.around(at, lpn);
        self.stats.write_arounds += 1;
        self.write_behind(done_at, lpn);
        done_at
    }

    /// Reads the page for one access without a place in the cache. Returns when that is done.
    fn around(&mut self, at: Ps, lpn: u32) -> Ps {
        let mut parts = self.behind_parts();
        self.mshr.retire(at);
        let start = self.mshr.free_at(at).max(self.requests.free_at(at));
        self.stats.mshr_stalls += u64::from(start > at);
        parts.stall = start - at;
        let read_at = self.back.read(start, lpn, &mut parts, &mut self.stats);
        self.back.contents.pass();
        parts.dram = self.config.cache.hit_latency;
        let done_at = read_at + parts.dram;
        self.mshr.take(start, done_at);
        self.requests.take(start, done_at);
        self.count_latency(parts, done_at);
        done_at
    }

    /// Finds a slot for a demanded page, waiting until `from`, for an MSHR entry and for a way if
    /// it must.
    ///
    /// Returns the slot and the time at which the fill can start.
    pub(super) fn make_room<E: Effects>(
        &mut self,
        at: Ps,
        from: Ps,
        lpn: u32,
        effects: &mut E,
    ) -> (u32, Ps) {
        self.mshr.retire(at);
        let (slot, start) = self.room_at(self.mshr.free_at(at).max(from), lpn, effects);
        self.stats.mshr_stalls += u64::from(start > at);
        (slot, start)
    }

    /// Finds a slot for a page that is brought in, waiting from `start` on for a way if it must.
    pub(super) fn room_at<E: Effects>(
        &mut self,
        mut start: Ps,
        lpn: u32,
        effects: &mut E,
    ) -> (u32, Ps) {
        self.cache.announce(lpn);
        loop {
            if let Some(slot) = self.slot_for(start, lpn, None, effects) {
                return (slot, start);
            }
            // Every page of the set is in flight: the first to arrive is the first that can leave.
            let next = self.cache.next_ready(lpn, start);
            start = next.expect("a page that cannot be evicted is in flight");
        }
    }

    /// A slot that is free, or freed by pushing another page out at `at`.
    pub(super) fn slot_for<E: Effects>(
        &mut self,
        at: Ps,
        lpn: u32,
        keep: Option<u32>,
        effects: &mut E,
    ) -> Option<u32> {
        if let Some(slot) = self.cache.take_free(lpn) {
            return Some(slot);
        }
        let evicted = self.cache.evict(lpn, at, keep);
        self.stats.policy_refused = self.cache.refused();
        let evicted = evicted?;
        self.pushed_out(at, &evicted, keep.is_some(), effects);
        Some(evicted.slot)
    }

    /// Lets a page go that the policy has no more use for after a hit.
    pub(super) fn shed<E: Effects>(&mut self, at: Ps, lpn: u32, effects: &mut E) {
        while let Some(evicted) = self.cache.shed(lpn, at) {
            self.pushed_out(at, &evicted, false, effects);
        }
    }

    /// Counts a page that made room, or `for_prefetch` room for one that nobody asked for.
    fn pushed_out<E: Effects>(
        &mut self,
        at: Ps,
        evicted: &Evicted,
        for_prefetch: bool,
        effects: &mut E,
    ) {
        self.stats.evictions += 1;
        self.stats.dirty_evictions += u64::from(self.let_go(at, evicted, effects));
        self.prefetch
            .evicted(evicted.lpn, !evicted.unused, for_prefetch, &mut self.stats);
    }

    /// Takes a page that has left the cache from the host, and programs it if it was written, or if
    /// the cache writes back all. Says whether it was written.
    pub(super) fn let_go<E: Effects>(
        &mut self,
        at: Ps,
        evicted: &Evicted,
        effects: &mut E,
    ) -> bool {
        let written = effects.unmap(Lpn(evicted.lpn));
        self.stats.prefetch_unused += u64::from(evicted.unused);
        let dirty = evicted.dirty || written;
        if let Some(lines) = &mut self.lines {
            lines.evict(evicted.slot);
        }
        if dirty || self.config.cache.programs_clean {
            self.stats.clean_write_backs += u64::from(!dirty);
            if let Some(dram) = &mut self.dram {
                dram.move_page(at, evicted.slot, Op::Read);
            }
            if let Some(lines) = &mut self.lines {
                lines.program(evicted.slot);
            }
            self.write_behind(at, evicted.lpn);
        }
        self.back.contents.leave(evicted.lpn);
        dirty
    }

    /// Reads the page into the slot. Returns when the host can have it.
    pub(super) fn fill(
        &mut self,
        slot: u32,
        start: Ps,
        lpn: u32,
        fill: Fill,
        parts: &mut Parts,
    ) -> Ps {
        let read_at = self.back.read(start, lpn, parts, &mut self.stats);
        parts.dram = self.config.cache.hit_latency;
        let ready_at = read_at + parts.dram;
        self.mshr.take(start, ready_at);
        self.cache.insert(slot, lpn, ready_at, fill);
        self.stats.fills += 1;
        self.back.contents.fill(lpn);
        let lines = self.lines_per_page() as u32;
        self.back.contents.merge(lpn, self.log.as_ref(), lines);
        if let Some(dram) = &mut self.dram {
            dram.move_page(ready_at, slot, Op::Write);
        }
        if let Some(lines) = &mut self.lines {
            lines.fill(slot);
        }
        ready_at
    }
}
