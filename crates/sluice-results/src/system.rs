//! The result of a program on a simulated host with its device.

use crate::counts::{counts, of_stats};
use crate::{
    Cache, DeviceParts, Distribution, Exit, Flash, FlashCounts, Guest, Lines, Program, Schema,
    Served, Settings, SimulatedMachine, WriteLog,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sluice_model::{MigrationStats, migration_counters};
use std::collections::BTreeMap;

/// The kind of a simulated host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SystemKind {
    /// `sluice sim --system`, `sluice run --simulate` and `sluice vm --simulate`.
    #[default]
    System,
}

/// A program on a simulated host with its device (`sluice sim --system`, `sluice run --simulate`).
///
/// Counts are of the measured part, without the warm-up and without what marks leave out. Only
/// `lines`, `flash.read_only`, `flash.erases_of_a_line` and `write_log.index_bytes_max` are of the
/// device's whole life, and `program` and `hash` of the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SystemResult {
    /// Version of the fields.
    pub schema: Schema,
    /// Which kind of result this is.
    pub kind: SystemKind,
    /// Name or file of the system, as named on the command line.
    pub system: String,
    /// What the program's memory and the capacities were divided by.
    pub scale: u32,
    /// Every parameter of the host and its device, by key, as text, at the sizes that were
    /// simulated: divided by `scale`.
    pub config: Settings,
    /// Where the program's pages are before it begins. `empty`: all in flash. `full`: in host
    /// memory and device cache as far as those have room. `others`: in flash, while host memory and
    /// cache are full of other pages (`host.start`). `host`: all in host memory. A trace and `run
    /// --simulate` begin `empty` unless `--set host.start` says otherwise, kernels as their system
    /// does.
    pub start: String,
    /// The kernel, as named on the command line, or `trace:` and the file, or a command line.
    pub workload: String,
    /// What ran.
    pub program: Program,
    /// Seed of every random stream but the program's.
    pub seed: u64,
    /// Version of Sluice.
    pub version: String,
    /// Instructions before counting began, as asked for.
    pub warmup_instructions: u64,
    /// What host and device did, in the part that counts.
    #[serde(flatten)]
    pub figures: SystemFigures,
    /// By name, what went on between the barriers of each phase that the kernel names. One under
    /// way when counting began or ended is left out.
    pub phases: BTreeMap<String, Phase>,
    /// With `--timeline`, a row for each stretch that is over; otherwise empty.
    pub timeline: Vec<Moment>,
    /// What the write log did. `null` without one.
    pub write_log: Option<WriteLog>,
    /// Lines of the pages that left. `null` without `cache.track_lines = yes`.
    pub lines: Option<Lines>,
    /// What the flash did.
    pub flash: Flash,
    /// A hash of the whole run: two runs with the same input have the same one.
    pub hash: String,
    /// The program that QEMU executed, and its arguments. Only of a program that QEMU executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// How the program ended: `{"code": N}`, or `{"signal": N}`. Only of one that QEMU executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// What the guest said. Only with `sluice vm --simulate --demo`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Guest>,
    /// The guest's machine. Only with `sluice vm --simulate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<SimulatedMachine>,
    /// From each mark of a program or guest to the next. Only of one that QEMU executed, and that
    /// set marks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<SystemRegion>,
    /// The part that counts. Only where marks say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<SystemCounted>,
}

/// What a simulated host and its device did, in a run or a part of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SystemFigures {
    /// Instructions retired.
    pub instructions: u64,
    /// Loads retired.
    pub loads: u64,
    /// Stores retired.
    pub stores: u64,
    /// stores ÷ (loads + stores).
    pub write_ratio: Option<f64>,
    /// Simulated time, s.
    pub time_s: f64,
    /// Instructions in a cycle of one core.
    pub ipc: Option<f64>,
    /// Where the cores' time went.
    pub bound: Bound,
    /// Caches of all cores together.
    pub levels: Levels,
    /// The TLBs of all cores together.
    pub tlb: Tlb,
    /// Accesses that left the processor.
    pub requests: Requests,
    /// Mean time of an access that left the processor and was not replayed later, ns (SkyByte
    /// Figure 17).
    pub amat_ns: Amat,
    /// Times of the accesses of `amat_ns`, ns (SkyByte Figure 3).
    pub latency_ns: Distribution,
    /// NAND reads that loads waited for, ns (SkyByte Table III).
    pub flash_read_ns: Distribution,
    /// What went over the link to the device.
    pub link: Link,
    /// Context switches.
    pub switches: u64,
    /// Reads answered with a long-delay message.
    pub long_delays: u64,
    /// Instructions given up at a switch, to be executed again.
    pub squashed: u64,
    /// Pages that moved between host memory and device.
    pub migration: Migration,
    /// What the device's cache did.
    pub cache: Cache,
    /// The modelled time of an access that the device saw, by cause, on average, ns.
    pub latency_parts_ns: DeviceParts,
    /// Where accesses that the device saw were served.
    pub served: Served,
}

/// A part of what QEMU executed, between two marks of the program or guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SystemRegion {
    /// The mark with which it begins. `null` for the start.
    pub from: Option<String>,
    /// Simulated time from the start until then, s.
    pub from_s: f64,
    /// What host and device did meanwhile.
    #[serde(flatten)]
    pub figures: SystemFigures,
    /// What the flash did meanwhile.
    pub flash: FlashCounts,
}

/// The part of what QEMU executed that the figures are of, where it is not all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SystemCounted {
    /// The mark with which it begins (`--from`, `--count-after`), or `reset`. `null` for the start.
    pub from: Option<String>,
    /// Simulated time from the start until then, s. `null` if a mark did not come: all counts.
    pub from_s: Option<f64>,
    /// The mark with which it ends (`--to`). `null` for the end.
    pub to: Option<String>,
}

