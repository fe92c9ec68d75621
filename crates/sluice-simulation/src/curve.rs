//! Bandwidth against latency on a simulated device, and on a simulated host with its device.

use crate::system::{RanSystem, SystemRun};
use crate::traffic::HostTraffic;
use crate::units::{PS_PER_NS, PS_PER_S};
use crate::{RunError, SystemError};
use sluice_config::System;
use sluice_driver::{Start, Store, Traffic, TrafficResult, Walk, traffic};
use sluice_host::RunLength;
use sluice_model::DeviceConfig;
use sluice_results::{
    CurveLoad, CurveOn, CurveResult, CurveSchema, CurveTraffic, Distribution, settings, version,
};
use sluice_stats::Histogram;
use sluice_units::{LINE_BYTES, Ps};

/// What to simulate.
pub struct CurvePlan<'a> {
    /// The device's name, for the record.
    pub device: &'a str,
    /// Its checked settings.
    pub config: &'a DeviceConfig,
    /// What the threads do; its pace is replaced by those of `paces`.
    pub traffic: Traffic,
    /// The paces, each on a device that nobody has used.
    pub paces: &'a [Ps],
}

impl CurvePlan<'_> {
    /// Runs each pace, or until `stop` says so: then there is no result.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn run(&self, stop: impl Fn() -> bool) -> Result<Option<CurveResult>, RunError> {
        let mut loads = Vec::with_capacity(self.paces.len());
        for pace in self.paces {
            let mut device = sluice_plugin::device(self.config, self.traffic.seed)?;
            let given = Traffic {
                pace: *pace,
                ..self.traffic
            };
            let Some(result) = traffic(&mut device, &given, &stop)? else {
                return Ok(None);
            };
            // Counters that contradict each other are a bug of ours, not of the input.
            device.balance().expect("the device's books balance");
            let misses = device.stats().since(&result.before).misses;
            loads.push(load(&given, &result, misses));
        }
        Ok(Some(CurveResult {
            schema: CurveSchema::default(),
            on: CurveOn::Simulated,
            device: Some(self.device.to_owned()),
            config: Some(settings(self.config.raw().to_pairs())),
            seed: self.traffic.seed,
            version: version(),
            traffic: curve_traffic(&self.traffic),
            knee: CurveResult::knee_of(&loads),
            loads,
        }))
    }
}

/// What to simulate on a host.
pub struct SystemCurvePlan<'a> {
    /// The system's name, for the record.
    pub name: &'a str,
    /// Its settings at full size, with a thread for each of the traffic's and one for the dependent
    /// loads.
    pub system: &'a System,
    /// What its capacities are divided by.
    pub scale: u32,
    /// What the threads do; its pace is replaced by those of `paces`. Its depth, cores and helpers
    /// do not count, and its stores go through the caches.
    pub traffic: Traffic,
    /// The paces, each on a system that nobody has used.
    pub paces: &'a [Ps],
}

impl SystemCurvePlan<'_> {
    /// Runs each pace, or until `stop` says so: then there is no result.
    ///
    /// # Errors
    /// [`SystemError`].
    pub fn run(&self, stop: impl Fn() -> bool) -> Result<Option<CurveResult>, SystemError> {
        let mut loads = Vec::with_capacity(self.paces.len());
        let (mut cores, mut config) = (0, None);
        for pace in self.paces {
            let given = Traffic {
                pace: *pace,
                ..self.traffic
            };
            let run = SystemRun {
                name: self.name,
                system: self.system,
                scale: self.scale,
                workload: "curve",
                length: RunLength {
                    warmup: 0,
                    measured: u64::MAX,
                    sample_every: Ps::ZERO,
                },
                seed: given.seed,
            };
            let ready = run.prepare()?;
            let cpu = ready.host.cpu;
            cores = cpu.cores;
            let mut program = HostTraffic::new(given, ready.host.threads, cpu.width, cpu.cycle);
            let footprint = sluice_host::Program::footprint(&program);
            ready.fits("curve", footprint, self.scale)?;
            let Some(ran) = ready.run(&mut program, run.length, &mut |_| !stop())? else {
                return Ok(None);
            };
            loads.push(host_load(&given, &program, &ran));
            config.get_or_insert_with(|| settings(ran.settings()));
        }
        Ok(Some(CurveResult {
            schema: CurveSchema::default(),
            on: CurveOn::System,
            device: Some(self.name.to_owned()),
            config,
            seed: self.traffic.seed,
            version: version(),
            traffic: CurveTraffic {
                depth: None,
                cores: cores.into(),
                ..curve_traffic(&self.traffic)
            },
            knee: CurveResult::knee_of(&loads),
            loads,
        }))
    }
}

fn host_load(given: &Traffic, program: &HostTraffic, ran: &RanSystem) -> CurveLoad {
    let (seconds, accesses) = (program.ended_at.0 as f64 / PS_PER_S, program.accesses());
    CurveLoad {
        pace_ns: given.pace.0 as f64 / PS_PER_NS,
        bytes_per_s: match accesses {
            0 => 0.0,
            accesses => (accesses * LINE_BYTES) as f64 / seconds,
        },
        accesses,
        time_s: seconds,
        misses: Some(ran.device_misses()),
        latency_ns: None,
        hit_latency_ns: None,
        miss_latency_ns: None,
        chase_latency_ns: (program.chase.count() > 0).then(|| program.chase.summary()),
        hash: Some(ran.hash()),
    }
}

fn load(given: &Traffic, result: &TrafficResult, misses: u64) -> CurveLoad {
    let seconds = result.time.0 as f64 / PS_PER_S;
    let summary = |latencies: &Histogram| (latencies.count() > 0).then(|| latencies.summary());
    CurveLoad {
        pace_ns: given.pace.0 as f64 / PS_PER_NS,
        bytes_per_s: match result.accesses {
            0 => 0.0,
            accesses => (accesses * LINE_BYTES) as f64 / seconds,
        },
        accesses: result.accesses,
        time_s: seconds,
        misses: Some(misses),
        latency_ns: (result.accesses > 0).then(|| Distribution::from(&result.latency)),
        hit_latency_ns: summary(&result.hits),
        miss_latency_ns: summary(&result.misses),
        chase_latency_ns: summary(&result.chase),
        hash: Some(format!("{:016x}", result.hash)),
    }
}

/// What threads do, for the record.
pub fn curve_traffic(given: &Traffic) -> CurveTraffic {
    CurveTraffic {
        threads: given.threads.into(),
        size_bytes: given.size,
        stride_bytes: given.stride,
        walk: match given.walk {
            Walk::InOrder => "order",
            Walk::Random => "random",
        }
        .to_owned(),
        reads_percent: given.reads.into(),
        store: match given.store {
            Store::Cached => "cached",
            Store::NonTemporal => "nontemporal",
        }
        .to_owned(),
        depth: Some(given.depth.into()),
        cores: given.cores.into(),
        ahead_bytes: given.ahead,
        chase_bytes: given.chase,
        passes: given.passes,
        start: match given.start {
            Start::Cold => "cold",
            Start::Warm => "warm",
        }
        .to_owned(),
        numa_node: None,
    }
}
