//! The device: its stages in order, and what its host can ask of it.
//!
//! An access meets the [`front`], then the [`pipeline`] takes it through the [`storage`]: write
//! log, cache and flash, or to an [`expander`]'s memory. Each of those has state of its own.

mod advice;
mod around;
mod arrivals;
mod back;
mod balance;
mod below_log;
mod block;
mod callers;
mod command;
mod data_cache;
mod dram;
mod error;
mod expander;
mod front;
mod in_line;
mod line_use;
mod migration;
mod missed;
mod observer;
mod pipeline;
mod prefetching;
mod queries;
mod room;
mod storage;
mod tune;
mod write_buffer;

use crate::cache::External;
use crate::config::DeviceConfig;
use crate::contents::{NoContents, Tables};
use crate::prefetch;
use crate::request::{Completion, Effects, Request};
use pipeline::Pipeline;
use sluice_units::{Lpn, Ps};
use tune::Change;

pub use advice::Pattern;
pub use balance::Imbalance;
pub use block::{BlockCompletion, BlockOp, BlockRequest};
pub use callers::CALLERS_MAX;
pub use command::{Command, Done, Refused};
pub use error::DeviceError;
pub use line_use::LineUse;
pub use migration::Promoted;
pub use tune::{check_object, is_tunable, tunable};

/// A CXL-SSD. A function of its state, the requests and the times it is given; nothing else.
///
/// Time is the caller's. A `now` before one that was given earlier counts as the later one, so
/// that threads which raced to the device cannot turn its time back.
pub struct Device {
    config: DeviceConfig,
    pipeline: Pipeline<()>,
}

impl Device {
    /// A device as it leaves the factory, or preconditioned if the configuration says so.
    ///
    /// Memory for the maps is reserved here, 12 to 17 bytes for each page, and touched when used.
    /// Nothing is allocated later.
    ///
    /// # Errors
    /// [`DeviceError::Config`] if this machine cannot address so many pages;
    /// [`DeviceError::Plugin`] if `cache.policy` or `prefetch.policy` is a shared object: the
    /// caller loads it.
    pub fn new(config: &DeviceConfig, seed: u64) -> Result<Device, DeviceError> {
        Device::with_own(config, seed, None, None)
    }

    /// A device with a policy of the caller's in the place of `cache.policy`, and a prefetcher of
    /// the caller's in that of `prefetch.policy`, as far as they are given.
    ///
    /// # Errors
    /// See [`Device::new`]: what is given is no longer to be loaded.
    pub fn with_own(
        config: &DeviceConfig,
        seed: u64,
        policy: Option<Box<dyn External>>,
        prefetcher: Option<Box<dyn prefetch::External>>,
    ) -> Result<Device, DeviceError> {
        let plugins = [
            ("cache.policy", &config.cache.plugin, policy.is_some()),
            (
                "prefetch.policy",
                &config.prefetch.plugin,
                prefetcher.is_some(),
            ),
        ];
        for (key, plugin, is_loaded) in plugins {
            if let Some(path) = plugin
                && !is_loaded
            {
                return Err(DeviceError::Plugin {
                    key,
                    path: path.clone(),
                    why: "this program does not load shared objects".to_owned(),
                });
            }
        }
        let device = Device::build(config, seed, policy)?;
        Ok(match prefetcher {
            Some(prefetcher) => device.with_prefetcher(prefetcher),
            None => device,
        })
    }

    /// A device with a policy of the caller's in the place of `cache.policy`.
    ///
    /// Its answers are checked: see [`Stats::policy_refused`].
    ///
    /// # Errors
    /// See [`Device::new`].
    pub fn with_policy(
        config: &DeviceConfig,
        seed: u64,
        policy: Box<dyn External>,
    ) -> Result<Device, DeviceError> {
        Device::with_own(config, seed, Some(policy), None)
    }

    /// The same device with a prefetcher of the caller's in the place of `prefetch.policy`.
    ///
    /// `prefetch.degree` and the throttle bound it as they do any other: of degree 0 it is not
    /// asked. It stays when parameters change while the device runs, until `prefetch.policy` does.
    #[must_use]
    pub fn with_prefetcher(mut self, prefetcher: Box<dyn prefetch::External>) -> Device {
        self.pipeline.prefetch.bring(prefetcher);
        self.pipeline.callers.prepare();
        self
    }

