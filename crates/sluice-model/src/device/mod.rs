//! The device: what happens at an access, in order.

mod back;
mod balance;
mod block;
mod command;
mod contents;
mod dram;
mod hint;
mod lines;
mod log;
mod memory;
mod migration;
mod miss;
mod prefetch;
mod tune;

use crate::cache::{Cache, External, Found};
use crate::config::{ConfigError, DeviceConfig, HintRule, StoreMiss, WritePolicy};
use crate::ftl::WearReport;
use crate::mshr::{Mshr, Requests};
use crate::parts::Parts;
use crate::prefetch::{Outcome, Prefetcher};
use crate::request::{Completion, Effects, Op, Request, ServedBy};
use crate::stats::Stats;
use crate::write_log::WriteLog;
use back::Back;
use dram::CacheDram;
use memory::Memory;
use sluice_units::{LINE_BYTES, Lpn, Ps};

pub use block::{BlockCompletion, BlockOp, BlockRequest};
pub use command::{Command, Done, Refused};
pub use lines::Lines;
pub use migration::Taken;
pub use tune::{TUNABLE, is_tunable};

/// A CXL-SSD. A function of its state, the requests and the times it is given; nothing else.
///
/// Time is the caller's. A `now` before one that was given earlier counts as the later one, so
/// that threads which raced to the device cannot turn its time back.
pub struct Device {
    config: DeviceConfig,
    now: Ps,
    cache: Cache,
    prefetch: Prefetcher,
    mshr: Mshr,
    requests: Requests,
    back: Back,
    log: Option<WriteLog>,
    lines: Option<Lines>,
    memory: Option<Memory>,
    dram: Option<CacheDram>,
    stats: Stats,
    /// How much longer a lookup takes that asks the write log too.
    log_index_extra: Ps,
    /// Whether there is a prefetcher to ask.
    prefetches: bool,
    /// Whether the access being served is expected to wait long.
    expects_long: bool,
    /// Whether a store leaves its page dirty.
    marks_dirty: bool,
    /// Whether a store writes through, or lines are counted.
    watches_lines: bool,
    /// Whether a hit has more to do than to be counted.
    watches_hits: bool,
}

impl Device {
    /// A device as it leaves the factory, or preconditioned if the configuration says so.
    ///
    /// Memory for the maps is reserved here, 12 to 17 bytes for each page, and touched when used.
    /// Nothing is allocated later.
    ///
    /// # Errors
    /// [`ConfigError::Impossible`] if this machine cannot address so many pages;
    /// [`ConfigError::Plugin`] if `cache.policy` is a shared object: the caller loads it.
    pub fn new(config: &DeviceConfig, seed: u64) -> Result<Device, ConfigError> {
        match &config.cache.plugin {
            None => Device::build(config, seed, None),
            Some(path) => Err(ConfigError::Plugin {
                path: path.clone(),
                why: "this program does not load shared objects".to_owned(),
            }),
        }
    }

    /// The same with a policy of the caller's in the place of `cache.policy`.
    ///
    /// Its answers are checked: see [`Stats::policy_refused`].
    ///
    /// # Errors
    /// See [`Device::new`].
    pub fn with_policy(
        config: &DeviceConfig,
        seed: u64,
        policy: Box<dyn External>,
    ) -> Result<Device, ConfigError> {
        Device::build(config, seed, Some(policy))
    }

