//! A program on a simulated host with its device, and its result.

use crate::SystemError;
use crate::device::{flash, lines, served, write_log};
use crate::error::SIMULATOR;
use crate::machine::fits_machine;
use crate::messages;
use crate::units::{PS_PER_NS, PS_PER_S};
use sluice_config::System;
use sluice_host::{
    HostConfig, HostStats, LevelStats, MEMORY_MAX, Migration, PhaseStats, RunLength, Sample,
};
use sluice_kernels::{KernelOptions, KernelSpec};
use sluice_model::{Device, Stats};
use sluice_results::{
    Amat, Bound, Cache, CacheCounts, DeviceParts, Distribution, KernelProgram, Level, Levels, Link,
    MigrationCounts, Moment, Phase, Program, RequestShares, Requests, Schema, SystemFigures,
    SystemKind, SystemResult, Tlb, settings, version,
};
use sluice_skybyte_artifact::{SkyByte, simulate};
use sluice_stats::share;
use sluice_units::{Bytes, ClockEnd, PAGE_BYTES, Ps};
use std::collections::BTreeMap;

/// Instructions of the traces that SkyByte replays (section VI-A): 100 million at least for each
/// of 8 threads.
const INSTRUCTIONS: u64 = 800_000_000;

/// Which system, for how long, and what the record says of its program.
pub struct SystemRun<'a> {
    /// The system's name, for the record.
    pub name: &'a str,
    /// Its settings at full size.
    pub system: &'a System,
    /// What its capacities and the program's memory are divided by.
    pub scale: u32,
    /// The workload as it was given, for the record.
    pub workload: &'a str,
    /// How many instructions are run, and counted.
    pub length: RunLength,
    /// The seed of every random stream but the program's.
    pub seed: u64,
}

/// A kernel on a system.
pub struct SystemPlan<'a> {
    /// Where it runs.
    pub run: SystemRun<'a>,
    /// The kernel that runs, with its parameters.
    pub kernel: KernelSpec,
    /// Whether the kernel's last finished round is compared with a plain computation at the end.
    pub check: bool,
}

impl SystemPlan<'_> {
    /// What sizes are divided by, unless somebody says otherwise.
    pub const SCALE: u32 = 8;

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

    /// Runs until the length or the program's end. Now and then `watch` gets the number of
    /// instructions done, and returns whether to go on. If not, there is no result. Its first call
    /// is of none, once the program is made.
    ///
    /// # Errors
    /// [`SystemError`].
    pub fn run(
        &self,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<SystemResult>, SystemError> {
        let ready = self.run.prepare_for(self.kernel.thread_bytes())?;
        let threads = ready.host.threads;
        // One that is too large by far is not made first: that takes as much memory of ours.
        let about = self.kernel.about(self.run.scale);
        if about.0 / 2 > ready.room().1.0 || about > MEMORY_MAX {
            ready.fits(self.kernel.info.name, about, self.run.scale)?;
        }
        let scale = self.run.scale;
        fits_machine(self.run.workload, &self.kernel, scale, threads, Bytes(0))?;
        let mut kernel = (self.kernel.info.make)(&KernelOptions {
            threads,
            scale: self.run.scale,
            seed: self.kernel.seed,
            rounds: self.kernel.rounds,
            given: self.kernel.given.clone(),
        });
        ready.fits(self.kernel.info.name, kernel.footprint(), self.run.scale)?;
        if !watch(0) {
            return Ok(None);
        }
        let Some(ran) = ready.run(&mut *kernel, self.run.length, watch)? else {
            return Ok(None);
        };
        if self.check {
            kernel.check().map_err(|source| SystemError::Wrong {
                kernel: self.kernel.info.name,
                source,
            })?;
        }
        let program = Program::Kernel(KernelProgram {
            kernel: self.kernel.info.name.to_owned(),
            seed: self.kernel.seed,
            threads: threads.into(),
            footprint_bytes: kernel.footprint().0,
            rounds: kernel.rounds(),
            checked: self.check,
            parameters: settings(self.kernel.given.to_pairs()),
        });
        Ok(Some(self.run.result(&ran, program, kernel.phases())))
    }
}

