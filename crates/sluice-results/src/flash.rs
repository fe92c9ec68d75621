//! What is behind a device's cache: flash, its lines, the write log.

use crate::Distribution;
use crate::counts::{counts, of_process, of_stats};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sluice_abi::flash_counters;
use sluice_model::{Stats, WriteLogStats, write_log_counters};

flash_counters! { [counts] {
    /// Counters of the flash.
    FlashCounts
} }
flash_counters! { [of_stats] FlashCounts, Stats; }
flash_counters! { [of_process] FlashCounts; }

write_log_counters! { [counts] {
    /// Counters of the write log.
    WriteLogCounts
} }
write_log_counters! { [of_stats] WriteLogCounts, WriteLogStats; }

/// What the flash behind the cache did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flash {
    /// Counters.
    #[serde(flatten)]
    pub counts: FlashCounts,
    /// Programs ÷ programs that the host's writes asked for.
    pub write_amplification: Option<f64>,
    /// Blocks that were bad when the device was made and never used (`nand.bad_blocks`).
    pub factory_bad_blocks: u64,
    /// Whether the device has come to its end, and refuses writes. `null` live, where only
    /// `writes_refused` shows it.
    pub read_only: Option<bool>,
    /// Erases of the lines (a block, or a superblock) of the host's data, of the device's whole
    /// life. Those of the map's lines (`ftl.mapping=dftl`) are in `erases` alone. `null` live,
    /// where the device keeps them to itself.
    pub erases_of_a_line: Option<LineErases>,
}

/// How evenly lines (a block, or a superblock) were erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LineErases {
    /// Of the least worn line.
    pub least: u64,
    /// Of the most worn line.
    pub most: u64,
    /// Of all lines.
    pub total: u64,
}

/// Accesses that the device saw, each attributed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Served {
    /// In the cache.
    pub cache: u64,
    /// On its way into the cache for an earlier access or a prefetch.
    pub merge: u64,
    /// Behind the cache.
    pub flash: u64,
    /// In the write log: every store, if there is one, and loads of a line in it.
    pub write_log: u64,
    /// Of `cache`, `merge` and `flash`, those that had to wait to be taken in.
    pub stalled: u64,
}

/// What the write log did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WriteLog {
    /// Counters.
    #[serde(flatten)]
    pub counts: WriteLogCounts,
    /// How long appends waited for a free buffer, all together, ns.
    pub stall_ns: f64,
    /// The most memory that the log's index needed in the device's whole life, bytes: 16 for a
    /// page, 4 for a slot.
    pub index_bytes_max: u64,
}

/// What came by the block door: requests for whole pages, which are no accesses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockDoor {
    /// Requests.
    pub requests: u64,
    /// Pages read.
    pub pages_read: u64,
    /// Pages read that came from the cache.
    pub cache_hits: u64,
    /// Pages written.
    pub pages_written: u64,
    /// Pages trimmed.
    pub pages_trimmed: u64,
    /// Flushes.
    pub flushes: u64,
    /// Cached pages that flushes programmed. What they program of the write buffer
    /// (`ftl.write_buffer`) is in `programs` alone.
    pub pages_flushed: u64,
    /// Requests that the device refused.
    pub refused: u64,
    /// Latencies of requests, ns.
    pub latency_ns: Distribution,
}

/// How many of the 64-byte lines of pages were used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lines {
    /// Pages that left to make room, by the number of lines accessed.
    pub touched_of_evicted: Vec<u64>,
    /// Programs of cached pages, by the number of lines stored to.
    pub written_of_programmed: Vec<u64>,
}