    fn build(
        config: &DeviceConfig,
        seed: u64,
        policy: Option<Box<dyn External>>,
    ) -> Result<Device, ConfigError> {
        if usize::try_from(config.capacity().0).is_err() {
            return Err(ConfigError::Impossible {
                settings: vec![("device.capacity", config.capacity().to_string())],
                message: format!("this machine addresses {} bytes at most", usize::MAX),
            });
        }
        let marks_dirty = config.cache.write == WritePolicy::Back;
        let track_lines = config.cache.track_lines;
        let watches_lines = track_lines || !marks_dirty;
        let cache = Cache::new(config, seed, policy);
        let log = config.write_log.as_ref();
        let log_index = log.map(|log| log.index_latency);
        let lines_per_page = (config.page_bytes() / LINE_BYTES) as u32;
        let mut back = Back::new(config, seed);
        if config.hint == HintRule::Queue {
            back.watch_queues();
        }
        Ok(Device {
            now: Ps::ZERO,
            watches_hits: watches_lines || cache.sheds || config.dram.is_some(),
            cache,
            prefetch: Prefetcher::new(config),
            mshr: Mshr::new(config.cache.mshr_entries),
            requests: Requests::new(config.cache.mshr_requests),
            back,
            log: log.map(|log| WriteLog::new(log, lines_per_page)),
            lines: track_lines.then(|| Lines::new(config)),
            memory: Memory::new(config),
            dram: CacheDram::new(config),
            stats: Stats::default(),
            log_index_extra: log_index.map_or(Ps::ZERO, |log| log - config.cache.index_latency),
            prefetches: config.prefetch.policy.info.name != "none",
            expects_long: false,
            marks_dirty,
            watches_lines,
            config: config.clone(),
        })
    }

    /// Serves a load or store at `now`.
    ///
    /// The request is at the cache after `device.protocol_latency` and `cache.index_latency`. A
    /// hit is done `cache.hit_latency` later. A miss makes room, telling the host through
    /// `effects`, reads the page from flash, and is done `cache.hit_latency` after that; it may
    /// also start prefetches. A page that is on its way is done when its fill is, or as a hit if
    /// that is later. A memory expander serves every access as a hit. What a store does besides
    /// is up to `cache.write` and `cache.store_miss`.
    ///
    /// # Panics
    /// If the address is not below the capacity.
    #[inline]
    pub fn access<E: Effects>(&mut self, now: Ps, req: Request, effects: &mut E) -> Completion {
        let lpn = self.lpn_of(req.addr);
        self.now = self.now.max(now);
        let store = req.op == Op::Write;
        self.stats.loads += u64::from(!store);
        self.stats.stores += u64::from(store);
        if self.log.is_some()
            && let Some(completion) = self.access_log(lpn, req, effects)
        {
            return completion;
        }
        let mut parts = self.front_parts();
        let at = self.now + parts.protocol + parts.indexing;
        let Some(found) = self.cache.hit(lpn, store & self.marks_dirty) else {
            return self.miss(at + self.log_index_extra, lpn, req, effects);
        };
        if store {
            self.back.contents.store(lpn);
        }
        if found.ready_at > at || found.first_use || self.watches_hits {
            return self.special_hit(at, lpn, req, found, effects);
        }
        self.stats.hits += 1;
        parts.dram = self.config.cache.hit_latency;
        let done_at = at + parts.dram;
        self.count_latency(parts, done_at);
        self.completion(done_at, ServedBy::CacheHit, false)
    }

    /// A hit that has more to do: the page is on its way, was prefetched, or is watched, or its
    /// DRAM has banks.
    fn special_hit<E: Effects>(
        &mut self,
        at: Ps,
        lpn: u32,
        req: Request,
        found: Found,
        effects: &mut E,
    ) -> Completion {
        let mut parts = self.front_parts();
        parts.dram = self.config.cache.hit_latency;
        let served_by = if found.ready_at > at {
            self.stats.mshr_merges += 1;
            self.expect(lpn, 0);
            let leaves_line = self.config.cache.store_miss == StoreMiss::Merge;
            if !(leaves_line && req.op == Op::Write) {
                let start = self.requests.free_at(at);
                parts.stall = start - at;
                self.stats.mshr_stalls += u64::from(start > at);
                parts.merge = found.ready_at - (start + parts.dram);
                self.requests.take(start, start + parts.dram + parts.merge);
            }
            ServedBy::MshrMerge
        } else {
            self.stats.hits += 1;
            if let Some(dram) = &mut self.dram {
                parts.dram = dram.access(at, found.slot, req.addr, req.op);
            }
            ServedBy::CacheHit
        };
        let done_at = self.now + parts.total();
        self.count_latency(parts, done_at);
        if self.watches_lines {
            self.watch(done_at.max(found.ready_at), found.slot, lpn, req);
        }
        if self.cache.sheds {
            self.shed(at, lpn, effects);
        }
        if found.first_use {
            let outcome = match served_by {
                ServedBy::CacheHit => Outcome::FirstUse,
                _ => Outcome::LateUse,
            };
            self.prefetch_after(at, lpn, outcome, effects);
        }
        self.completion(done_at, served_by, found.first_use)
    }