/// A system that has not run yet.
pub struct ReadySystem {
    system: System,
    device: Device,
    /// What the host is, at the sizes that are simulated.
    pub host: HostConfig,
    artifact: Option<SkyByte>,
}

/// A system that has run.
pub struct RanSystem {
    system: System,
    device: Device,
    host: HostConfig,
    pub(crate) stats: HostStats,
}

impl ReadySystem {
    /// Most memory that a program can have, and the key that bounds it.
    pub fn room(&self) -> (&'static str, Bytes) {
        let capacity = self.device.config().capacity();
        let memory = self.system.host.read::<Bytes>("host.memory");
        let cache_pages = self.device.config().cache.pages;
        let before = SkyByte::before(self.artifact.as_ref());
        let others = self.host.pages_of_others(cache_pages, &before);
        let (key, room) = match self.host.migration {
            Migration::AllHost if memory < capacity => ("host.memory", memory),
            _ if others > 0 => {
                let left = capacity.0.saturating_sub(others * PAGE_BYTES);
                ("device.capacity (less host.start = others)", Bytes(left))
            }
            _ => ("device.capacity", capacity),
        };
        match room > MEMORY_MAX {
            true => (SIMULATOR, MEMORY_MAX),
            false => (key, room),
        }
    }

    /// Whether the program has room.
    ///
    /// # Errors
    /// [`SystemError::TooLarge`].
    pub fn fits(&self, program: &str, footprint: Bytes, scale: u32) -> Result<(), SystemError> {
        let (key, room) = self.room();
        match footprint <= room {
            true => Ok(()),
            false => Err(SystemError::TooLarge {
                kernel: program.to_owned(),
                scale,
                footprint,
                key,
                room,
            }),
        }
    }

    /// Runs a program until the length or its end; there is no result if `watch` says to stop.
    ///
    /// # Errors
    /// [`ClockEnd`].
    ///
    /// # Panics
    /// If the program does not fit, or has other threads than the host.
    pub fn run(
        self,
        program: &mut dyn sluice_host::Program,
        length: RunLength,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<RanSystem>, ClockEnd> {
        let mut stopped = false;
        let mut watch = |instructions| {
            stopped |= !watch(instructions);
            !stopped
        };
        let (host, device, watch) = (&self.host, self.device, &mut watch);
        let (stats, device) = match &host.link.messages {
            Some(link) => messages::simulate(host, link, device, program, length, watch),
            None => simulate(host, self.artifact, device, program, length, watch),
        };
        if stopped {
            return Ok(None);
        }
        if stats.until > Ps::LAST {
            return Err(ClockEnd);
        }
        // Counters that contradict each other are a bug of ours, not of the input.
        device.balance().expect("the device's books balance");
        Ok(Some(RanSystem {
            system: self.system,
            device,
            host: self.host,
            stats,
        }))
    }
}

impl RanSystem {
    /// Its settings, by key, as text.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        self.system.to_pairs()
    }

    /// Accesses of the device that brought their page in.
    pub(crate) fn device_misses(&self) -> u64 {
        self.stats.device.misses
    }

    /// Of everything that was counted.
    pub(crate) fn hash(&self) -> String {
        format!("{:016x}", self.stats.hash)
    }
}

