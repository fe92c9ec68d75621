//! A workload on a simulated device, told as one JSON object. Knows nothing of Python.

use crate::device::{PS_PER_S, flash, lines, parts, served, write_log};
use serde_json::{Value, json};
use sluice_driver::{Access, Options, SimResult, Visibility};
use sluice_model::{Device, DeviceConfig, DeviceError};
use sluice_results::{SCHEMA, settings};
use sluice_stats::share;
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
    /// Whether to tell the fewest misses that any policy could have had. Keeps every access.
    pub bound: bool,
}

impl Plan<'_> {
    /// Runs the accesses of each requester to the end, or until `stop` says so: then there is no
    /// result.
    ///
    /// # Errors
    /// What the device finds impossible in its settings.
    pub fn run(
        &self,
        streams: Vec<Stream>,
        stop: impl Fn() -> bool,
    ) -> Result<Option<Value>, DeviceError> {
        let device = sluice_plugin::device(self.config, self.seed)?;
        self.run_on(device, streams, stop)
    }

    /// The same on a device of the caller's, which nobody has used.
    ///
    /// # Errors
    /// None of its own.
    pub fn run_on(
        &self,
        mut device: Device,
        streams: Vec<Stream>,
        stop: impl Fn() -> bool,
    ) -> Result<Option<Value>, DeviceError> {
        let stopped = Cell::new(false);
        let streams = streams.into_iter().map(|stream| {
            let (mut issued, stop, stopped) = (0u64, &stop, &stopped);
            stream.map_while(move |access| {
                issued += 1;
                if issued.is_multiple_of(STOP_EVERY) && stop() {
                    stopped.set(true);
                }
                (!stopped.get()).then_some(Access {
                    addr: access.addr,
                    write: access.write,
                })
            })
        });
        let options = Options {
            visibility: self.visibility,
            keep_pages: self.bound,
            ..Options::default()
        };
        let result = sluice_driver::run(&mut device, streams.collect(), options);
        // Counters that contradict each other are a bug of ours, not of the input.
        device.balance().expect("the device's books balance");
        Ok((!stopped.get()).then(|| self.tell(&device, &result)))
    }

    fn tell(&self, device: &Device, result: &SimResult) -> Value {
        json!({
            "schema": SCHEMA,
            "kind": "sim",
            "device": self.device,
            "config": settings(self.config),
            "seed": self.seed,
            "version": env!("CARGO_PKG_VERSION"),
            "workload": self.workload,
            "hits_visible": visible(self.visibility),
            "accesses": result.accesses,
            "mapped_hits": result.mapped_hits,
            "traps": result.traps.len(),
            "cache": self.cache(device, result),
            "latency_ns": {
                "modelled": result.trap_latency.summary(),
                "accesses": result.latency.summary(),
            },
            "latency_parts_ns": parts(device.stats()),
            "served": served(device.stats()),
            "write_log": write_log(device.stats(), device),
            "lines": lines(device),
            "flash": flash(device.stats(), device),
            "sim_time_s": result.sim_time.0 as f64 / PS_PER_S,
            "hash": format!("{:016x}", result.hash),
        })
    }

    /// Hits as the device knows them: with hits visible, every one.
    fn cache(&self, device: &Device, result: &SimResult) -> Value {
        let stats = device.stats();
        let hits_are = match self.visibility {
            Visibility::All => "every access that did not go behind the cache",
            Visibility::Misses => "traps on a page in the cache; mapped pages are not seen",
        };
        let hits = result.hits() - result.mapped_hits;
        let seen = result.accesses - result.mapped_hits;
        let cache = &self.config.cache;
        let optimum = self
            .bound
            .then(|| sluice_driver::optimum(&result.pages, cache.pages / cache.ways, cache.ways));
        json!({
            "hits": hits,
            "hits_are": hits_are,
            "misses": result.misses,
            "optimum_misses": optimum,
            "hit_ratio": share(hits, seen),
            "evictions": stats.evictions,
            "policy_refused": stats.policy_refused,
            "dirty_evictions": stats.dirty_evictions,
            "clean_write_backs": stats.clean_write_backs,
            "prefetch_issued": stats.prefetch_issued,
            "prefetch_used": stats.prefetch_used,
            "prefetch_late": stats.prefetch_late,
            "prefetch_unused": stats.prefetch_unused,
            "prefetch_dropped": stats.prefetch_dropped,
            "prefetch_accuracy": stats.prefetch_accuracy().map(|share| share.to_f64()),
            "prefetch_coverage": stats.prefetch_coverage().map(|share| share.to_f64()),
            "prefetch_timeliness": stats.prefetch_timeliness().map(|share| share.to_f64()),
        })
    }
}

/// The name of what a device sees.
pub fn visible(visibility: Visibility) -> &'static str {
    match visibility {
        Visibility::All => "all",
        Visibility::Misses => "misses",
    }
}