    /// Notes the line of an access, and writes a store through at `at`.
    fn watch(&mut self, at: Ps, slot: u32, lpn: u32, req: Request) {
        let store = req.op == Op::Write;
        if let Some(lines) = &mut self.lines {
            let line = (req.addr & (self.config.page_bytes() - 1)) / LINE_BYTES;
            lines.access(slot, line, store);
        }
        if store && !self.marks_dirty {
            self.stats.write_throughs += 1;
            if let Some(lines) = &mut self.lines {
                lines.program(slot);
            }
            self.back.pass(self.now, &mut self.stats);
            self.write_behind(at, lpn);
            // The whole page went, with what the host may have reported late.
            self.cache.set_dirty(lpn, false);
        }
    }

    /// Lets background work go on up to `now`.
    pub fn advance<E: Effects>(&mut self, now: Ps, _effects: &mut E) {
        self.catch_up(now);
        self.mshr.retire(self.now);
    }

    /// Begins to compact what is in the write log, in the background, although it is not full.
    pub fn compact_log(&mut self, now: Ps) {
        self.catch_up(now);
        let now = self.now;
        if let Some((log, mut rest, stats)) = self.log_and_rest() {
            log.close(now, &mut rest, stats);
        }
    }

    /// Comes to rest, if it is left alone: the write log is compacted as a whole, and the flash
    /// array works off what it has been asked for. Returns when that is done, which is its time
    /// from then on.
    pub fn settle(&mut self, now: Ps) -> Ps {
        self.catch_up(now);
        let now = self.now;
        let compacted = self.log_and_rest().map_or(now, |(log, mut rest, stats)| {
            log.settle(now, &mut rest, stats)
        });
        self.catch_up(compacted.max(self.back.idle_at()));
        self.mshr.retire(self.now);
        self.now
    }

    /// The host no longer wants the page's contents (TRIM): no write-back, no place in flash.
    ///
    /// The host unmaps the page itself: `effects` is not called for it. A pin ends with it.
    ///
    /// # Panics
    /// If the page is not on the device.
    pub fn discard(&mut self, now: Ps, lpn: Lpn) {
        self.catch_up(now);
        let lpn = self.known(lpn);
        self.stats.trims += 1;
        self.drop_cached(lpn);
        self.trim_behind(lpn);
    }

    /// Takes the time of a request, and lets what was due before happen first.
    fn catch_up(&mut self, now: Ps) {
        self.now = self.now.max(now);
        self.run_log(self.now);
        self.back.pass(self.now, &mut self.stats);
    }

    /// Forgets a cached page. Says whether it was cached.
    fn drop_cached(&mut self, lpn: u32) -> bool {
        let Some(dropped) = self.cache.take_out(lpn) else {
            return false;
        };
        self.back.contents.leave(lpn);
        self.stats.drops += 1;
        self.stats.pins_dropped += u64::from(dropped.pinned);
        self.stats.prefetch_unused += u64::from(dropped.unused);
        true
    }