    fn build(
        config: &DeviceConfig,
        seed: u64,
        policy: Option<Box<dyn External>>,
    ) -> Result<Device, DeviceError> {
        if usize::try_from(config.capacity().0).is_err() {
            let message = format!("this machine addresses {} bytes at most", usize::MAX);
            let impossible = config.raw().impossible(&["device.capacity"], message);
            return Err(impossible.into());
        }
        let mut pipeline = Pipeline::new(config, seed, policy);
        if pipeline.asks_who() {
            pipeline.callers.prepare();
        }
        Ok(Device {
            config: config.clone(),
            pipeline,
        })
    }

    /// Serves a load or store at `now`.
    ///
    /// The request is at the cache after `device.protocol_latency` and `cache.index_latency`. A hit
    /// is done `cache.hit_latency` later. A miss makes room, with the host's part through
    /// `effects`, reads the page from flash, and is done `cache.hit_latency` after that; it may
    /// also start prefetches. A page that is on its way is done when its fill is, or as a hit if
    /// that is later. A memory expander serves every access as a hit. What a store does besides is
    /// up to `cache.write` and `cache.store_miss`.
    ///
    /// # Panics
    /// If the address is not below the capacity.
    #[inline]
    pub fn access<E: Effects>(&mut self, now: Ps, req: Request, effects: &mut E) -> Completion {
        self.pipeline.access(now, req, effects)
    }

    /// The accesses are this thread's or core's from now on, by whatever number the host knows it;
    /// with `None`, of nobody that it knows.
    ///
    /// A policy or prefetcher of the caller's learns it, as [`Event::thread`](crate::cache::Event):
    /// numbered from 0 in the order of their first accesses, the first [`CALLERS_MAX`] of them. For
    /// any other device it does nothing.
    #[inline]
    pub fn by(&mut self, caller: Option<u64>) {
        self.pipeline.by(caller);
    }

    /// Whether [`Device::by`] does anything.
    #[inline]
    pub fn asks_who(&self) -> bool {
        self.pipeline.asks_who()
    }

    /// Lets background work go on up to `now`.
    pub fn advance(&mut self, now: Ps) {
        self.land(now, &mut ());
    }

    /// Lets background work go on up to `now`, and those pages take their places that have arrived.
    /// Says when the next one arrives.
    ///
    /// With `cache.evict_at = fill` pages leave for them, here and at the start of everything else
    /// that has a time. What takes no `effects` does not name them: a host that wants to know calls
    /// this before.
    pub fn land<E: Effects>(&mut self, now: Ps, effects: &mut E) -> Option<Ps> {
        let next = self.pipeline.advance(now, effects);
        self.pipeline.front.retire(self.pipeline.storage.now());
        next
    }

    /// Begins to compact what is in the write log, in the background, although it is not full.
    pub fn compact_log(&mut self, now: Ps) {
        self.pipeline.advance(now, &mut ());
        self.pipeline.storage.close_log();
    }

    /// Comes to rest, if it is left alone: the write log is compacted as a whole, and the flash
    /// array works off what it has been asked for. Returns when that is done, which is its time
    /// from then on.
    pub fn settle(&mut self, mut now: Ps) -> Ps {
        while let Some(next) = self.pipeline.advance(now, &mut ()) {
            now = next;
        }
        self.pipeline.storage.settle();
        let now = self.pipeline.storage.now();
        self.pipeline.front.retire(now);
        now
    }

    /// Carries a command out at `now`.
    ///
    /// # Errors
    /// Why not. Nothing is changed then.
    pub fn command<E: Effects>(
        &mut self,
        now: Ps,
        command: Command,
        effects: &mut E,
    ) -> Result<Done, Refused> {
        command::carry_out(&mut self.pipeline, now, command, effects)
    }

