//! The object of a live run.

use crate::process::Process;
use crate::{SCHEMA, settings};
use serde_json::{Value, json};
use sluice_abi::Counter;
use sluice_model::DeviceConfig;
use sluice_stats::share;
use std::collections::BTreeMap;

/// What a live device can know of hits.
const HITS_ARE: &str = "traps on a page already in the cache: prefetched, sampled, or in flight \
     for another thread; accesses to mapped pages run at full speed and are not seen";

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With a status of its own.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

/// Everything known about a live run.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Device as named on the command line.
    pub device: &'a str,
    /// Its settings.
    pub config: &'a DeviceConfig,
    /// Seed.
    pub seed: u64,
    /// Command line of the program.
    pub command: &'a [String],
    /// `event` or `signal`.
    pub trap_mode: &'a str,
    /// `heap` or `dax:PATH`.
    pub place: &'a str,
    /// How it ended.
    pub exit: Exit,
    /// Wall time, s.
    pub wall_s: f64,
    /// Process id of the program itself.
    pub pid: u64,
    /// All processes of the session.
    pub processes: &'a [Process],
}

impl Exit {
    /// The object's `exit`.
    pub fn told(self) -> Value {
        match self {
            Exit::Code(code) => json!({ "code": code }),
            Exit::Signal(signal) => json!({ "signal": signal }),
        }
    }
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
        let images: BTreeMap<_, _> = self
            .processes
            .iter()
            .map(|p| ((p.pid, p.image), p))
            .collect();
        let is_exec = |p: &Process| !p.forked;
        let lost = self.processes.iter().filter(|p| {
            let next = images.get(&(p.pid, p.image + 1));
            p.replaced && !next.is_some_and(|next| is_exec(next))
        });
        let reached = self.processes.iter().filter(|p| {
            let before = p.image.checked_sub(1).and_then(|n| images.get(&(p.pid, n)));
            is_exec(p) && p.pid != self.pid && !before.is_some_and(|before| before.replaced)
        });
        let started: u64 = self.processes.iter().map(|p| p.started).sum();
        lost.count() as u64 + started.saturating_sub(reached.count() as u64)
    }

    /// The object: figures of the program itself, then a line for every process.
    pub fn object(&self) -> Value {
        let none = Vec::new();
        let get = |c: Counter| self.main().map_or(0, |p| p.get(c));
        let summary = |of: fn(&Process) -> &sluice_stats::Histogram| {
            self.main()
                .map(|p| of(p).summary_in_ns())
                .unwrap_or_default()
        };
        let counted = self.main().map_or(0, |p| p.achieved.count());
        let processes: Vec<Value> = self.processes.iter().map(Process::brief).collect();
        json!({
            "schema": SCHEMA,
            "kind": "run",
            "device": self.device,
            "config": settings(self.config),
            "seed": self.seed,
            "version": env!("CARGO_PKG_VERSION"),
            "kernel": kernel(),
            "command": if self.command.is_empty() { &none } else { self.command },
            "trap_mode": self.trap_mode,
            "place": self.place,
            "hits_visible": "misses",
            "exit": self.exit.told(),
            "traps": get(Counter::Traps),
            "trap_kinds": {
                "miss": get(Counter::Misses),
                "soft": get(Counter::SoftTraps),
                "spurious": get(Counter::Spurious),
            },
            "cache": self.cache(),
            "latency_ns": {
                "modelled": summary(|p| &p.modelled),
                "achieved": summary(|p| &p.achieved),
            },
            "latency_parts_ns": self.parts(),
            "late": {
                "count": get(Counter::Late),
                "ratio": share(get(Counter::Late), counted),
            },
            "flash": {
                "reads": get(Counter::FlashReads),
                "programs": get(Counter::FlashPrograms),
                "erases": get(Counter::Erases),
                "gc_moves": get(Counter::GcMoves),
                "write_amplification":
                    share(get(Counter::FlashPrograms), get(Counter::HostPrograms)),
                "writes_refused": get(Counter::WritesRefused),
            },
            "commands": {
                "answered": get(Counter::Commands),
                "refused": get(Counter::CommandsRefused),
                "prefetched": get(Counter::CommandPrefetches),
                "evicted": get(Counter::CommandEvictions),
                "flushed": get(Counter::Flushes),
                "pinned": get(Counter::Pins),
                "settings_changed": get(Counter::Tunes),
            },
            "memory": self.memory(),
            "host": {
                "entry_ns": get(Counter::EntryNs),
                "exit_ns": get(Counter::ExitNs),
                "forks": get(Counter::Forks),
                "kernel_faults": get(Counter::KernelFaults),
                "programs_outside": self.programs_outside(),
            },
            "wall_s": self.wall_s,
            "processes": processes,
        })
    }

    /// What the device knows of its cache.
    fn cache(&self) -> Value {
        let get = |c: Counter| self.main().map_or(0, |p| p.get(c));
        let (hits, misses) = (get(Counter::SoftTraps), get(Counter::Misses));
        let (issued, used) = (get(Counter::PrefetchIssued), get(Counter::PrefetchUsed));
        let late = get(Counter::PrefetchLate);
        json!({
            "hits": hits,
            "hits_are": HITS_ARE,
            "misses": misses,
            "hit_ratio": share(hits, hits + misses),
            "sampled": self.main().map_or(Value::Null, sampled),
            "evictions": get(Counter::Evictions),
            "policy_refused": get(Counter::PolicyRefused),
            "dirty_evictions": get(Counter::DirtyEvictions),
            "prefetch_issued": issued,
            "prefetch_used": used,
            "prefetch_late": late,
            "prefetch_unused": get(Counter::PrefetchUnused),
            "prefetch_dropped": get(Counter::PrefetchDropped),
            "prefetch_accuracy": share(used, issued),
            "prefetch_coverage": share(used, used + misses),
            "prefetch_timeliness": share(used.saturating_sub(late), used),
        })
    }

    /// The modelled time of a trap by cause, on average.
    fn parts(&self) -> Value {
        let get = |c: Counter| self.main().map_or(0, |p| p.get(c));
        let traps = get(Counter::Misses) + get(Counter::SoftTraps);
        crate::parts(
            Counter::PARTS.map(|(name, counter)| (name, get(counter))),
            traps,
        )
    }

    /// What the program did with device memory.
    fn memory(&self) -> Value {
        let get = |c: Counter| self.main().map_or(0, |p| p.get(c));
        json!({
            "placed_bytes": get(Counter::PlacedBytes),
            "reserved_bytes": get(Counter::ReservedBytes),
            "shared_bytes": get(Counter::SharedBytes),
            "trims": get(Counter::Trims),
            "pinned": get(Counter::Pinned),
        "pinned_errno": get(Counter::PinnedErrno),
            "host_pages": get(Counter::HostPages),
            "device_full": get(Counter::DeviceFull),
            "private_dax": get(Counter::PrivateDax),
        })
    }
}

/// The hit ratio by sampling: of the distinct pages a program uses within a window, the share that
/// was in the cache. Null without samples.
fn sampled(of: &Process) -> Value {
    let pages = of.get(Counter::SampledPages);
    if pages == 0 {
        return Value::Null;
    }
    let mean = |sum: Counter| of.get(sum) as f64 / pages as f64;
    let window_ns = mean(Counter::SampledWindowNs);
    let used = mean(Counter::SampledTouched) * mean(Counter::SampledMapped);
    let windows = of.get(Counter::LastTrapNs) as f64 / window_ns;
    let missed = of.get(Counter::Misses) as f64 / windows;
    json!({
        "hit_ratio": used / (used + missed),
        "window_s": window_ns / 1e9,
        "pages": pages,
        "touched": of.get(Counter::SampledTouched),
        "cached_pages_used_per_window": used,
        "misses_per_window": missed,
    })
}

fn kernel() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().to_string()
}