    /// The host found out, after the page had left the cache, that it had been written.
    ///
    /// Costs a NAND program, unless the page is cached again: then it is marked as written.
    ///
    /// # Panics
    /// If the page is not on the device.
    pub fn write_back(&mut self, now: Ps, lpn: Lpn) {
        self.catch_up(now);
        let lpn = self.known(lpn);
        self.drop_logged(lpn);
        // A memory expander has nothing behind it: what was written is where it belongs.
        if self.memory.is_none() && !self.cache.set_dirty(lpn, true) {
            self.stats.late_write_backs += 1;
            self.write_behind(self.now, lpn);
        }
    }

    /// Whether the page is in the cache or on its way there.
    pub fn is_cached(&self, lpn: Lpn) -> bool {
        lpn.0 < self.config.pages && (self.memory.is_some() || self.cache.contains(lpn.0))
    }

    /// From when on a host has hits on the page, if it is in the cache or on its way there.
    pub fn cached_at(&self, lpn: Lpn) -> Option<Ps> {
        if self.memory.is_some() {
            return Some(Ps::ZERO);
        }
        if lpn.0 >= self.config.pages {
            return None;
        }
        self.cache.peek(lpn.0).map(|found| found.ready_at)
    }

    /// Pages in the cache or on their way there.
    pub fn cached_pages(&self) -> u64 {
        self.cache.len()
    }

    /// Pages that are pinned.
    pub fn pinned_pages(&self) -> u64 {
        self.cache.pins()
    }

    /// Whether the page is pinned.
    pub fn is_pinned(&self, lpn: Lpn) -> bool {
        lpn.0 < self.config.pages && self.cache.peek(lpn.0).is_some_and(|found| found.is_pinned)
    }

    /// When a fill wanted at `now` could start: when an MSHR entry is free.
    pub fn can_fill_at(&mut self, now: Ps) -> Ps {
        let now = self.now.max(now);
        self.mshr.retire(now);
        self.mshr.free_at(now)
    }

    /// The host maps a page that no access asked for, so that its accesses will not be seen: a
    /// prefetch of it counts neither as used nor as unused.
    pub fn expose(&mut self, lpn: Lpn) {
        self.cache.forget_prefetch(lpn.0);
    }

    /// What is known of lines, if `cache.track_lines` is on.
    pub fn lines(&self) -> Option<&Lines> {
        self.lines.as_ref()
    }

    /// Whether too many flash blocks have failed: the device can be read, and refuses writes.
    pub fn is_read_only(&self) -> bool {
        self.back.is_read_only()
    }

    /// How worn the flash blocks are. Looks at every block.
    pub fn wear(&self) -> WearReport {
        self.back.wear()
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
        let lpn = addr >> self.config.page_shift;
        assert!(lpn < self.pages(), "address {addr:#x} is not on the device");
        lpn as u32
    }

    fn known(&self, lpn: Lpn) -> u32 {
        assert!(lpn.0 < self.config.pages, "page {lpn} is not on the device");
        lpn.0
    }

    /// The parts of every access: the link and the index.
    fn front_parts(&self) -> Parts {
        Parts {
            protocol: self.config.protocol_latency,
            indexing: self.config.cache.index_latency,
            ..Parts::default()
        }
    }

    /// The parts of an access that goes behind the cache, which has asked the write log too.
    fn behind_parts(&self) -> Parts {
        let mut parts = self.front_parts();
        parts.indexing += self.log_index_extra;
        parts
    }

    /// Counts the time of an access that is done at `done_at`.
    #[inline]
    fn count_latency(&mut self, parts: Parts, done_at: Ps) {
        debug_assert_eq!(parts.total(), done_at - self.now, "{parts:?}");
        self.stats.latency += done_at - self.now;
        self.stats.parts += parts;
    }

    fn completion(&mut self, done_at: Ps, served_by: ServedBy, was_prefetched: bool) -> Completion {
        Completion {
            done_at,
            served_by,
            hint: self.hint_for(done_at - self.now),
            was_prefetched,
        }
    }
}

#[cfg(test)]
mod tests;