    /// Notes how the host will access `count` pages from `first` on, as far as the device has them.
    /// The note holds until another one, whatever becomes of the pages.
    ///
    /// With [`Pattern::Random`] no access to them sends for another page.
    ///
    /// With [`Pattern::Sequential`] each access that the prefetcher would see sends for the
    /// `prefetch.sequential` pages behind it, as far as they have the same advice. The pages that
    /// it has passed go cold ([`Command::Cold`]), but for the one that it has just left.
    pub fn advise(&mut self, first: Lpn, count: u64, pattern: Pattern) {
        self.pipeline.advice.note(first, count, pattern);
    }

    /// How the host will access a page, as it has said.
    pub fn advice(&self, lpn: Lpn) -> Pattern {
        self.pipeline.advice.of(lpn)
    }

    /// How many pages can be pinned in all sets together.
    pub fn pins_max(&self) -> u64 {
        match self.pipeline.expander {
            Some(_) => 0,
            None => {
                let cache = &self.config.cache;
                u64::from(cache.pages / cache.ways) * u64::from(cache.pins_per_set)
            }
        }
    }

    /// Serves a block request at `now`.
    ///
    /// All pages are asked for at once. Each spends `device.protocol_latency`,
    /// `cache.index_latency` and `cache.hit_latency` besides its time in flash. A write is done
    /// when the data is in the device's DRAM; its programs follow. The host loses its mapping of
    /// pages that are written or trimmed, so that its next load sees what the door did.
    ///
    /// A write that names a plane goes there as long as the plane has room
    /// ([`Stats::placements_missed`] counts the others).
    ///
    /// # Errors
    /// [`Refused::NotOnDevice`], [`Refused::IsMemory`], [`Refused::ReadOnly`],
    /// [`Refused::DevicePlaces`] and [`Refused::NoSuchPlace`]. Nothing is changed then.
    pub fn block<E: Effects>(
        &mut self,
        now: Ps,
        request: BlockRequest,
        effects: &mut E,
    ) -> Result<BlockCompletion, Refused> {
        block::serve(&mut self.pipeline, now, request, effects)
    }

    /// The host no longer wants the page's contents (TRIM): no write-back, no place in flash.
    ///
    /// The host unmaps the page itself: the device calls no effect for it. A pin ends with it.
    ///
    /// # Panics
    /// If the page is not on the device.
    pub fn discard(&mut self, now: Ps, lpn: Lpn) {
        self.pipeline.begin(now, lpn).discard(lpn);
    }

    /// The host found out, after the page had left the cache, that it had been written.
    ///
    /// Costs a NAND program, unless the page is cached again: then it is marked as written.
    ///
    /// # Panics
    /// If the page is not on the device.
    pub fn write_back(&mut self, now: Ps, lpn: Lpn) {
        let is_memory = self.pipeline.expander.is_some();
        let storage = self.pipeline.begin(now, lpn);
        // A memory expander has nothing behind it: what was written is where it belongs.
        if !is_memory {
            storage.written_late(lpn);
        }
    }

    /// The host promotes the page: it has its contents in its own memory from now on. They leave
    /// the cache and the write log, and nothing is programmed. The page's place in flash stays, so
    /// that garbage collection goes on moving it; what is there is stale if the page was dirty.
    ///
    /// The host unmaps the page itself: the device calls no effect for it. A pin ends with it; a
    /// host that leaves pinned pages where they are (SkyByte section IV) asks
    /// [`Device::is_pinned`]. Bringing the lines over is the host's affair, but where the cache's
    /// DRAM has banks, they are read there as a whole. In a memory expander the page stays as it
    /// is, and clean.
    ///
    /// # Panics
    /// If the page is not on the device.
    pub fn promote(&mut self, now: Ps, lpn: Lpn) -> Promoted {
        migration::promote(&mut self.pipeline, now, lpn)
    }

