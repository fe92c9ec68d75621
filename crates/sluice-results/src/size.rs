//! The result of `sluice size`.

use crate::Settings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SizeSchema {
    /// The only one so far.
    #[default]
    #[serde(rename = "sluice.size/1")]
    Size1,
}

/// Where the accesses come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SizeMethod {
    /// A trace has every access.
    Trace,
    /// A live run recorded those that miss a small cache.
    Filtered,
    /// A live run recorded every access to some of the pages, chosen by a hash.
    Sampled,
}

/// How large a cache a program needs (`sluice size`).
///
/// Hit ratios are of the accesses that a cache could hit: first accesses to a page are counted
/// apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeResult {
    /// Version of the fields.
    pub schema: SizeSchema,
    /// The program and its arguments, or `trace:` and the file.
    pub workload: String,
    /// The device's preset or file, as named on the command line.
    pub device: String,
    /// Every parameter of the device as resolved, by key, as text. Its `cache.capacity` is not one
    /// of `sizes`.
    pub config: Settings,
    /// Seed of every random stream.
    pub seed: u64,
    /// Version of Sluice.
    pub version: String,
    /// Where the accesses come from.
    pub method: SizeMethod,
    /// What counts as an access.
    pub accesses_are: String,
    /// Accesses counted. Of a sample, an estimate.
    pub accesses: u64,
    /// Of the accesses, first ones to a page. They miss in a cache of any size.
    pub first_accesses: u64,
    /// All pages that were accessed, bytes.
    pub footprint_bytes: u64,
    /// Nothing is known of caches smaller than this, bytes.
    pub smallest_bytes: u64,
    /// The hit ratio that was asked for.
    pub target_hit_ratio: f64,
    /// What it takes, for each policy.
    pub answers: Vec<SizeAnswer>,
    /// Where more cache begins to buy less, under LRU. `null` where there is no such place.
    pub knee: Option<SizeKnee>,
    /// Caches of some sizes.
    pub sizes: Vec<SizePoint>,
    /// Hit ratios of LRU, from the smallest cache to one that holds all, at most so many points as
    /// a picture can show.
    pub curve: Vec<CurvePoint>,
    /// The run that recorded the accesses. `null` of a trace.
    pub profile: Option<SizeProfile>,
}

/// The smallest cache with the hit ratio that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeAnswer {
    /// The eviction policy.
    pub policy: String,
    /// Whether the policy was asked for, or else is the device's own. LRU is there always.
    pub asked: bool,
    /// The cache, bytes. `null` if no cache has that hit ratio.
    pub cache_bytes: Option<u64>,
    /// What twice that cache adds to the hit ratio.
    pub twice_adds: Option<f64>,
}

/// The size farthest from the straight line between the ends of the curve (Satopaa and others,
/// Finding a "Kneedle" in a haystack, 2011).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeKnee {
    /// The cache, bytes.
    pub cache_bytes: u64,
    /// Its hit ratio under LRU.
    pub hit_ratio: f64,
}

/// A cache of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizePoint {
    /// The cache, bytes.
    pub cache_bytes: u64,
    /// By policy, what it would do.
    pub policies: BTreeMap<String, PolicyPoint>,
    /// How long the program would run on the device with this cache and the device's own policy,
    /// s. `null` where that is not known.
    pub run_time_s: Option<f64>,
}

/// A policy in a cache of one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyPoint {
    /// Misses but for first accesses.
    pub misses: u64,
    /// Hits ÷ accesses, both without first accesses.
    pub hit_ratio: Option<f64>,
}

/// A point of the curve of LRU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    /// The cache, bytes.
    pub cache_bytes: u64,
    /// Its hit ratio.
    pub hit_ratio: f64,
}

/// The run that recorded the accesses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeProfile {
    /// Wall time, s.
    pub wall_s: f64,
    /// Wall time without the traps, s: what the program computes by itself. Not less than its
    /// thread's time in user mode, nor more than all its processor time: it does not wait for
    /// others. `null` with several threads, whose traps overlap.
    pub without_traps_s: Option<f64>,
    /// Traps that were recorded.
    pub traps: u64,
    /// Of the traps, those that the record had no room for: the run's end is missing.
    pub traps_lost: u64,
    /// The share of pages that were watched.
    pub sampled_share: f64,
    /// The most threads that the program was seen to have, ten times a second: one that ends sooner
    /// may not be among them. With more than one, misses overlap, and the run time is not known.
    pub threads: u64,
}