impl SystemRun<'_> {
    /// Makes the host and its device.
    ///
    /// # Errors
    /// [`SystemError::Device`].
    pub fn prepare(&self) -> Result<ReadySystem, SystemError> {
        self.prepare_for(0)
    }

    /// As [`System::scaled_with`].
    ///
    /// # Errors
    /// [`SystemError::Device`], [`SystemError::NoInstructions`].
    pub fn prepare_for(&self, thread_bytes: u64) -> Result<ReadySystem, SystemError> {
        if self.length.measured == 0 {
            return Err(SystemError::NoInstructions);
        }
        let system = self.system.scaled_with(self.scale, thread_bytes)?;
        let checked = system.check(self.seed)?;
        let device = sluice_plugin::device(&checked.device, self.seed)?;
        Ok(ReadySystem {
            system,
            device,
            host: checked.host,
            artifact: checked.artifact,
        })
    }

    /// The result. `program` says what ran, `phases` the names of what it was measured in.
    pub fn result(&self, ran: &RanSystem, program: Program, phases: &[&str]) -> SystemResult {
        let (stats, device) = (&ran.stats, &ran.device);
        SystemResult {
            schema: Schema::default(),
            kind: SystemKind::default(),
            system: self.name.to_owned(),
            scale: self.scale,
            config: settings(ran.system.to_pairs()),
            start: ran.host.start_name().to_owned(),
            workload: self.workload.to_owned(),
            program,
            seed: self.seed,
            version: version(),
            warmup_instructions: self.length.warmup,
            figures: ran.figures(stats),
            phases: phases_by_name(phases, &stats.phases),
            timeline: stats.timeline.iter().map(moment).collect(),
            write_log: write_log(&stats.device, device),
            lines: lines(device),
            flash: flash(&stats.device, device),
            hash: ran.hash(),
            command: None,
            exit: None,
            guest: None,
            vm: None,
            regions: Vec::new(),
            counted: None,
        }
    }
}

impl RanSystem {
    /// What host and device did, in a part of the run that has these counters.
    pub(crate) fn figures(&self, stats: &HostStats) -> SystemFigures {
        let [l1, l2, l3] = stats
            .levels
            .each_ref()
            .map(|of| level(of, stats.instructions));
        let core_time = stats.time * u64::from(self.host.cpu.cores);
        SystemFigures {
            instructions: stats.instructions,
            loads: stats.loads,
            stores: stats.stores,
            write_ratio: share(stats.stores, stats.loads + stats.stores),
            time_s: seconds(stats.time),
            ipc: share(stats.instructions * self.host.cpu.cycle.0, core_time.0),
            bound: bound(stats),
            levels: Levels { l1, l2, l3 },
            tlb: Tlb {
                misses: stats.tlb_misses,
                mpki: mpki(stats.tlb_misses, stats.instructions),
            },
            requests: requests(&stats.memory.requests),
            amat_ns: amat(stats),
            latency_ns: Distribution::from(&stats.memory.latency),
            flash_read_ns: Distribution::from(&stats.memory.flash_read),
            link: link(stats),
            switches: stats.switches,
            long_delays: stats.memory.long_delays,
            squashed: stats.squashed,
            migration: migration(stats),
            cache: cache(&stats.device),
            latency_parts_ns: DeviceParts::of_device(&stats.device),
            served: served(&stats.device),
        }
    }
}

fn ns(time: Ps) -> f64 {
    time.0 as f64 / PS_PER_NS
}

pub(crate) fn seconds(time: Ps) -> f64 {
    time.0 as f64 / PS_PER_S
}

/// What the device's cache did, counted as [`Plan`](crate::Plan) counts it: an access to a page on
/// its way is a hit.
fn cache(device: &Stats) -> Cache {
    let hits_are = "every access that reached the device and did not go behind its cache";
    Cache::new(
        device.hits + device.mshr_merges + device.write_log.served(),
        hits_are,
        device.misses,
        CacheCounts::from(device),
    )
}

fn mpki(misses: u64, instructions: u64) -> Option<f64> {
    share(misses, instructions).map(|share| share * 1e3)
}

pub(crate) fn level(stats: &LevelStats, instructions: u64) -> Level {
    Level {
        hits: stats.hits,
        misses: stats.misses,
        merges: stats.merges,
        write_backs: stats.write_backs,
        mpki: mpki(stats.misses, instructions),
        mshr_wait_ns: ns(stats.mshr_wait),
    }
}

