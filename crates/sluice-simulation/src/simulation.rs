//! A workload on a simulated device, and its result.

use crate::device::{block, flash, lines, served, write_log};
use crate::error::RunError;
use crate::units::PS_PER_S;
use sluice_driver::{Access, Asked, Options, SimResult as Run, Visibility};
use sluice_model::{Device, DeviceConfig, Stats, StoreMiss};
use sluice_replay::AskedStream;
use sluice_results::{
    AccessLatency, Cache, CacheCounts, DeviceParts, Schema, SimKind, SimResult, settings, version,
};
use sluice_streams::Stream;
use std::cell::Cell;

/// Accesses of a stream between two looks at whether to stop: some milliseconds.
pub const STOP_EVERY: u64 = 1 << 16;

/// What to simulate.
pub struct Plan<'a> {
    /// The device's name, for the record.
    pub device: &'a str,
    /// Its checked settings.
    pub config: &'a DeviceConfig,
    /// The workload as it was given, for the record.
    pub workload: &'a str,
    /// What the device sees.
    pub visibility: Visibility,
    /// The seed of the device's random streams.
    pub seed: u64,
    /// Whether the result has the fewest misses that any policy could have had, which [`no_bound`]
    /// says of what there is none. Keeps every access.
    pub bound: bool,
    /// Whether the result has the distribution of the latencies.
    pub histogram: bool,
    /// Accesses before counting begins.
    pub warmup: u64,
}

impl Plan<'_> {
    /// Runs the accesses of each requester to the end, or until `stop` says so: then there is no
    /// result.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn run(
        &self,
        streams: Vec<Stream>,
        stop: impl Fn() -> bool,
    ) -> Result<Option<SimResult>, RunError> {
        let device = sluice_plugin::device(self.config, self.seed)?;
        self.run_on(device, streams, stop)
    }

    /// Runs as [`Plan::run`] does, on a device of the caller's that nobody has used.
    ///
    /// # Errors
    /// [`RunError::ClockEnd`].
    pub fn run_on(
        &self,
        device: Device,
        streams: Vec<Stream>,
        stop: impl Fn() -> bool,
    ) -> Result<Option<SimResult>, RunError> {
        let access = |access: sluice_streams::Access| Access {
            addr: access.addr,
            write: access.write,
        };
        let streams = streams.into_iter().map(|stream| stream.map(access));
        self.drive(device, streams, stop)
    }

    /// Runs as [`Plan::run`] does, with requests by the block door among the accesses.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn run_asked(
        &self,
        streams: Vec<AskedStream>,
        stop: impl Fn() -> bool,
    ) -> Result<Option<SimResult>, RunError> {
        let device = sluice_plugin::device(self.config, self.seed)?;
        self.drive(device, streams.into_iter(), stop)
    }

    fn drive<I: Iterator<Item: Into<Asked>>>(
        &self,
        mut device: Device,
        streams: impl Iterator<Item = I>,
        stop: impl Fn() -> bool,
    ) -> Result<Option<SimResult>, RunError> {
        let stopped = Cell::new(false);
        let streams = streams.map(|stream| {
            let (mut issued, stop, stopped) = (0u64, &stop, &stopped);
            stream.map_while(move |asked| {
                issued += 1;
                if issued.is_multiple_of(STOP_EVERY) && stop() {
                    stopped.set(true);
                }
                (!stopped.get()).then_some(asked)
            })
        });
        let options = Options {
            visibility: self.visibility,
            keep_pages: self.bound,
            warmup: self.warmup,
            ..Options::default()
        };
        let run = sluice_driver::run(&mut device, streams.collect(), options)?;
        // Counters that contradict each other are a bug of ours, not of the input.
        device.balance().expect("the device's books balance");
        match stopped.get() {
            true => Ok(None),
            false => Ok(self.bounded(&device, &run, &stop)),
        }
    }

    /// The result with the misses of Belady's optimum, if they were asked for; `None` if `stop`
    /// said so.
    pub(crate) fn bounded(
        &self,
        device: &Device,
        run: &Run,
        stop: &dyn Fn() -> bool,
    ) -> Option<SimResult> {
        let mut result = self.result(device, run);
        let is_whole = run.pages.len() as u64 == run.accesses;
        if self.bound && is_whole {
            let cache = &self.config.cache;
            let (sets, ways) = (cache.pages / cache.ways, cache.ways);
            let misses = sluice_driver::optimum(&run.pages, sets, ways, cache.index, stop)?;
            result.cache.optimum_misses = Some(misses);
        }
        Some(result)
    }

    /// The result of a run on a device of these settings, without the optimum's misses.
    pub fn result(&self, device: &Device, run: &Run) -> SimResult {
        let stats = &device.stats().since(&run.before);
        SimResult {
            schema: Schema::default(),
            kind: SimKind::default(),
            device: self.device.to_owned(),
            config: settings(self.config.raw().to_pairs()),
            seed: self.seed,
            version: version(),
            workload: self.workload.to_owned(),
            hits_visible: visible(self.visibility).to_owned(),
            warmup_accesses: self.warmup,
            accesses: run.accesses,
            mapped_hits: run.mapped_hits,
            traps: run.trapped,
            cache: self.cache(stats, run),
            latency_ns: AccessLatency {
                modelled: run.trap_latency.summary(),
                accesses: run.latency.summary(),
                histogram: self.histogram.then(|| run.latency.buckets().collect()),
            },
            latency_parts_ns: DeviceParts::of_device(stats),
            served: served(stats),
            write_log: write_log(stats, device),
            lines: lines(device),
            block: block(stats, run),
            flash: flash(stats, device),
            sim_time_s: (run.sim_time - run.began).0 as f64 / PS_PER_S,
            hash: format!("{:016x}", run.hash),
        }
    }

    /// Hits as the device knows them: with hits visible, every one.
    fn cache(&self, stats: &Stats, run: &Run) -> Cache {
        let hits_are = match self.visibility {
            Visibility::All => "every access that did not go behind the cache",
            Visibility::Misses => "traps on a page in the cache; mapped pages are not seen",
        };
        let hits = run.hits() - run.mapped_hits;
        Cache::new(hits, hits_are, run.misses, CacheCounts::from(stats))
    }
}

/// Why Belady's optimum is no bound on a device's misses, if it is none. It is of a cache that
/// every access asks, in which every page that misses takes a place, and of all accesses.
pub fn no_bound(config: &DeviceConfig, warmup: u64) -> Option<&'static str> {
    let cache = &config.cache;
    if config.memory.is_some() {
        Some("the device is a memory expander (device.kind): it has no cache")
    } else if config.write_log.is_some() {
        Some("the write log (write_log.capacity) serves accesses that the optimum counts as misses")
    } else if cache.evicts_at_fill {
        Some(
            "with cache.evict_at = fill a page on its way takes no room, and the optimum gives it \
             some",
        )
    } else if matches!(cache.store_miss, StoreMiss::Around | StoreMiss::Whole) {
        Some(
            "with cache.store_miss = around or whole a store takes no room, and the optimum gives \
             it some",
        )
    } else if cache.loads_around {
        Some("with cache.load_miss = around a load takes no room, and the optimum gives it some")
    } else if warmup > 0 {
        Some("the optimum is that of all accesses, those before the counting (warmup) too")
    } else {
        None
    }
}

/// The name of what a device sees.
pub fn visible(visibility: Visibility) -> &'static str {
    match visibility {
        Visibility::All => "all",
        Visibility::Misses => "misses",
    }
}
