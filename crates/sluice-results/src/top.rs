//! The result of `sluice top --json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TopSchema {
    /// The only one so far.
    #[default]
    #[serde(rename = "sluice.top/1")]
    Top1,
}

/// What the devices on this host are doing (`sluice top --json`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Top {
    /// Version of the fields.
    pub schema: TopSchema,
    /// Processes on a device, those with most misses first.
    pub processes: Vec<TopRow>,
}

/// What a process did in a while, and what it is now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TopRow {
    /// Process id.
    pub pid: u64,
    /// Its command line.
    pub command: String,
    /// The name of its device, if that is one beside its first (`sluice vm --another`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Traps in a second.
    pub traps_per_s: f64,
    /// Misses in a second.
    pub misses_per_s: f64,
    /// Traps on a page in the cache ÷ traps, of the interval.
    pub hit_ratio: Option<f64>,
    /// Share of the timed misses that were late, of the interval.
    pub late_ratio: Option<f64>,
    /// What the program waited for its misses, since its start.
    pub latency_us: TopLatency,
    /// Evictions in a second.
    pub evictions_per_s: f64,
    /// NAND reads in a second.
    pub flash_reads_per_s: f64,
    /// NAND programs in a second.
    pub flash_programs_per_s: f64,
    /// Pages moved by garbage collection in a second.
    pub gc_moves_per_s: f64,
    /// Pages in the cache or on their way there.
    pub cached_pages: u64,
    /// Pages that are pinned.
    pub pinned_pages: u64,
    /// The ranges of its memory with most misses in the interval, the hottest first; five at most.
    pub hottest: Vec<HotRange>,
}

/// A range of device memory, and the misses in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HotRange {
    /// Address of its first byte in the process; on the device, where that has no addresses of the
    /// process (shared memory, a guest).
    pub address: u64,
    /// Its length, B.
    pub bytes: u64,
    /// Misses in a second.
    pub misses_per_s: f64,
}

/// Percentiles of what a program waited, µs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TopLatency {
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
}
