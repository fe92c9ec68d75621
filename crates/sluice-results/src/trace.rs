//! The result of `sluice trace info`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sluice_trace::Header;

/// Version of the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TraceInfoSchema {
    /// The only one so far.
    #[default]
    #[serde(rename = "sluice.trace-info/1")]
    TraceInfo1,
}

/// What is in a trace (`sluice trace info`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceInfo {
    /// Version of the fields.
    pub schema: TraceInfoSchema,
    /// The file.
    pub file: String,
    /// How the trace was made.
    pub header: Header,
    /// What is left out, if the trace was not finished. `null` if it was.
    pub unfinished: Option<String>,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Blocks of the file.
    pub blocks: usize,
    /// Accesses, of every kind.
    pub accesses: u64,
    /// Bytes of the file for an access.
    pub bytes_per_access: Option<f64>,
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
    /// Fetches of instructions.
    pub fetches: u64,
    /// Reads, writes, trims and flushes by the block door; a large request is several.
    #[serde(default)]
    pub block_requests: u64,
    /// stores ÷ (loads + stores).
    pub store_ratio: Option<f64>,
    /// Bytes loaded.
    pub loaded_bytes: u64,
    /// Bytes stored.
    pub stored_bytes: u64,
    /// Instructions of all CPUs.
    pub instructions: u64,
    /// Instructions for a load or store.
    pub instructions_per_access: Option<f64>,
    /// What each CPU did.
    pub cpus: Vec<CpuAccesses>,
    /// Which memory was accessed.
    pub footprint: Footprint,
    /// How soon pages were accessed again. `null` without `--reuse`.
    pub reuse: Option<Reuse>,
}

/// What a CPU did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuAccesses {
    /// Accesses, of every kind.
    pub accesses: u64,
    /// Instructions executed.
    pub instructions: u64,
}

/// Which memory was accessed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Footprint {
    /// Pages.
    pub pages: u64,
    /// Size of a page, bytes.
    pub page_bytes: u64,
    /// All pages, bytes.
    pub bytes_in_pages: u64,
    /// Lines.
    pub lines: u64,
    /// Size of a line, bytes.
    pub line_bytes: u64,
    /// All lines, bytes.
    pub bytes_in_lines: u64,
    /// Lines of a page that were accessed, on average.
    pub lines_per_page: Option<f64>,
    /// The lowest address. `null` without accesses.
    pub lowest: Option<u64>,
    /// The highest address. `null` without accesses.
    pub highest: Option<u64>,
}

/// How soon pages were accessed again, and what that means for caches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reuse {
    /// Accesses to another page than the access before.
    pub touches: u64,
    /// Touches by the number of other pages in between.
    pub distances: Vec<ReuseDistance>,
    /// What caches with LRU would do, by their size.
    pub lru: Vec<LruSize>,
}

/// Touches with about the same distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReuseDistance {
    /// Other pages in between, at least; at most twice as many.
    pub from: u64,
    /// How many touches.
    pub count: u64,
}

/// What a cache with LRU would do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LruSize {
    /// Pages that the cache holds.
    pub pages: u64,
    /// Touches that miss.
    pub misses: u64,
    /// misses ÷ touches.
    pub miss_ratio: Option<f64>,
}

/// Version of the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TraceRecordSchema {
    /// The only one so far.
    #[default]
    #[serde(rename = "sluice.trace-record/1")]
    TraceRecord1,
}

/// What was recorded into a trace (`sluice trace record`, `sluice vm --record`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceRecord {
    /// Version of the fields.
    pub schema: TraceRecordSchema,
    /// The file.
    pub file: String,
    /// What was executed.
    pub command: Vec<String>,
    /// What kept accesses out of the trace.
    pub filter: String,
    /// What QEMU's plugin counted.
    #[serde(flatten)]
    pub counted: RecordedAccesses,
    /// Bytes of the file for an access.
    pub bytes_per_access: Option<f64>,
    /// Wall time, s.
    pub wall_s: f64,
    /// Accesses seen in a second of wall time.
    pub accesses_seen_per_s: f64,
    /// Version of Sluice.
    pub version: String,
}

/// What QEMU's plugin counted while it recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedAccesses {
    /// Accesses that QEMU reported.
    pub accesses_seen: u64,
    /// Of the accesses seen, those in the trace.
    pub accesses: u64,
    /// Instructions executed, by CPU.
    pub instructions: Vec<u64>,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Version of the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TraceConvertSchema {
    /// The only one so far.
    #[default]
    #[serde(rename = "sluice.trace-convert/1")]
    TraceConvert1,
}

/// What was converted (`sluice trace convert`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraceConvert {
    /// Version of the fields.
    pub schema: TraceConvertSchema,
    /// The format that was read.
    pub from: String,
    /// The format that was written.
    pub to: String,
    /// Accesses that were written.
    pub accesses: u64,
    /// Fetches of instructions that were left out (`--fetches` keeps them).
    pub fetches_left_out: u64,
    /// What the other format has no place for.
    pub lost: Vec<String>,
    /// What was assumed.
    pub notes: Vec<String>,
}