/// Where the cores' time went, as shares of it.
pub(crate) fn bound(stats: &HostStats) -> Bound {
    let cores = &stats.cores;
    let all = cores.compute + cores.memory + cores.switching + cores.idle;
    let part = |time: Ps| share(time.0, all.0);
    Bound {
        compute: part(cores.compute),
        memory: part(cores.memory),
        switching: part(cores.switching),
        idle: part(cores.idle),
    }
}

/// Accesses that left the processor, by the names of SkyByte's Figure 16.
pub(crate) fn requests(requests: &sluice_host::Requests) -> Requests {
    let total = requests.total();
    let part = |count| share(count, total);
    Requests {
        h_r: requests.host_reads,
        h_w: requests.host_writes,
        s_r_h: requests.device_read_hits,
        s_r_m: requests.device_read_misses,
        s_w: requests.device_writes,
        total,
        shares: RequestShares {
            h_r: part(requests.host_reads),
            h_w: part(requests.host_writes),
            s_r_h: part(requests.device_read_hits),
            s_r_m: part(requests.device_read_misses),
            s_w: part(requests.device_writes),
        },
    }
}

/// The rows of SkyByte's Figure 17, of one access.
pub(crate) fn amat(stats: &HostStats) -> Amat {
    let time = &stats.memory.access_time;
    let of_one = |part: Ps| share(part.0, time.accesses).map(|ps| ps / PS_PER_NS);
    let demand = share(time.host_demand.0, time.host_demands);
    Amat {
        accesses: time.accesses,
        host_dram: of_one(time.host_dram),
        host_demand: demand.map(|ps| ps / PS_PER_NS),
        protocol: of_one(time.protocol),
        indexing: of_one(time.indexing),
        device_dram: of_one(time.device_dram),
        flash: of_one(time.flash),
        total: of_one(time.total()),
    }
}

fn link(stats: &HostStats) -> Link {
    let [to, from] = stats.memory.link_bytes;
    // Bytes in a nanosecond are GB in a second.
    let gb_s = |bytes: u64| share(bytes, stats.time.0).map(|per_ps| per_ps * PS_PER_NS);
    Link {
        bytes_to_device: to,
        bytes_from_device: from,
        gb_s_to_device: gb_s(to),
        gb_s_from_device: gb_s(from),
    }
}

fn migration(stats: &HostStats) -> sluice_results::Migration {
    let moved = &stats.memory.migration;
    sluice_results::Migration {
        promotions: moved.promotions,
        demotions: moved.demotions,
        dirty_demotions: moved.dirty_demotions,
        buffer_full: moved.buffer_full,
        no_room: moved.no_room,
        buffer_device: moved.buffer_device,
        buffer_host: moved.buffer_host,
        shootdowns: moved.shootdowns,
        samples: moved.samples,
        device: MigrationCounts::from(&stats.device.migration),
    }
}

/// The program's phases by name.
fn phases_by_name(names: &[&str], phases: &[PhaseStats]) -> BTreeMap<String, Phase> {
    let phases = names.iter().zip(phases).map(|(name, phase)| {
        let lookups = phase.cache_hits + phase.cache_misses;
        let result = Phase {
            times: phase.times,
            time_s: seconds(phase.time),
            shortest_s: seconds(phase.shortest),
            instructions: phase.instructions,
            requests: requests(&phase.requests),
            cache_hits: phase.cache_hits,
            cache_misses: phase.cache_misses,
            cache_hit_ratio: share(phase.cache_hits, lookups),
        };
        ((*name).to_owned(), result)
    });
    phases.collect()
}

fn moment(sample: &Sample) -> Moment {
    Moment {
        t_s: seconds(sample.at),
        instructions: sample.instructions,
        accesses: sample.accesses,
        flash: sample.flash,
        switches: sample.switches,
        promotions: sample.promotions,
        programs: sample.programs,
    }
}
