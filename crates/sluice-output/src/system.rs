//! A program on a simulated host with its device, told as one JSON object.

use crate::device::{PS_PER_NS, PS_PER_S, flash, lines, parts, served, summary, write_log};
use crate::{SCHEMA, share};
use serde_json::{Map, Value, json};
use sluice_config::System;
use sluice_fabric::host::{
    HostConfig, HostStats, LevelStats, Migration, PhaseStats, Requests, RunLength, simulate,
};
use sluice_model::{ConfigError, Device};
use sluice_units::{Bytes, Ps};
use sluice_workload::kernel::{KernelOptions, KernelSpec};

/// Instructions of the traces that SkyByte replays (section VI-A): 100 million at least for each
/// of 8 threads.
const INSTRUCTIONS: u64 = 800_000_000;

/// What to simulate.
pub struct SystemPlan<'a> {
    /// The system's name, for the record.
    pub name: &'a str,
    /// Its settings at full size.
    pub system: &'a System,
    /// What its capacities and the program's memory are divided by.
    pub scale: u32,
    /// The kernel as it was given, for the record.
    pub workload: &'a str,
    /// The same, read.
    pub kernel: KernelSpec,
    /// How long.
    pub length: RunLength,
    /// The seed of every random stream but the kernel's.
    pub seed: u64,
    /// Whether the kernel's last finished round is compared with a plain computation at the end.
    pub check: bool,
}

/// Why a system could not run its program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SystemError {
    /// The settings cannot be.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The program needs more memory than there is.
    #[error(
        "workload: {kernel} uses {footprint} at scale {scale}, but {key} is {room}; give a larger \
         {key}, or a larger scale"
    )]
    TooLarge {
        /// The program.
        kernel: &'static str,
        /// The scale.
        scale: u32,
        /// Its memory.
        footprint: Bytes,
        /// The capacity that bounds it.
        key: &'static str,
        /// What that is.
        room: Bytes,
    },
    /// The program computed something wrong.
    #[error("workload: {kernel} computed something wrong: {message}")]
    Wrong {
        /// The program.
        kernel: &'static str,
        /// The first difference.
        message: String,
    },
}

impl SystemPlan<'_> {
    /// How long to run a kernel, with what was not asked for: as many instructions as give each
    /// page of the smaller program as many accesses as at full size, or a kernel's own end.
    pub fn length(
        scale: u32,
        kernel: &KernelSpec,
        warmup: Option<u64>,
        measured: Option<u64>,
    ) -> RunLength {
        let instructions = INSTRUCTIONS / u64::from(scale.max(1));
        let to_the_end = match kernel.rounds {
            0 => instructions,
            _ => u64::MAX,
        };
        RunLength {
            warmup: warmup.unwrap_or(instructions),
            measured: measured.unwrap_or(to_the_end),
            sample_every: Ps::ZERO,
        }
    }

    /// Runs until the length or the program's end. `watch` is told now and then how many
    /// instructions are done, of none once the program is made, and says whether to go on: if not,
    /// there is no result.
    ///
    /// # Errors
    /// [`SystemError`].
    pub fn run(&self, watch: &mut dyn FnMut(u64) -> bool) -> Result<Option<Value>, SystemError> {
        let system = self.system.scaled(self.scale)?;
        let (device, host) = system.check(self.seed)?;
        let device = sluice_plugin::device(&device, self.seed)?;
        let mut kernel = (self.kernel.info.make)(&KernelOptions {
            threads: host.threads,
            scale: self.scale,
            seed: self.kernel.seed,
            rounds: self.kernel.rounds,
            given: self.kernel.given.clone(),
        });
        self.fits(kernel.footprint(), &system, &device, &host)?;
        let mut stopped = false;
        let mut watch = |instructions| {
            stopped |= !watch(instructions);
            !stopped
        };
        if !watch(0) {
            return Ok(None);
        }
        let (stats, device) = simulate(&host, device, &mut *kernel, self.length, &mut watch);
        if stopped {
            return Ok(None);
        }
        // Counters that contradict each other are a bug of ours, not of the input.
        device.balance().expect("the device's books balance");
        if self.check {
            kernel.check().map_err(|message| SystemError::Wrong {
                kernel: self.kernel.info.name,
                message,
            })?;
        }
        let given = self.kernel.given.to_pairs().into_iter();
        let parameters: Map<String, Value> = given
            .map(|(key, value)| (key.to_owned(), value.into()))
            .collect();
        let program = json!({
            "kernel": self.kernel.info.name,
            "seed": self.kernel.seed,
            "threads": host.threads,
            "footprint_bytes": kernel.footprint().0,
            "rounds": kernel.rounds(),
            "checked": self.check,
            "parameters": parameters,
        });
        let mut object = self.header(&system, program);
        object.extend(of_host(&stats, &host));
        object.insert("phases".to_owned(), phases(kernel.phases(), &stats.phases));
        object.extend(of_device(&stats, &device));
        Ok(Some(Value::Object(object)))
    }

    /// Whether the program has room.
    fn fits(
        &self,
        footprint: Bytes,
        system: &System,
        device: &Device,
        host: &HostConfig,
    ) -> Result<(), SystemError> {
        let too_large = |key, room| SystemError::TooLarge {
            kernel: self.kernel.info.name,
            scale: self.scale,
            footprint,
            key,
            room,
        };
        let capacity = device.config().capacity();
        if footprint > capacity {
            return Err(too_large("device.capacity", capacity));
        }
        let memory = system.host.bytes("host.memory").unwrap_or_default();
        if host.migration == Migration::AllHost && footprint > memory {
            return Err(too_large("host.memory", memory));
        }
        Ok(())
    }

    fn header(&self, system: &System, program: Value) -> Map<String, Value> {
        let settings: Map<String, Value> = system
            .to_pairs()
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.into()))
            .collect();
        map(json!({
            "schema": SCHEMA,
            "kind": "system",
            "system": self.name,
            "scale": self.scale,
            "config": settings,
            "workload": self.workload,
            "program": program,
            "seed": self.seed,
            "version": env!("CARGO_PKG_VERSION"),
            "warmup_instructions": self.length.warmup,
        }))
    }
}

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn ns(time: Ps) -> f64 {
    time.0 as f64 / PS_PER_NS
}

