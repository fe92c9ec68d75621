//! How long a program runs with a cache of some size, by the device's own model.

use super::error::SizeError;
use super::uses::Uses;
use crate::simulation::{Plan, STOP_EVERY};
use sluice_driver::{Access, Options, Visibility};
use sluice_model::DeviceConfig;
use sluice_replay::Replay;
use sluice_units::Ps;
use std::cell::Cell;

/// Which accesses on which device.
pub struct Subject<'a> {
    /// The device's name, for the record.
    pub device: &'a str,
    /// Its checked settings.
    pub config: &'a DeviceConfig,
    /// The program or trace, for the record.
    pub workload: &'a str,
    /// The seed of policies and devices.
    pub seed: u64,
    /// What the program accesses, by page.
    pub uses: &'a Uses,
}

/// What is known of time.
pub enum Timing<'a> {
    /// A trace has none of its own: its CPUs each wait for their access before they issue the next.
    Trace {
        /// The trace.
        replay: &'a Replay,
        /// Accesses of the device before counting begins.
        warmup: u64,
    },
    /// A program that one thread runs, which needs so long without its misses.
    Live {
        /// The program's time if no access missed.
        without: Ps,
        /// Of the pages that left the cache of the profile, those that were written, in a million.
        written_per_million: u64,
    },
    /// The run time cannot be known.
    Unknown,
}

impl Timing<'_> {
    /// The run time in seconds on a device with a cache of so many pages, if that can be known;
    /// nothing at all if `stop` said so.
    pub(super) fn at(
        &self,
        of: &Subject<'_>,
        pages: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Option<f64>>, SizeError> {
        match self {
            Timing::Unknown => Ok(Some(None)),
            Timing::Trace { replay, warmup } => {
                let config = with_cache(of.config, pages)?;
                let run = Plan {
                    device: of.device,
                    config: &config,
                    workload: of.workload,
                    visibility: Visibility::All,
                    seed: of.seed,
                    bound: false,
                    histogram: false,
                    warmup: *warmup,
                };
                let result = run.run(replay.streams()?, stop)?;
                if let Some(error) = replay.failure() {
                    return Err(error.into());
                }
                Ok(result.map(|result| Some(result.sim_time_s)))
            }
            Timing::Live {
                without,
                written_per_million,
            } => live(of, pages, *without, *written_per_million, stop),
        }
    }
}

/// Misses one after the other, each with what it waits for on the device, besides the time that
/// the program needs by itself. Hits cost what they cost in the run that was measured.
fn live(
    of: &Subject<'_>,
    pages: u64,
    without: Ps,
    written_per_million: u64,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Option<f64>>, SizeError> {
    let uses = of.uses;
    let config = with_cache(of.config, uses.held(pages).max(1))?;
    let mut device = sluice_plugin::device(&config, of.seed)?;
    let all = uses.scaled(uses.pages().len() as u64);
    let think = Ps(without.0 / all.max(1));
    let stopped = Cell::new(false);
    let mut written = 0;
    let stream = uses.pages().iter().enumerate().map_while(|(at, page)| {
        if (at as u64 + 1).is_multiple_of(STOP_EVERY) && stop() {
            stopped.set(true);
        }
        written += written_per_million;
        let write = written >= 1_000_000;
        written -= if write { 1_000_000 } else { 0 };
        let addr = u64::from(page.0) * uses.page_bytes();
        (!stopped.get()).then_some(Access { addr, write })
    });
    let options = Options {
        visibility: Visibility::Misses,
        think,
        ..Options::default()
    };
    let run = sluice_driver::run(&mut device, vec![stream], options)?;
    let waits = run.trap_latency.mean() * uses.scaled(run.trapped);
    let seconds = (without + waits).0 as f64 / crate::units::PS_PER_S;
    Ok((!stopped.get()).then_some(Some(seconds)))
}

/// The device with a cache of so many pages, or of whole sets that have not more.
fn with_cache(config: &DeviceConfig, pages: u64) -> Result<DeviceConfig, SizeError> {
    let mut raw = config.raw().clone();
    let ways = match raw.get("cache.ways").as_deref() {
        Some("full") | None => 1,
        Some(_) => u64::from(config.cache.ways),
    };
    let pages = (pages / ways).max(1) * ways;
    let bytes = pages * config.page_bytes();
    raw.set("cache.capacity", &format!("{bytes}B"))?;
    Ok(DeviceConfig::new(&raw)?)
}