/// Where the cores' time went, as shares of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bound {
    /// In cycles that issue an instruction other than a load or store (SkyByte section II-C).
    pub compute: Option<f64>,
    /// In cycles in which nothing but memory instructions goes on.
    pub memory: Option<f64>,
    /// In context switches.
    pub switching: Option<f64>,
    /// Without a thread to run.
    pub idle: Option<f64>,
}

/// Caches of all cores together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Levels {
    /// The L1 caches.
    pub l1: Level,
    /// The L2 caches.
    pub l2: Level,
    /// The L3 cache.
    pub l3: Level,
}

/// A level of caches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// Look-ups that found their line.
    pub hits: u64,
    /// Look-ups that did not find their line.
    pub misses: u64,
    /// Of the hits, those to a line that was still on its way.
    pub merges: u64,
    /// Lines written to the level below.
    pub write_backs: u64,
    /// Misses in a thousand instructions.
    pub mpki: Option<f64>,
    /// Time that misses waited for an MSHR, ns. At the L3 the waits of all misses add up, at an L1
    /// those of the first in its queue.
    pub mshr_wait_ns: f64,
}

/// The TLBs of all cores together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tlb {
    /// Accesses to a page that the TLB did not have.
    pub misses: u64,
    /// Misses in a thousand instructions.
    pub mpki: Option<f64>,
}

/// Accesses that left the processor, by the names of SkyByte's Figure 16.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Requests {
    /// Reads of host memory (H-R).
    pub h_r: u64,
    /// Writes of host memory (H-W).
    pub h_w: u64,
    /// Reads that the device had in its DRAM (S-R-H).
    pub s_r_h: u64,
    /// Reads that had to wait for flash (S-R-M).
    pub s_r_m: u64,
    /// Writes to the device (S-W).
    pub s_w: u64,
    /// All five.
    pub total: u64,
    /// The five as shares of the total.
    pub shares: RequestShares,
}

/// Kinds of accesses that left the processor, as shares of all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestShares {
    /// Reads of host memory.
    pub h_r: Option<f64>,
    /// Writes of host memory.
    pub h_w: Option<f64>,
    /// Reads that the device had in its DRAM.
    pub s_r_h: Option<f64>,
    /// Reads that had to wait for flash.
    pub s_r_m: Option<f64>,
    /// Writes to the device.
    pub s_w: Option<f64>,
}

/// Mean time of an access that left the processor and was not replayed later, ns. The parts add up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Amat {
    /// How many accesses these are.
    pub accesses: u64,
    /// In host memory.
    pub host_dram: Option<f64>,
    /// Mean time of the accesses of host memory that somebody asked for, reads and stores that
    /// miss, without lines written back: SkyByte's AMAT of DRAM-Only. No part of the total.
    pub host_demand: Option<f64>,
    /// On the link.
    pub protocol: Option<f64>,
    /// Finding out where the page is in the device.
    pub indexing: Option<f64>,
    /// In the device's DRAM.
    pub device_dram: Option<f64>,
    /// In flash, waiting for it included.
    pub flash: Option<f64>,
    /// The whole.
    pub total: Option<f64>,
}

/// What went over the link to the device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// Bytes of lines to the device.
    pub bytes_to_device: u64,
    /// Bytes of lines from the device.
    pub bytes_from_device: u64,
    /// Bytes to the device in a second, in 10^9.
    pub gb_s_to_device: Option<f64>,
    /// Bytes from the device in a second, in 10^9.
    pub gb_s_from_device: Option<f64>,
}

/// Pages that moved between host memory and device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Migration {
    /// Pages moved to host memory.
    pub promotions: u64,
    /// Pages moved back.
    pub demotions: u64,
    /// Of the demotions, those that had to be written.
    pub dirty_demotions: u64,
    /// Promotions given up for want of an entry of the look-aside buffer.
    pub buffer_full: u64,
    /// Promotions given up for want of host memory.
    pub no_room: u64,
    /// Accesses to a page under way whose line was still in the device.
    pub buffer_device: u64,
    /// Accesses to a page under way whose line had already moved.
    pub buffer_host: u64,
    /// TLB shootdowns.
    pub shootdowns: u64,
    /// Faults taken for sampling (`migration.policy = tpp`).
    pub samples: u64,
    /// The device's side.
    pub device: MigrationCounts,
}

migration_counters! { [counts] {
    /// What the device gave and got.
    MigrationCounts
} }
migration_counters! { [of_stats] MigrationCounts, MigrationStats; }

/// A phase that a kernel names.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Phase {
    /// How often it ran.
    pub times: u64,
    /// Simulated time of all of them, s.
    pub time_s: f64,
    /// Simulated time of the shortest, s.
    pub shortest_s: f64,
    /// Instructions of all times.
    pub instructions: u64,
    /// Accesses that left the processor.
    pub requests: Requests,
    /// Accesses that the device's cache had.
    pub cache_hits: u64,
    /// Accesses that the device's cache did not have, pages on their way included, which
    /// `cache` counts as hits.
    pub cache_misses: u64,
    /// cache_hits ÷ (cache_hits + cache_misses).
    pub cache_hit_ratio: Option<f64>,
}

/// A stretch of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// When it ended, from the beginning of the measured part, s.
    pub t_s: f64,
    /// Instructions retired.
    pub instructions: u64,
    /// Accesses that left the processor.
    pub accesses: u64,
    /// Accesses that waited for flash.
    pub flash: u64,
    /// Context switches.
    pub switches: u64,
    /// Pages promoted.
    pub promotions: u64,
    /// NAND programs.
    pub programs: u64,
}
