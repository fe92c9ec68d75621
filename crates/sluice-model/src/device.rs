//! The device: what happens at an access, in order.

use crate::cache::{Cache, Fill};
use crate::config::{ConfigError, DeviceConfig};
use crate::ftl::Ftl;
use crate::mshr::Mshr;
use crate::nand::Nand;
use crate::prefetch::{AnyPrefetch, Outcome, Picks};
use crate::request::{Completion, Effects, Hint, Op, Request, ServedBy};
use crate::stats::Stats;
use sluice_units::{Lpn, PAGE_BYTES, Ps};

/// A CXL-SSD. A function of its state, the requests and the times it is given; nothing else.
///
/// Time is the caller's. A `now` before one that was given earlier counts as the later one, so
/// that threads which raced to the device cannot turn its time back.
pub struct Device {
    config: DeviceConfig,
    now: Ps,
    cache: Cache,
    prefetch: AnyPrefetch,
    mshr: Mshr,
    ftl: Ftl,
    nand: Nand,
    stats: Stats,
}

impl Device {
    /// A device as it leaves the factory, or preconditioned if the configuration says so.
    ///
    /// Memory for the maps is reserved here, 12 to 17 bytes for each page, and touched when used.
    /// Nothing is allocated later.
    ///
    /// # Errors
    /// [`ConfigError::Impossible`] if this machine cannot address so many pages.
    pub fn new(config: &DeviceConfig, seed: u64) -> Result<Device, ConfigError> {
        if usize::try_from(config.capacity().0).is_err() {
            return Err(ConfigError::Impossible {
                settings: vec![("device.capacity", config.capacity().to_string())],
                message: format!("this machine addresses {} bytes at most", usize::MAX),
            });
        }
        Ok(Device {
            now: Ps::ZERO,
            cache: Cache::new(config, seed),
            prefetch: (config.prefetch.policy.build)(config.prefetch.degree),
            mshr: Mshr::new(config.cache.mshr_entries),
            ftl: Ftl::new(config),
            nand: Nand::new(config),
            stats: Stats::default(),
            config: config.clone(),
        })
    }

    /// Serves a load or store at `now`.
    ///
    /// A hit is done after `cache.hit_latency`. A miss makes room, telling the host through
    /// `effects`, reads the page from flash, and is done `cache.hit_latency` after that; it may
    /// also start prefetches. A page that is on its way is done when its fill is, or after
    /// `cache.hit_latency` if that is later.
    ///
    /// # Panics
    /// If the address is not below the capacity.
    #[inline]
    pub fn access<E: Effects>(&mut self, now: Ps, req: Request, effects: &mut E) -> Completion {
        let lpn = self.lpn_of(req.addr);
        self.now = self.now.max(now);
        let hit_at = self.now + self.config.cache.hit_latency;
        let Some(found) = self.cache.hit(lpn, req.op == Op::Write) else {
            return self.miss(lpn, req.op, effects);
        };
        let served_by = if found.ready_at > self.now {
            self.stats.mshr_merges += 1;
            ServedBy::MshrMerge
        } else {
            self.stats.hits += 1;
            ServedBy::CacheHit
        };
        if found.first_use {
            self.stats.prefetch_used += 1;
            self.prefetch_after(lpn, Outcome::FirstUse, effects);
        }
        self.completion(hit_at.max(found.ready_at), served_by, found.first_use)
    }

    /// Lets background work go on up to `now`.
    pub fn advance<E: Effects>(&mut self, now: Ps, _effects: &mut E) {
        self.now = self.now.max(now);
        self.mshr.retire(self.now);
    }

    /// The host no longer wants the page's contents (TRIM): no write-back, no place in flash.
    ///
    /// The host unmaps the page itself: `effects` is not called for it.
    ///
    /// # Panics
    /// If the page is not on the device.
    pub fn discard(&mut self, now: Ps, lpn: Lpn) {
        self.now = self.now.max(now);
        let lpn = self.lpn_of(lpn.addr());
        self.stats.trims += 1;
        self.stats.prefetch_unused += u64::from(self.cache.discard(lpn));
        self.ftl.trim(lpn);
    }

    /// The host found out, after the page had left the cache, that it had been written.
    ///
    /// Costs a NAND program, unless the page is cached again: then it is marked as written.
    ///
    /// # Panics
    /// If the page is not on the device.
    pub fn write_back(&mut self, now: Ps, lpn: Lpn) {
        self.now = self.now.max(now);
        let lpn = self.lpn_of(lpn.addr());
        if !self.cache.mark_dirty(lpn) {
            self.stats.late_write_backs += 1;
            self.ftl
                .write(self.now, lpn, &mut self.nand, &mut self.stats);
        }
    }

