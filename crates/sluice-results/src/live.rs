//! The result of a live run.

use crate::counts::{counts, of_process};
use crate::{
    Cache, Counted, DeviceParts, Flash, Guest, Hints, HitTimes, Machine, MissLatency, MissProfile,
    NotApplied, OneOfSeveral, OtherProcesses, ProcessResult, Region, Schema, Settings,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sluice_abi::{
    command_counters, commanded_counters, host_counters, late_counters, memory_counters,
    migration_counters, store_counters, trap_counters,
};

/// The kind of a live run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LiveKind {
    /// `sluice run`.
    #[default]
    Run,
    /// `sluice vm`.
    Vm,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Exit {
    /// With a status of its own.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

/// A program, or a guest, on the emulated device (`sluice run`, `sluice vm`).
///
/// The figures are those of the program itself: of the process that was started, and of its last
/// image if it called `exec`. Its children have their own lines in `processes`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveRun {
    /// Version of the fields.
    pub schema: Schema,
    /// Which kind of result this is.
    pub kind: LiveKind,
    /// The device's preset or file, as named on the command line.
    pub device: String,
    /// Every parameter of the device as resolved, by key, as text.
    pub config: Settings,
    /// What is set of the run beside the device (`host.on_long_delay` and others), by key.
    pub live_config: Settings,
    /// Seed of every random stream.
    pub seed: u64,
    /// Version of Sluice.
    pub version: String,
    /// Release of the kernel.
    pub kernel: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// `event` or `signal`.
    pub trap_mode: String,
    /// `heap` or `dax:PATH`; of a guest `guest:` and how the device is attached.
    pub place: String,
    /// What the device saw: only accesses that trap (`misses`).
    pub hits_visible: String,
    /// How the program ended: `{"code": N}`, or `{"signal": N}`.
    pub exit: Exit,
    /// What the device did.
    #[serde(flatten)]
    pub figures: Figures,
    /// The part of the run that these figures are of: all of it, but for `--count-after` and
    /// `sluice ctl reset`.
    pub counted: Counted,
    /// The figures from each mark to the next (`sluice_mark`, `sluice ctl mark`). Empty without
    /// marks.
    pub regions: Vec<Region>,
    /// What a hit takes, on the device and on this host.
    pub hit_times: HitTimes,
    /// Parameters that hits do not take, because they run at this host's speed.
    pub not_applied: Vec<NotApplied>,
    /// What commands of the [control ring](../control-ring.md) did.
    pub commands: Commands,
    /// What hints of the program did.
    pub hints: Hints,
    /// What the program did with device memory.
    pub memory: Memory,
    /// Where the heap's evicted pages were (`--store`).
    pub store: StoreFigures,
    /// Pages that moved to host memory and back (`host.migration.policy`).
    pub migration: LiveMigration,
    /// What the host did for the program.
    pub host: HostFigures,
    /// From the start of the program to its end, s.
    pub wall_s: f64,
    /// Every process and every program image that has a line of its own, in order of start: the
    /// program itself, and of the others the 256 with the most traps.
    pub processes: Vec<ProcessResult>,
    /// The others together. `null` if each has a line.
    #[serde(default)]
    pub other_processes: Option<OtherProcesses>,
    /// Which allocations and which threads the misses of the whole run belong to, of the processes
    /// with a line of their own. Only with `--profile`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<MissProfile>,
    /// The guest's machine. Only of `sluice vm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<Machine>,
    /// What the guest said. Only with `sluice vm --demo`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Guest>,
    /// The figures of the guest's command alone, without the boot. Only with `sluice vm --demo`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadFigures>,
    /// All devices of a guest that has several (`--another`). The figures above are the first
    /// one's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<OneOfSeveral>,
}

/// What a live device did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// Faults on pages of the device, but for those that found it mapped (`trap_kinds.spurious`).
    pub traps: u64,
    /// Traps by kind.
    pub trap_kinds: TrapKinds,
    /// What the device's cache did.
    pub cache: Cache,
    /// Latencies of waits for pages that were not there, ns.
    pub latency_ns: MissLatency,
    /// The modelled time of a trap, by cause, on average, ns.
    pub latency_parts_ns: DeviceParts,
    /// Waits that the runtime could not end in time.
    pub late: Late,
    /// What the flash did.
    pub flash: Flash,
}

/// The figures of a guest's command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadFigures {
    /// What the device did meanwhile.
    #[serde(flatten)]
    pub figures: Figures,
    /// How long the command took, on the host, s. `null` if it did not end.
    pub wall_s: Option<f64>,
}

trap_counters! { [counts] {
    /// Traps by kind.
    TrapKinds
} }
trap_counters! { [of_process] TrapKinds; }

late_counters! { [counts] {
    /// Waits that the runtime could not end in time.
    LateCounts
} }
late_counters! { [of_process] LateCounts; }

/// Waits that the runtime could not end in time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Late {
    /// Counters.
    #[serde(flatten)]
    pub counts: LateCounts,
    /// `count` ÷ the waits that were timed, `latency_ns.achieved.count`: not ÷ `cache.misses`.
    pub ratio: Option<f64>,
}

command_counters! { [counts] {
    /// What the server of the control ring did.
    CommandCounts
} }
command_counters! { [of_process] CommandCounts; }
commanded_counters! { [counts] {
    /// What commands made the device do.
    CommandedCounts
} }
commanded_counters! { [of_process] CommandedCounts; }

/// What commands of the control ring did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Commands {
    /// What the server did.
    #[serde(flatten)]
    pub served: CommandCounts,
    /// What the device did.
    #[serde(flatten)]
    pub done: CommandedCounts,
}

memory_counters! { [counts] {
    /// What the program did with device memory.
    MemoryCounts
} }
memory_counters! { [of_process] MemoryCounts; }

/// What the program did with device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Counters.
    #[serde(flatten)]
    pub counts: MemoryCounts,
    /// Pages that the program gave back (`munmap`, `MADV_DONTNEED`).
    pub trims: u64,
}

store_counters! { [counts] {
    /// What the file did that has evicted pages.
    StoreCounts
} }
store_counters! { [of_process] StoreCounts; }

/// Where the heap's evicted pages were, and what that took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoreFigures {
    /// `dram`, or `file:FOLDER`.
    pub place: String,
    /// Counters; all 0 in DRAM.
    #[serde(flatten)]
    pub counts: StoreCounts,
}

migration_counters! { [counts] {
    /// Pages that moved to host memory and back.
    LiveMigration
} }
migration_counters! { [of_process] LiveMigration; }

host_counters! { [counts] {
    /// What the host did for the program.
    HostCounts
} }
host_counters! { [of_process] HostCounts; }

/// What the host did for the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostFigures {
    /// Counters.
    #[serde(flatten)]
    pub counts: HostCounts,
    /// Programs that were started, by whichever process, and that the preload library did not
    /// reach: statically linked, set-user-ID, of another machine or C library, or without
    /// `LD_PRELOAD`.
    pub programs_outside: u64,
}
