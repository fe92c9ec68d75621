//! What happens at an access, in order: front, log, cache, flash.

use super::advice::Advice;
use super::arrivals::Arrivals;
use super::callers::Callers;
use super::expander::Expander;
use super::front::Front;
use super::observer::Observer;
use super::storage::Storage;
use crate::cache::{External, Fill, Found, Peek};
use crate::config::{DeviceConfig, Settings, StoreMiss};
use crate::nand::Served;
use crate::parts::Parts;
use crate::prefetch::{Outcome, Prefetcher, Reach, Seen};
use crate::request::{Completion, Effects, Op, Request, ServedBy, Trigger};
use sluice_units::{Lpn, Ps, Slot};

/// The stages of a device.
pub(super) struct Pipeline<O> {
    pub front: Front,
    pub storage: Storage<O>,
    pub expander: Option<Expander>,
    pub prefetch: Prefetcher,
    /// What the host has said of its accesses.
    pub advice: Advice,
    store_miss: StoreMiss,
    /// Whether a store waits for its program.
    pub awaits_programs: bool,
    /// Whether a load that misses leaves the cache as it is.
    loads_around: bool,
    /// Whether a hit has more to do than to be counted.
    watches_hits: bool,
    /// Whose access is being served, if anybody cares and said.
    pub callers: Callers,
}

/// The prefetcher of these settings.
fn prefetcher(config: &DeviceConfig) -> Prefetcher {
    let settings = &config.prefetch;
    let reach = Reach {
        degree: settings.degree,
        distance: settings.distance,
    };
    let throttle = settings.throttle.as_ref();
    Prefetcher::new(settings.policy, config.raw(), reach, throttle)
}

impl<O: Observer> Pipeline<O> {
    pub fn new(config: &DeviceConfig, seed: u64, policy: Option<Box<dyn External>>) -> Pipeline<O> {
        let mut pipeline = Pipeline {
            front: Front::new(config),
            storage: Storage::new(config, seed, policy),
            expander: Expander::new(config),
            prefetch: prefetcher(config),
            advice: Advice::new(config),
            store_miss: config.cache.store_miss,
            awaits_programs: config.cache.awaits_programs,
            loads_around: config.cache.loads_around,
            watches_hits: false,
            callers: Callers::default(),
        };
        pipeline.watch_hits();
        pipeline
    }

    fn watch_hits(&mut self) {
        self.watches_hits = self.storage.cache.watches_lines() || self.storage.dram.has_banks();
    }

    /// What a store to a page that is not cached does.
    pub fn store_miss(&self) -> StoreMiss {
        self.store_miss
    }

    /// Takes the latencies of these settings, and how many pages can be pinned.
    pub fn retune(&mut self, settings: &Settings) {
        self.front.retime(settings);
        self.storage.dram.retime(settings);
        self.storage.cache.limit_pins(settings.cache.pins_per_set);
    }

    /// Puts the cached pages under the policy of these settings.
    pub fn change_policy(&mut self, config: &DeviceConfig, seed: u64) {
        self.storage.cache.change_policy(config, seed);
        self.watch_hits();
    }

    /// Takes another prefetcher, which has learned nothing yet. One of the caller's stays, if it
    /// is to.
    pub fn change_prefetcher(&mut self, config: &DeviceConfig, stays: bool) {
        self.prefetch.change_to(prefetcher(config), stays);
        self.storage.arrivals = Arrivals::new(&config.prefetch);
        self.advice.retune(config);
    }

    /// Takes the time of a request about a page, and lets what was due before happen first. The
    /// host learns of no page that leaves; see [`Device::land`](super::Device::land).
    ///
    /// # Panics
    /// If the page is not on the device.
    pub fn begin(&mut self, now: Ps, lpn: Lpn) -> &mut Storage<O> {
        self.advance(now, &mut ());
        self.storage.commanded();
        self.front.assert_known(lpn);
        &mut self.storage
    }

    /// Takes the time of a request, and lets what was due before happen first.
    pub fn advance<E: Effects>(&mut self, now: Ps, effects: &mut E) -> Option<Ps> {
        self.storage.take_time(now);
        let next = self.land(self.storage.now(), effects);
        self.storage.advance(now);
        next
    }