fn seconds(time: Ps) -> f64 {
    time.0 as f64 / PS_PER_S
}

/// Everything of which the host's counters tell.
fn of_host(stats: &HostStats, host: &HostConfig) -> Map<String, Value> {
    let [l1, l2, l3] = &stats.levels;
    let level = |of| level(of, stats.instructions);
    let core_time = stats.time * u64::from(host.cpu.cores);
    let accesses = stats.loads + stats.stores;
    map(json!({
        "instructions": stats.instructions,
        "loads": stats.loads,
        "stores": stats.stores,
        "write_ratio": share(stats.stores, accesses),
        "time_s": seconds(stats.time),
        "ipc": share(stats.instructions * host.cpu.cycle.0, core_time.0),
        "bound": bound(stats),
        "levels": {"l1": level(l1), "l2": level(l2), "l3": level(l3)},
        "tlb": {"misses": stats.tlb_misses, "mpki": mpki(stats.tlb_misses, stats.instructions)},
        "requests": requests(&stats.memory.requests),
        "amat_ns": amat(stats),
        "latency_ns": distribution(&stats.memory.latency),
        "flash_read_ns": distribution(&stats.memory.flash_read),
        "link": link(stats),
        "switches": stats.switches,
        "long_delays": stats.memory.long_delays,
        "squashed": stats.squashed,
        "migration": migration(stats),
        "timeline": timeline(stats),
        "hash": format!("{:016x}", stats.hash),
    }))
}

/// Everything that the device counted in the measured part; wear and lines are of all its life.
fn of_device(stats: &HostStats, device: &Device) -> Map<String, Value> {
    let measured = &stats.device;
    map(json!({
        "cache": {
            "hits": measured.hits,
            "misses": measured.misses,
            "evictions": measured.evictions,
            "dirty_evictions": measured.dirty_evictions,
            "policy_refused": measured.policy_refused,
            "prefetch_issued": measured.prefetch_issued,
            "prefetch_used": measured.prefetch_used,
            "prefetch_late": measured.prefetch_late,
            "prefetch_unused": measured.prefetch_unused,
            "prefetch_dropped": measured.prefetch_dropped,
        },
        "latency_parts_ns": parts(measured),
        "served": served(measured),
        "write_log": write_log(measured, device),
        "lines": lines(device),
        "flash": flash(measured, device),
    }))
}

fn mpki(misses: u64, instructions: u64) -> Option<f64> {
    share(misses, instructions).map(|share| share * 1e3)
}

fn level(stats: &LevelStats, instructions: u64) -> Value {
    json!({
        "hits": stats.hits,
        "misses": stats.misses,
        "merges": stats.merges,
        "write_backs": stats.write_backs,
        "mpki": mpki(stats.misses, instructions),
        "mshr_wait_ns": ns(stats.mshr_wait),
    })
}

