//! The result of `sluice curve`.

use crate::Settings;
use crate::latency::{Distribution, SummarySchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sluice_stats::Summary;

/// Version of the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CurveSchema {
    /// The only one so far.
    #[default]
    #[serde(rename = "sluice.curve/1")]
    Curve1,
}

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CurveOn {
    /// The device model alone, in virtual time.
    Simulated,
    /// A simulated host with its device, in virtual time.
    System,
    /// A simulated fabric, in virtual time.
    Fabric,
    /// A program whose memory was on the device, in wall time.
    Live,
    /// A program on this host's own memory, in wall time.
    Host,
}

/// Bandwidth against latency (`sluice curve`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveResult {
    /// Version of the fields.
    pub schema: CurveSchema,
    /// What was measured.
    pub on: CurveOn,
    /// The device's, the system's or the fabric's name or file, as on the command line. `null` of
    /// the host.
    pub device: Option<String>,
    /// Every parameter of the device, the system or the fabric, as resolved, by key, as text.
    /// `null` of the host.
    pub config: Option<Settings>,
    /// Seed of every random stream.
    pub seed: u64,
    /// Version of Sluice.
    pub version: String,
    /// What the threads did.
    pub traffic: CurveTraffic,
    /// One for each pace, from the slowest to the fastest.
    pub loads: Vec<CurveLoad>,
    /// The place in `loads` at which bandwidth by latency is largest. `null` without dependent
    /// loads beside the threads, or with a single pace.
    pub knee: Option<u64>,
}

/// What the threads of a curve do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveTraffic {
    /// Threads, or requesters of a fabric, each in a region of its own.
    pub threads: u64,
    /// Bytes of a region.
    pub size_bytes: u64,
    /// Bytes from one place to the next.
    pub stride_bytes: u64,
    /// `order`: by address; `random`: each place drawn.
    pub walk: String,
    /// Loads of 100 accesses.
    pub reads_percent: u64,
    /// `cached`: through the host's caches; `nontemporal`: past them.
    pub store: String,
    /// Accesses of a thread under way at once. `null` where the processor decides, or the fabric's
    /// `requester.depth`.
    pub depth: Option<u64>,
    /// Cores that the threads share; 0: one for each. Of a system all of its cores.
    pub cores: u64,
    /// How far ahead of its thread a helper loads pages, bytes; 0: there are none.
    pub ahead_bytes: u64,
    /// Bytes in which one more thread makes dependent loads; 0: there is none.
    pub chase_bytes: u64,
    /// Times that each thread goes through its region.
    pub passes: u64,
    /// `warm`: each page was loaded once before; `cold`: none was.
    pub start: String,
    /// The NUMA node that the memory is bound to. `null`: it is not bound.
    pub numa_node: Option<u64>,
}

/// The threads at one pace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveLoad {
    /// From the beginning of a thread's access to that of its next, at least, ns.
    pub pace_ns: f64,
    /// Bytes that the threads loaded and stored in a second: 64 for each access, of a fabric
    /// `packet.payload`.
    pub bytes_per_s: f64,
    /// Accesses of the threads.
    pub accesses: u64,
    /// From the first access to the end of the last thread's last one, s.
    pub time_s: f64,
    /// Of the device's accesses, those that brought their page in. `null` of the host, and of a
    /// fabric without devices.
    pub misses: Option<u64>,
    /// Latencies of the threads' accesses, ns, those that found their page on its way among them.
    /// `null` where they are not timed one by one.
    pub latency_ns: Option<Distribution>,
    /// Latencies of the threads' accesses whose page was cached, ns. `null` where they are not
    /// timed one by one.
    #[schemars(with = "Option<SummarySchema<f64>>")]
    pub hit_latency_ns: Option<Summary<f64>>,
    /// Latencies of those that brought their page in, ns. `null` where they are not timed one by
    /// one.
    #[schemars(with = "Option<SummarySchema<f64>>")]
    pub miss_latency_ns: Option<Summary<f64>>,
    /// Latencies of the dependent loads, ns. `null` without them.
    #[schemars(with = "Option<SummarySchema<f64>>")]
    pub chase_latency_ns: Option<Summary<f64>>,
    /// Of everything at this pace: equal runs have the same. `null` of what is measured.
    pub hash: Option<String>,
}

impl CurveResult {
    /// The load with the most bandwidth by latency (Kleinrock's power, 1979), if there are several
    /// and any thread made accesses.
    /// Latency is the median: in wall time a mean is that of the longest interruption.
    #[must_use]
    pub fn knee_of(loads: &[CurveLoad]) -> Option<u64> {
        let power = |load: &CurveLoad| Some(load.bytes_per_s / load.chase_latency_ns?.p50);
        let powers: Option<Vec<f64>> = loads.iter().map(power).collect();
        let is_loaded = loads.iter().any(|load| load.accesses > 0);
        let powers = powers.filter(|powers| powers.len() > 1 && is_loaded)?;
        let most = powers
            .iter()
            .enumerate()
            .max_by(|a, b| a.1.total_cmp(b.1))?;
        Some(most.0 as u64)
    }
}