    /// Whether the page is in the cache or on its way there.
    pub fn is_cached(&self, lpn: Lpn) -> bool {
        lpn.0 < self.pages() && self.cache.contains(lpn.0 as u32)
    }

    /// What the device has done so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Pages that the host can address.
    pub fn pages(&self) -> u64 {
        u64::from(self.config.pages)
    }

    /// The configuration it was made with.
    pub fn config(&self) -> &DeviceConfig {
        &self.config
    }

    fn lpn_of(&self, addr: u64) -> u32 {
        let lpn = addr / PAGE_BYTES;
        assert!(lpn < self.pages(), "address {addr:#x} is not on the device");
        lpn as u32
    }

    fn miss<E: Effects>(&mut self, lpn: u32, op: Op, effects: &mut E) -> Completion {
        self.stats.misses += 1;
        let fill = if op == Op::Write {
            Fill::Write
        } else {
            Fill::Read
        };
        let (slot, start) = self.make_room(lpn, effects);
        let done_at = self.fill(slot, start, lpn, fill);
        self.prefetch_after(lpn, Outcome::Miss, effects);
        self.completion(done_at, ServedBy::Flash, false)
    }

    /// Finds a slot for a demanded page, waiting for an MSHR entry and for a way if it must.
    ///
    /// Returns the slot and the time at which the fill can start.
    fn make_room<E: Effects>(&mut self, lpn: u32, effects: &mut E) -> (u32, Ps) {
        self.mshr.retire(self.now);
        let mut start = self.mshr.free_at(self.now);
        self.cache.announce(lpn);
        let slot = loop {
            if let Some(slot) = self.slot_for(start, lpn, None, effects) {
                break slot;
            }
            // Every page of the set is in flight: the first to arrive is the first that can leave.
            let next = self.cache.next_ready(lpn, start);
            start = next.expect("a page that cannot be evicted is in flight");
        };
        self.stats.mshr_stalls += u64::from(start > self.now);
        (slot, start)
    }

    /// A slot that is free, or freed by pushing another page out at `now`.
    fn slot_for<E: Effects>(
        &mut self,
        now: Ps,
        lpn: u32,
        keep: Option<u32>,
        effects: &mut E,
    ) -> Option<u32> {
        if let Some(slot) = self.cache.take_free(lpn) {
            return Some(slot);
        }
        let evicted = self.cache.evict(lpn, now, keep)?;
        let written = effects.unmap(Lpn(u64::from(evicted.lpn)));
        self.stats.evictions += 1;
        self.stats.prefetch_unused += u64::from(evicted.unused);
        if evicted.dirty || written {
            self.stats.dirty_evictions += 1;
            self.ftl
                .write(now, evicted.lpn, &mut self.nand, &mut self.stats);
        }
        Some(evicted.slot)
    }

    /// Reads the page into the slot. Returns when the host can have it.
    fn fill(&mut self, slot: u32, start: Ps, lpn: u32, fill: Fill) -> Ps {
        let served = self.ftl.read(start, lpn, &mut self.nand, &mut self.stats);
        let ready_at = served.done_at + self.config.cache.hit_latency;
        self.mshr.retire(start);
        self.mshr.take(ready_at);
        self.cache.insert(slot, lpn, ready_at, fill);
        ready_at
    }

    /// Asks the prefetcher, and brings in what it picks as far as there is room.
    fn prefetch_after<E: Effects>(&mut self, lpn: u32, outcome: Outcome, effects: &mut E) {
        let mut picks = Picks::new();
        self.prefetch.access(u64::from(lpn), outcome, &mut picks);
        for pick in picks.as_slice() {
            if *pick < self.pages() && !self.cache.contains(*pick as u32) {
                self.prefetch_one(*pick as u32, lpn, effects);
            }
        }
    }

    /// Brings a page in, without waiting for anything and without pushing out the page `keep`.
    fn prefetch_one<E: Effects>(&mut self, lpn: u32, keep: u32, effects: &mut E) {
        self.mshr.retire(self.now);
        if self.mshr.free_at(self.now) > self.now {
            self.stats.prefetch_dropped += 1;
            return;
        }
        self.cache.announce(lpn);
        match self.slot_for(self.now, lpn, Some(keep), effects) {
            Some(slot) => {
                self.fill(slot, self.now, lpn, Fill::Prefetch);
                self.stats.prefetch_issued += 1;
            }
            None => self.stats.prefetch_dropped += 1,
        }
    }

    fn completion(&self, done_at: Ps, served_by: ServedBy, was_prefetched: bool) -> Completion {
        let wait = done_at - self.now;
        let long = wait > self.config.hint_threshold;
        let hint = if long { Hint::LongDelay } else { Hint::None };
        Completion {
            done_at,
            served_by,
            hint,
            was_prefetched,
        }
    }
}