    /// Serves a load or store at `now`.
    ///
    /// All but a plain hit is done out of line, so that hits have the registers to themselves.
    #[inline]
    pub fn access<E: Effects>(&mut self, now: Ps, req: Request, effects: &mut E) -> Completion {
        let lpn = self.front.page_of(req.addr);
        self.storage.take_time(now);
        let store = req.op == Op::Write;
        self.storage.stats.loads += u64::from(!store);
        self.storage.stats.stores += u64::from(store);
        if self.storage.has_more_to_look_at()
            && let Some(completion) = self.look_before_cache(lpn, req, effects)
        {
            return completion;
        }
        let mut parts = self.front.parts();
        let at = self.storage.now() + parts.protocol + parts.indexing;
        let Some(found) = self.storage.cache.access(at, lpn, store) else {
            return self.miss(lpn, req, effects);
        };
        if store {
            self.storage.back.observer().stored(lpn);
        }
        if found.ready_at > at {
            return self.merge(at, lpn, req, found, effects);
        }
        if found.first_use.is_some() | found.reactivated || found.surplus > 0 || self.watches_hits {
            return self.watched_hit(at, lpn, req, found, effects);
        }
        self.storage.stats.hits += 1;
        parts.dram = self.storage.dram.latency();
        self.complete(parts, req.op, ServedBy::CacheHit, false)
    }

    /// Ends an access that took the time of its parts, and was or was not estimated to take long.
    #[inline]
    fn complete(
        &mut self,
        mut parts: Parts,
        op: Op,
        served_by: ServedBy,
        expects_long: bool,
    ) -> Completion {
        let now = self.storage.now();
        parts.protocol += self.front.transfer(now, parts.total(), op);
        let wait = parts.total();
        self.storage.stats.latency += wait;
        self.storage.stats.parts += parts;
        Completion {
            done_at: now + wait,
            served_by,
            hint: self.front.hint(wait, expects_long),
            was_prefetched: false,
        }
    }

    /// Serves a hit that has more to do: the page was prefetched, or is watched, or DRAM has banks.
    #[inline(never)]
    fn watched_hit<E: Effects>(
        &mut self,
        at: Ps,
        lpn: Lpn,
        req: Request,
        found: Found,
        effects: &mut E,
    ) -> Completion {
        self.storage.stats.hits += 1;
        let mut parts = self.front.parts();
        parts.dram = self.storage.dram.access(at, found.slot, req.addr, req.op);
        self.count_line(found.slot, req);
        self.await_store(found.ready_at, found.slot, lpn, req, &mut parts);
        let completion = self.complete(parts, req.op, ServedBy::CacheHit, false);
        self.used(at, completion, lpn, req, &found, effects)
    }

    /// Serves an access to a page that is on its way for an earlier access or a prefetch.
    #[inline(never)]
    fn merge<E: Effects>(
        &mut self,
        at: Ps,
        lpn: Lpn,
        req: Request,
        found: Found,
        effects: &mut E,
    ) -> Completion {
        self.storage.stats.mshr_merges += 1;
        let expects_long = self.expects_long(lpn, 0);
        let mut parts = self.front.parts();
        parts.dram = self.storage.dram.latency();
        // A store that leaves its line with the MSHR entry waits for nothing.
        if !(self.store_miss == StoreMiss::Merge && req.op == Op::Write) {
            let start = self.front.merge_starts(at);
            parts.stall = start - at;
            self.storage.stats.mshr_stalls += u64::from(start > at);
            parts.merge = found.ready_at - (start + parts.dram);
            self.front
                .take_request(start, start + parts.dram + parts.merge);
        }
        self.count_line(found.slot, req);
        self.await_store(found.ready_at, found.slot, lpn, req, &mut parts);
        let completion = self.complete(parts, req.op, ServedBy::MshrMerge, expects_long);
        self.used(at, completion, lpn, req, &found, effects)
    }

    /// Does what follows from the use of a cached page, as far as anybody cares.
    fn used<E: Effects>(
        &mut self,
        at: Ps,
        completion: Completion,
        lpn: Lpn,
        req: Request,
        found: &Found,
        effects: &mut E,
    ) -> Completion {
        let at_flash = completion.done_at.max(found.ready_at);
        self.store_through(at_flash, found.slot, lpn, req);
        self.evict_surplus(at, lpn, found.surplus, effects);
        self.storage.stats.reactivated += u64::from(found.reactivated);
        if let Some(by) = found.first_use {
            let outcome = Outcome::of_use(found.ready_at > at);
            self.prefetch_after(self.seen(at, lpn, req.op, outcome), Some(by), effects);
        }
        Completion {
            was_prefetched: found.first_use.is_some(),
            ..completion
        }
    }

