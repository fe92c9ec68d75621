//! The device: what happens at an access, in order.

mod back;
mod miss;

use crate::cache::Cache;
use crate::config::{ConfigError, DeviceConfig};
use crate::mshr::Mshr;
use crate::parts::Parts;
use crate::prefetch::{AnyPrefetch, Outcome};
use crate::request::{Completion, Effects, Hint, Op, Request, ServedBy};
use crate::stats::Stats;
use back::Back;
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
    back: Back,
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
            back: Back::new(config),
            stats: Stats::default(),
            config: config.clone(),
        })
    }

    /// Serves a load or store at `now`.
    ///
    /// The request is at the cache after `device.protocol_latency` and `cache.index_latency`. A
    /// hit is done `cache.hit_latency` later. A miss makes room, telling the host through
    /// `effects`, reads the page from flash, and is done `cache.hit_latency` after that; it may
    /// also start prefetches. A page that is on its way is done when its fill is, or as a hit if
    /// that is later.
    ///
    /// # Panics
    /// If the address is not below the capacity.
    #[inline]
    pub fn access<E: Effects>(&mut self, now: Ps, req: Request, effects: &mut E) -> Completion {
        let lpn = self.lpn_of(req.addr);
        self.now = self.now.max(now);
        let mut parts = self.front_parts();
        let at = self.now + parts.protocol + parts.indexing;
        let Some(found) = self.cache.hit(lpn, req.op == Op::Write) else {
            return self.miss(at, lpn, req.op, effects);
        };
        let served_by = if found.ready_at > at {
            self.stats.mshr_merges += 1;
            ServedBy::MshrMerge
        } else {
            self.stats.hits += 1;
            ServedBy::CacheHit
        };
        parts.dram = self.config.cache.hit_latency;
        parts.merge = found.ready_at - (at + parts.dram);
        let done_at = at + parts.dram + parts.merge;
        self.count_latency(parts, done_at);
        if found.first_use {
            self.stats.prefetch_used += 1;
            self.prefetch_after(at, lpn, Outcome::FirstUse, effects);
        }
        self.completion(done_at, served_by, found.first_use)
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
        self.back.trim(lpn);
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
            self.back.write(self.now, lpn, &mut self.stats);
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

    /// The parts of every access: the link and the index.
    fn front_parts(&self) -> Parts {
        Parts {
            protocol: self.config.protocol_latency,
            indexing: self.config.cache.index_latency,
            ..Parts::default()
        }
    }

    /// Counts the time of an access that is done at `done_at`.
    #[inline]
    fn count_latency(&mut self, parts: Parts, done_at: Ps) {
        debug_assert_eq!(parts.total(), done_at - self.now, "{parts:?}");
        self.stats.latency += done_at - self.now;
        self.stats.parts += parts;
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
