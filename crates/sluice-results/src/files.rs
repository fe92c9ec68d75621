//! The result of `sluice files`.

use crate::latency::Distribution;
use crate::{CacheCounts, Settings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FilesSchema {
    /// The only one so far.
    #[default]
    #[serde(rename = "sluice.files/1")]
    Files1,
}

/// Threads that reach their data as a file (`sluice files`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FilesResult {
    /// Version of the fields.
    pub schema: FilesSchema,
    /// The device's preset or file, as named on the command line.
    pub device: String,
    /// Every parameter of the device as resolved, by key, as text.
    pub config: Settings,
    /// Seed of every random stream.
    pub seed: u64,
    /// Version of Sluice.
    pub version: String,
    /// What the threads did.
    pub files: FilesTraffic,
    /// Bytes read or written in a second, in the last pass, like all that follows.
    pub bytes_per_s: f64,
    /// Requests; through `mmap`, pages.
    pub requests: u64,
    /// From the first request to the end of the last one, s.
    pub time_s: f64,
    /// Latencies of requests, ns.
    pub latency_ns: Distribution,
    /// Pages that the SSD was asked to read.
    pub block_reads: u64,
    /// Pages that the SSD was asked to write.
    pub block_writes: u64,
    /// Misses of the device's cache by loads and stores.
    pub misses: u64,
    /// What the device's cache did.
    pub cache: CacheCounts,
    /// Of the whole result: equal runs have the same.
    pub hash: String,
}

/// What the threads do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FilesTraffic {
    /// `mmap`, `read`, `direct`, `block-cache` or `file`.
    pub through: String,
    /// Threads, each with a part of the file.
    pub threads: u64,
    /// Cores that they share.
    pub cores: u64,
    /// Bytes of a part.
    pub size_bytes: u64,
    /// Bytes of a request.
    pub io_bytes: u64,
    /// Whether requests come in the order of a permutation, the same in each pass.
    pub random: bool,
    /// Whether requests write.
    pub write: bool,
    /// Times through the file.
    pub passes: u64,
    /// Bytes of the cache of blocks.
    pub host_cache_bytes: u64,
    /// The most bytes that the page cache reads ahead.
    pub readahead_bytes: u64,
    /// The program's advice to the page cache: `normal`, `sequential` or `random`.
    pub advice: String,
    /// Software of a request, or of a fault that has to read, ns.
    pub request_ns: f64,
    /// A fault on a page that the page cache has, ns.
    pub minor_fault_ns: f64,
    /// Looking up a page in the cache of blocks, ns.
    pub lookup_ns: f64,
    /// From one thread to another on a core, ns.
    pub switch_ns: f64,
    /// A page of host memory read or copied, ns.
    pub copy_ns: f64,
    /// Lines that a core has under way when it copies from or to the device.
    pub depth: u64,
}