    /// What the prefetcher sees of an access.
    fn seen(&self, at: Ps, lpn: Lpn, op: Op, outcome: Outcome) -> Seen {
        Seen {
            at,
            lpn,
            outcome,
            is_store: op == Op::Write,
            thread: self.callers.current(),
        }
    }

    /// Accesses come from this caller from now on, as the host calls it, or from nobody known.
    #[inline]
    pub fn by(&mut self, caller: Option<u64>) {
        if self.asks_who() && self.callers.change(caller) {
            self.storage.cache.by(self.callers.current());
        }
    }

    /// Whether a policy or prefetcher from outside decides, and so needs to know whose accesses
    /// come.
    #[inline]
    pub fn asks_who(&self) -> bool {
        self.storage.cache.has_external_policy() || self.prefetch.is_external()
    }

    /// Notes the line of an access, before a program can count the page's lines.
    fn count_line(&mut self, slot: Slot, req: Request) {
        if self.storage.cache.counts_lines() {
            let line = self.front.line_of(req.addr);
            let is_store = req.op == Op::Write;
            self.storage.cache.count_line(slot, line, is_store);
        }
    }

    /// Writes a store through at `at`, unless it has waited for its program.
    fn store_through(&mut self, at: Ps, slot: Slot, lpn: Lpn, req: Request) {
        let goes_through = req.op == Op::Write && self.storage.cache.writes_through();
        if goes_through && !self.awaits_programs {
            self.storage.write_through(at, slot, lpn);
        }
    }

    /// Lets the pages land that have arrived, and serves an access that the log serves.
    #[inline(never)]
    fn look_before_cache<E: Effects>(
        &mut self,
        lpn: Lpn,
        req: Request,
        effects: &mut E,
    ) -> Option<Completion> {
        let at = self.storage.now() + self.front.parts_with_log().total();
        self.land(at, effects);
        match self.storage.has_log() {
            true => self.access_log(at, lpn, req, effects),
            false => None,
        }
    }

    /// Serves an access that the log serves, at `at`: every store, and a load whose line it has and
    /// whose page is not in the cache. The log and the cache are looked up side by side.
    fn access_log<E: Effects>(
        &mut self,
        at: Ps,
        lpn: Lpn,
        req: Request,
        effects: &mut E,
    ) -> Option<Completion> {
        self.storage.run_log(at);
        let line = self.front.line_of(req.addr);
        if req.op == Op::Write {
            let appended = self.storage.append(at, at, lpn, line)?;
            let mut parts = self.front.parts_of_append(effects.indexes_behind());
            parts.stall = appended.at - at;
            parts.dram = appended.dram;
            let first_use = self.update_cached(at, lpn, req, effects);
            let completion = self.complete(parts, req.op, ServedBy::WriteLog, false);
            return Some(Completion {
                was_prefetched: first_use,
                ..completion
            });
        }
        // A cached page is answered from the cache: every store went there too. One on its way may
        // have a store that the log did not take.
        let found_at = self.storage.now() + self.front.parts().total();
        let found = self.storage.cache.peek(lpn);
        let may_be_newer = |found: &Peek| found.is_dirty && self.storage.is_log_over();
        if found.is_some_and(|found| found.ready_at <= found_at || may_be_newer(&found)) {
            return None;
        }
        let mut parts = self.front.parts_with_log();
        parts.dram = self.storage.load_logged(at, lpn, line)?;
        self.storage.stats.write_log.hits += 1;
        Some(self.complete(parts, req.op, ServedBy::WriteLog, false))
    }

    /// Lets a store change its page in the cache, which stays clean: the log has the line. Says
    /// whether it is the first use of a prefetched page.
    ///
    /// The store is done when the log has it: the cache's copy is written behind it.
    fn update_cached<E: Effects>(
        &mut self,
        at: Ps,
        lpn: Lpn,
        req: Request,
        effects: &mut E,
    ) -> bool {
        let Some(found) = self.storage.cache.access_logged(at, lpn) else {
            return false;
        };
        let is_arriving = found.ready_at > at;
        let line = self.front.line_of(req.addr);
        self.storage.cache.count_line(found.slot, line, false);
        // A page on its way takes the line from its fill.
        if !is_arriving {
            self.storage.dram.access(at, found.slot, req.addr, req.op);
        }
        self.storage.back.observer().stored(lpn);
        self.evict_surplus(at, lpn, found.surplus, effects);
        self.storage.stats.reactivated += u64::from(found.reactivated);
        if let Some(by) = found.first_use {
            let outcome = Outcome::of_use(is_arriving);
            self.prefetch_after(self.seen(at, lpn, req.op, outcome), Some(by), effects);
        }
        found.first_use.is_some()
    }

