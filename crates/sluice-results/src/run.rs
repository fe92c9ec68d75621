//! What is known of a live run, and its result.

use crate::hits::not_applied;
use crate::live::{HostCounts, LateCounts, LiveMigration, StoreCounts, StoreFigures};
use crate::others::Others;
use crate::process::Process;
use crate::{
    Cache, CacheCounts, CommandCounts, CommandedCounts, Commands, Counted, DeviceParts, Exit,
    Figures, Flash, FlashCounts, Hints, HitTimes, HostFigures, Late, LiveKind, LiveRun, Memory,
    MemoryCounts, Sampled, Schema, TrapKinds, settings, version,
};
use sluice_abi::Counter;
use sluice_model::DeviceConfig;
use sluice_stats::share;

/// What a live device can know of hits.
const HITS_ARE: &str = "traps on a page already in the cache: prefetched, sampled, or in flight \
     for another thread; accesses to mapped pages run at full speed and are not seen";

/// Everything known about a live run.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Device as named on the command line.
    pub device: &'a str,
    /// Its settings.
    pub config: &'a DeviceConfig,
    /// What was set of the run beside it.
    pub live_config: &'a [(&'static str, String)],
    /// Seed.
    pub seed: u64,
    /// Command line of the program.
    pub command: &'a [String],
    /// `event` or `signal`.
    pub trap_mode: &'a str,
    /// `heap` or `dax:PATH`.
    pub place: &'a str,
    /// `dram` or `file:FOLDER`.
    pub store: &'a str,
    /// How it ended.
    pub exit: Exit,
    /// Wall time, s.
    pub wall_s: f64,
    /// Process id of the program itself.
    pub pid: u64,
    /// The processes of the session that are listed one by one.
    pub processes: &'a [Process],
    /// The sum of the processes that are not listed.
    pub others: &'a Others,
}

impl Run<'_> {
    /// The last program image of the process that was started, if it had a device at all.
    pub fn main(&self) -> Option<&Process> {
        self.processes
            .iter()
            .filter(|p| p.pid == self.pid)
            .max_by_key(|p| p.image)
    }

    /// Programs that were started and that the preload library did not reach, as far as is seen.
    pub fn programs_outside(&self) -> u64 {
        let is_exec = |p: &&Process| !p.forked && !p.shared_memory;
        let (all, others) = (self.processes.iter(), self.others);
        let replaced = all.clone().filter(|p| p.replaced).count() as u64 + others.replaced();
        let became = all.clone().filter(|p| p.follows).count() as u64 + others.follows();
        // Of the program itself, the command started the first image.
        let begun = all.clone().filter(is_exec);
        let begun = begun.filter(|p| p.pid != self.pid && !p.follows).count() as u64;
        let begun = begun + others.execs() - others.follows();
        let started = all.map(|p| p.started).sum::<u64>() + others.started();
        replaced.saturating_sub(became) + started.saturating_sub(begun)
    }

    /// The sum of a counter over all processes.
    pub fn sum(&self, counter: Counter) -> u64 {
        let listed = self.processes.iter().map(|process| process.get(counter));
        listed.sum::<u64>() + self.others.get(counter)
    }

    /// The result: figures of the program itself, then a line for every process.
    pub fn result(&self) -> LiveRun {
        let get = |c: Counter| self.main().map_or(0, |p| p.get(c));
        LiveRun {
            schema: Schema::default(),
            kind: LiveKind::Run,
            device: self.device.to_owned(),
            config: settings(self.config.raw().to_pairs()),
            live_config: settings(self.live_config.to_vec()),
            seed: self.seed,
            version: version(),
            kernel: kernel(),
            command: self.command.to_vec(),
            trap_mode: self.trap_mode.to_owned(),
            place: self.place.to_owned(),
            hits_visible: "misses".to_owned(),
            exit: self.exit,
            figures: self.figures(),
            counted: Counted {
                from: None,
                from_s: None,
                wall_s: self.wall_s,
            },
            regions: Vec::new(),
            hit_times: HitTimes::of(self.config, self.main()),
            not_applied: not_applied(self.config),
            commands: Commands {
                served: CommandCounts::of(get),
                done: CommandedCounts::of(get),
            },
            hints: Hints::of(get),
            memory: Memory {
                counts: MemoryCounts::of(get),
                trims: get(Counter::Trims),
            },
            store: StoreFigures {
                place: self.store.to_owned(),
                counts: StoreCounts::of(get),
            },
            migration: LiveMigration::of(get),
            host: HostFigures {
                counts: HostCounts::of(get),
                programs_outside: self.programs_outside(),
            },
            wall_s: self.wall_s,
            processes: self.processes.iter().map(Process::result).collect(),
            other_processes: self.others.result(),
            profile: None,
            vm: None,
            guest: None,
            workload: None,
            devices: Vec::new(),
        }
    }

    /// What the device did for the program itself.
    pub fn figures(&self) -> Figures {
        let get = |c: Counter| self.main().map_or(0, |p| p.get(c));
        let timed = self.main().map_or(0, |p| p.latency().achieved.count);
        Figures {
            traps: get(Counter::Traps),
            trap_kinds: TrapKinds::of(get),
            cache: self.cache(),
            latency_ns: self.main().map(Process::latency).unwrap_or_default(),
            latency_parts_ns: DeviceParts::of(get, get(Counter::Misses) + get(Counter::SoftTraps)),
            late: Late {
                counts: LateCounts::of(get),
                ratio: share(get(Counter::Late), timed),
            },
            flash: Flash {
                counts: FlashCounts::of(get),
                write_amplification: share(get(Counter::FlashPrograms), get(Counter::HostPrograms)),
                factory_bad_blocks: self.config.nand.bad_blocks.into(),
                read_only: None,
                erases_of_a_line: None,
            },
        }
    }

    /// What the device knows of its cache.
    fn cache(&self) -> Cache {
        let get = |c: Counter| self.main().map_or(0, |p| p.get(c));
        let (hits, misses) = (get(Counter::SoftTraps), get(Counter::Misses));
        Cache {
            sampled: self.main().and_then(sampled),
            ..Cache::new(hits, HITS_ARE, misses, CacheCounts::of(get))
        }
    }
}

/// The hit ratio by sampling; nothing without samples.
fn sampled(of: &Process) -> Option<Sampled> {
    let pages = of.get(Counter::SampledPages);
    if pages == 0 {
        return None;
    }
    let mean = |sum: Counter| of.get(sum) as f64 / pages as f64;
    let window_ns = mean(Counter::SampledWindowNs);
    let windows = of.get(Counter::LastTrapNs) as f64 / window_ns;
    // Inactive pages are not mapped, so that none is taken as a sample; each of their uses is seen.
    let inactive_used = of.get(Counter::Reactivated) as f64 / windows;
    let used = mean(Counter::SampledTouched) * mean(Counter::SampledMapped) + inactive_used;
    let missed = of.get(Counter::Misses) as f64 / windows;
    let first = of.get(Counter::FirstMisses) as f64 / windows;
    Some(Sampled {
        hit_ratio: number(used / (used + missed)),
        reuse_hit_ratio: number(used / (used + missed - first)),
        window_s: window_ns / 1e9,
        pages,
        touched: of.get(Counter::SampledTouched),
        cached_pages_used_per_window: used,
        misses_per_window: number(missed),
    })
}

/// A quotient, if it is a number.
fn number(quotient: f64) -> Option<f64> {
    quotient.is_finite().then_some(quotient)
}

fn kernel() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().to_string()
}