/// Where the cores' time went, as shares of it.
fn bound(stats: &HostStats) -> Value {
    let cores = &stats.cores;
    let all = cores.compute + cores.memory + cores.switching + cores.idle;
    let part = |time: Ps| share(time.0, all.0);
    json!({
        "compute": part(cores.compute),
        "memory": part(cores.memory),
        "switching": part(cores.switching),
        "idle": part(cores.idle),
    })
}

/// Accesses that left the processor, by the names of SkyByte's Figure 16.
fn requests(requests: &Requests) -> Value {
    let kinds = [
        ("h_r", requests.host_reads),
        ("h_w", requests.host_writes),
        ("s_r_h", requests.device_read_hits),
        ("s_r_m", requests.device_read_misses),
        ("s_w", requests.device_writes),
    ];
    let total = requests.total();
    let shares = kinds.map(|(name, count)| (name.to_owned(), json!(share(count, total))));
    let mut object: Map<String, Value> = kinds
        .into_iter()
        .map(|(name, count)| (name.to_owned(), count.into()))
        .collect();
    object.insert("total".to_owned(), total.into());
    object.insert(
        "shares".to_owned(),
        Value::Object(shares.into_iter().collect()),
    );
    Value::Object(object)
}

/// The rows of SkyByte's Figure 17, of one access.
fn amat(stats: &HostStats) -> Value {
    let time = &stats.memory.access_time;
    let of_one = |part: Ps| share(part.0, time.accesses).map(|ps| ps / PS_PER_NS);
    json!({
        "accesses": time.accesses,
        "host_dram": of_one(time.host_dram),
        "protocol": of_one(time.protocol),
        "indexing": of_one(time.indexing),
        "device_dram": of_one(time.device_dram),
        "flash": of_one(time.flash),
        "total": of_one(time.total()),
    })
}

/// A distribution's summary, with the middle and count of every bucket that has any.
fn distribution(histogram: &sluice_fabric::Histogram) -> Value {
    let mut object = map(summary(histogram));
    let buckets: Vec<Value> = histogram
        .buckets()
        .map(|(ns, count)| json!([ns, count]))
        .collect();
    object.insert("histogram".to_owned(), buckets.into());
    Value::Object(object)
}

fn link(stats: &HostStats) -> Value {
    let [to, from] = stats.memory.link_bytes;
    // Bytes in a nanosecond are GB in a second.
    let gb_s = |bytes: u64| share(bytes, stats.time.0).map(|per_ps| per_ps * PS_PER_NS);
    json!({
        "bytes_to_device": to,
        "bytes_from_device": from,
        "gb_s_to_device": gb_s(to),
        "gb_s_from_device": gb_s(from),
    })
}

fn migration(stats: &HostStats) -> Value {
    let moved = &stats.memory.migration;
    let device = &stats.device.migration;
    json!({
        "promotions": moved.promotions,
        "demotions": moved.demotions,
        "dirty_demotions": moved.dirty_demotions,
        "buffer_full": moved.buffer_full,
        "no_room": moved.no_room,
        "buffer_device": moved.buffer_device,
        "buffer_host": moved.buffer_host,
        "shootdowns": moved.shootdowns,
        "samples": moved.samples,
        "device": {
            "taken": device.taken,
            "taken_dirty": device.taken_dirty,
            "given": device.given,
            "fills": device.fills,
            "programs": device.programs,
        },
    })
}

/// The program's phases by name.
fn phases(names: &[&str], told: &[PhaseStats]) -> Value {
    let phases = names.iter().zip(told).map(|(name, phase)| {
        let lookups = phase.cache_hits + phase.cache_misses;
        let told = json!({
            "times": phase.times,
            "time_s": seconds(phase.time),
            "shortest_s": seconds(phase.shortest),
            "instructions": phase.instructions,
            "requests": requests(&phase.requests),
            "cache_hits": phase.cache_hits,
            "cache_misses": phase.cache_misses,
            "cache_hit_ratio": share(phase.cache_hits, lookups),
        });
        ((*name).to_owned(), told)
    });
    Value::Object(phases.collect())
}

fn timeline(stats: &HostStats) -> Value {
    let samples = stats.timeline.iter().map(|sample| {
        json!({
            "t_s": seconds(sample.at),
            "instructions": sample.instructions,
            "accesses": sample.accesses,
            "flash": sample.flash,
            "switches": sample.switches,
            "promotions": sample.promotions,
            "programs": sample.programs,
        })
    });
    samples.collect()
}
