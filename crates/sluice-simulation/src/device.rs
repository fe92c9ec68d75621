//! What a simulated device did, as parts of the object. Counters are those of the device, or of a
//! part of its life.

use serde_json::{Value, json};
use sluice_model::{Device, Stats};

pub(crate) const PS_PER_NS: f64 = 1e3;
pub(crate) const PS_PER_S: f64 = 1e12;

/// The time of an access that the device saw, by cause, on average.
pub(crate) fn parts(stats: &Stats) -> Value {
    let sums = stats.parts.named().map(|(name, part)| (name, part.0));
    sluice_results::parts(sums, stats.accesses())
}

/// Where the accesses that the device saw were served, each once.
pub(crate) fn served(stats: &Stats) -> Value {
    json!({
        "cache": stats.hits,
        "merge": stats.mshr_merges,
        "flash": stats.misses,
        "write_log": stats.write_log.served(),
        "stalled": stats.mshr_stalls,
    })
}

/// What the write log did, if there is one.
pub(crate) fn write_log(stats: &Stats, device: &Device) -> Value {
    let stats = stats.write_log;
    device.config().write_log.as_ref().map_or(Value::Null, |_| {
        json!({
            "appends": stats.appends,
            "superseded": stats.superseded,
            "hits": stats.hits,
            "stalls": stats.stalls,
            "stall_ns": stats.stall_ps as f64 / PS_PER_NS,
            "compactions": stats.compactions,
            "pages_flushed": stats.pages_flushed,
            "lines_flushed": stats.lines_flushed,
            "compaction_reads": stats.compaction_reads,
            "dropped": stats.dropped,
            "index_bytes_max": stats.index_bytes_max,
        })
    })
}

/// How many lines were used of the pages that left, if that was tracked.
pub(crate) fn lines(device: &Device) -> Value {
    device.line_use().map_or(Value::Null, |lines| {
        json!({
            "touched_of_evicted": lines.touched_of_evicted(),
            "written_of_programmed": lines.written_of_programmed(),
        })
    })
}

pub(crate) fn flash(stats: &Stats, device: &Device) -> Value {
    let wear = device.wear();
    json!({
        "reads": stats.flash_reads,
        "programs": stats.flash_programs,
        "erases": stats.erases,
        "gc_moves": stats.gc_moves,
        "write_amplification": stats.write_amplification().map(|ratio| ratio.to_f64()),
        "read_retries": stats.read_retries,
        "suspensions": stats.suspensions,
        "forced_writes": stats.forced_writes,
        "wear_moves": stats.wear_moves,
        "bad_blocks": stats.bad_blocks,
        "factory_bad_blocks": device.config().nand.bad_blocks,
        "writes_refused": stats.writes_refused,
        "read_only": device.is_read_only(),
        "erases_of_a_line": {"least": wear.least, "most": wear.most, "total": wear.total},
    })
}
