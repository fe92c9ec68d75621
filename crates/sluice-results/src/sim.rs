//! The result of a workload on a simulated device.

use crate::{
    AccessLatency, BlockDoor, Cache, DeviceParts, Flash, Lines, Schema, Served, Settings, WriteLog,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of a device's simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SimKind {
    /// `sluice sim`.
    #[default]
    Sim,
}

/// A workload on a simulated device (`sluice sim`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimResult {
    /// Version of the fields.
    pub schema: Schema,
    /// Which kind of result this is.
    pub kind: SimKind,
    /// The device's preset or file, as named on the command line.
    pub device: String,
    /// Every parameter of the device as resolved, by key, as text.
    pub config: Settings,
    /// Seed of every random stream.
    pub seed: u64,
    /// Version of Sluice.
    pub version: String,
    /// The access pattern, or `trace:` and the file.
    pub workload: String,
    /// What the device saw: `all` accesses, or only those that trap (`misses`).
    pub hits_visible: String,
    /// Accesses before counting began, to warm the device. No other figure has them but `hash`, and
    /// what counts from the device's beginning: `lines`, `write_log.index_bytes_max`, and wear.
    pub warmup_accesses: u64,
    /// Accesses issued.
    pub accesses: u64,
    /// Accesses to mapped pages, which the device did not see.
    pub mapped_hits: u64,
    /// Accesses to pages that were not mapped.
    pub traps: u64,
    /// What the device's cache did.
    pub cache: Cache,
    /// Latencies, ns.
    pub latency_ns: AccessLatency,
    /// The modelled time of an access that the device saw, by cause, on average, ns.
    pub latency_parts_ns: DeviceParts,
    /// Where accesses were served.
    pub served: Served,
    /// What the write log did. `null` without one.
    pub write_log: Option<WriteLog>,
    /// Lines of the pages that left. `null` without `cache.track_lines = yes`.
    pub lines: Option<Lines>,
    /// What the block door did. Absent if nobody asked there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<BlockDoor>,
    /// What the flash did.
    pub flash: Flash,
    /// Simulated time, s.
    pub sim_time_s: f64,
    /// Of the whole run: two with the same input have the same, and two with other warm-ups others.
    pub hash: String,
}