    /// The host demotes the page: it writes it back as a whole, from its own memory. Flash is not
    /// read for it.
    ///
    /// Its lines are stores like any others, so they go where stores go. The write log takes them,
    /// if there is one: the page is copied to the device, which appends every line that is written
    /// (SkyByte sections III-C and III-B). There they replace what the log had of the page, and a
    /// compaction that finds them together programs them without a read. Otherwise they go into the
    /// cache, as a dirty page, or as `cache.write` and `cache.store_miss` say.
    ///
    /// The lines come at once, and are done `device.protocol_latency`, the indices' times and
    /// `cache.hit_latency` later; with each line for itself, if the log is full or in a memory
    /// expander. It is no access: it counts in [`Stats::migration`].
    ///
    /// # Panics
    /// If the page is not on the device.
    pub fn demote<E: Effects>(&mut self, now: Ps, lpn: Lpn, effects: &mut E) -> Completion {
        migration::demote(&mut self.pipeline, now, lpn, effects)
    }

    /// The host demotes the page straight to flash: nothing of it stays in the cache or the write
    /// log, and nobody waits. A memory expander has no flash: the page is there.
    ///
    /// # Panics
    /// If the page is not on the device.
    pub fn demote_to_flash(&mut self, now: Ps, lpn: Lpn) {
        migration::demote_to_flash(&mut self.pipeline, now, lpn);
    }

    /// The host maps a page that no access asked for, so that its accesses will not be seen: a
    /// prefetch of it counts neither as used nor as unused.
    pub fn expose(&mut self, lpn: Lpn) {
        if self.pipeline.front.is_known(lpn) {
            let storage = &mut self.pipeline.storage;
            storage.cache.forget_prefetch(lpn);
            storage.settle_sample(lpn);
        }
    }

    /// Has a host that maps pages map the prefetched ones that have arrived by then. Says when the
    /// next one arrives, if one is on its way.
    ///
    /// It is called before accesses go on at `by`, with pages then mapped by [`Effects::map`]; one
    /// in `prefetch.sample` stays unmapped. With `prefetch.map = touch` nothing is mapped.
    pub fn map_arrived<E: Effects>(&mut self, by: Ps, effects: &mut E) -> Option<Ps> {
        self.pipeline.map_arrived(by, effects)
    }

    /// Gives parameters other values from now on, all or none. Says whether any had another.
    ///
    /// The cache keeps its pages. A new eviction policy, or the same with other parameters, gets
    /// them as newcomers in the order in which the old one would have let them go; it draws from
    /// `seed`. A new prefetcher has learned nothing yet. Latencies hold for what is asked for
    /// from now on. Allocates; everything else in here does not.
    ///
    /// # Errors
    /// What [`RawConfig::set`](crate::RawConfig::set) and `check` find, [`DeviceError::Fixed`] for
    /// what cannot change and [`DeviceError::Plugin`] for a policy or a prefetcher that is a shared
    /// object.
    /// Nothing is changed then.
    pub fn tune(&mut self, pairs: &[(&str, &str)], seed: u64) -> Result<bool, DeviceError> {
        self.tune_within(pairs, seed, Ps::MAX)
    }

    /// Does what [`Device::tune`] does, for somebody who may give no parameter a longer time than
    /// `longest`, but for `device.hint_threshold`, which nothing waits for.
    ///
    /// # Errors
    /// As for [`Device::tune`], and [`DeviceError::TooLong`].
    pub fn tune_within(
        &mut self,
        pairs: &[(&str, &str)],
        seed: u64,
        longest: Ps,
    ) -> Result<bool, DeviceError> {
        let change = Change::check(&self.config, pairs, longest)?;
        change.apply(&mut self.pipeline, seed);
        let is_one = change.is_one();
        self.config = change.config;
        Ok(is_one)
    }

    /// When a fill wanted at `now` could start: when an MSHR entry is free.
    pub fn can_fill_at(&mut self, now: Ps) -> Ps {
        let now = self.pipeline.storage.now().max(now);
        self.pipeline.front.fill_starts(now)
    }

    /// Shows what a device with a random precondition holds at its start, to be kept.
    ///
    /// # Errors
    /// [`NoContents`] if it has another precondition, or if `tables` says so.
    ///
    /// # Panics
    /// If something was written to it.
    pub fn contents(&mut self, tables: &mut dyn Tables) -> Result<(), NoContents> {
        assert_eq!(self.stats().flash_programs, 0, "contents at the start");
        self.pipeline.storage.back.contents(tables)
    }
}

#[cfg(test)]
mod tests;