    /// Serves an access to a page that is not in the cache.
    #[inline(never)]
    fn miss<E: Effects>(&mut self, lpn: Lpn, req: Request, effects: &mut E) -> Completion {
        if let Some(expander) = &mut self.expander {
            let mut parts = self.front.parts_without_cache();
            let at = self.storage.now() + parts.protocol;
            let (start, time) = expander.access(at, req);
            (parts.stall, parts.dram) = (start - at, time);
            self.storage.stats.hits += 1;
            return self.complete(parts, req.op, ServedBy::CacheHit, false);
        }
        self.storage.count_miss(lpn);
        self.storage.pass();
        let expects_long = self.expects_long(lpn, 1);
        let at = self.storage.now() + self.front.parts_with_log().total();
        let is_store = req.op == Op::Write;
        self.storage.cache.begin(at, Trigger::Demand, is_store);
        let parts = match req.op {
            Op::Write if self.store_miss == StoreMiss::Whole => self.write_whole(lpn),
            Op::Write if self.store_miss == StoreMiss::Around => self.pass_by(at, lpn, req.op),
            Op::Read if self.loads_around => self.pass_by(at, lpn, req.op),
            Op::Read | Op::Write => self.bring_in(at, lpn, req, effects),
        };
        let completion = self.complete(parts, req.op, ServedBy::Flash, expects_long);
        self.prefetch_after(self.seen(at, lpn, req.op, Outcome::Miss), None, effects);
        completion
    }

    /// Brings the page in for an access, or serves it without if there is no room, as flash is worn
    /// out. Returns where its time goes.
    fn bring_in<E: Effects>(&mut self, at: Ps, lpn: Lpn, req: Request, effects: &mut E) -> Parts {
        let store = req.op == Op::Write;
        let from = self.front.miss_starts(at);
        let Some((slot, start)) = self.make_room(at, from, lpn, effects) else {
            return self.pass_by(at, lpn, req.op);
        };
        effects.cached(lpn);
        let fill = match store && !self.storage.cache.writes_through() {
            true => Fill::Write,
            false => Fill::Read,
        };
        let (ready_at, served) = self.fill(slot, start, lpn, fill);
        let mut parts = self.front.parts_with_log();
        parts.stall = start - at;
        parts.dram = self.storage.dram.latency();
        // A store that leaves its line with the MSHR entry does not wait for flash.
        if !(store && self.store_miss == StoreMiss::Merge) {
            parts.wait_for(&served);
            self.front.take_request(start, ready_at);
        }
        self.prefetch.arrives(ready_at, lpn, lpn);
        if store {
            self.storage.back.observer().stored(lpn);
        }
        self.count_line(slot, req);
        self.store_through(ready_at, slot, lpn, req);
        self.await_store(ready_at, slot, lpn, req, &mut parts);
        parts
    }

    /// Whether an access to a page that is not there yet is estimated to wait long (SkyByte section
    /// III-A), if hints come from estimates. `reads`: see `Back::estimate`.
    #[inline]
    fn expects_long(&mut self, lpn: Lpn, reads: u64) -> bool {
        if !self.front.estimates() || !self.storage.back.has(lpn) {
            return false;
        }
        let at = self.storage.now() + self.front.parts_with_log().total();
        self.storage.pass();
        let estimate = self.storage.back.estimate(at, lpn, reads);
        estimate.is_some_and(|estimate| estimate.gc || self.front.is_long(estimate.wait))
    }

    /// Evicts the pages that must leave because of a hit on `lpn`.
    fn evict_surplus<E: Effects>(&mut self, at: Ps, lpn: Lpn, surplus: u32, effects: &mut E) {
        for _ in 0..surplus {
            if let Some(victim) = self.storage.cache.evict_for_hit(lpn, at)
                && self.storage.evicted(at, &victim, effects)
            {
                self.prefetch
                    .evicted(&victim, false, &mut self.storage.stats);
            }
        }
    }

    /// Reads the page into the slot. Says when the host can have it, and what flash took for it.
    pub fn fill(&mut self, slot: Slot, start: Ps, lpn: Lpn, fill: Fill) -> (Ps, Served) {
        let (ready_at, served) = self.storage.fill(slot, start, lpn, fill);
        self.front.take_entry(start, ready_at);
        (ready_at, served)
    }
}
