//! What an access takes on a device at rest, by its parameters alone.

use sluice_model::{DeviceConfig, Op, ServedBy, Stats, StoreMiss, WritePolicy};
use sluice_units::Ps;

/// The shortest and the longest time of an access that found its page there, and that counted this.
/// They differ as pages of cells of several bits do. `None` if it has set something else in motion
/// that it may wait for, or if the banks of a standard decide.
pub fn of(config: &DeviceConfig, op: Op, served_by: u64, counted: &Stats) -> Option<[Ps; 2]> {
    if config.dram.is_some() {
        return None;
    }
    let cache = &config.cache;
    let log = config.write_log.as_ref();
    let index = cache.index_latency;
    let both = log.map_or(index, |log| log.index_latency.max(index));
    let link = config.protocol_latency + config.line_time().unwrap_or_default();
    let found = link + index + cache.hit_latency;
    let behind = link + both + cache.hit_latency;
    let programs = counted.host_programs + counted.translation_programs + counted.gc_moves;
    let others = programs + counted.erases + counted.translation_reads + counted.read_retries;
    let ahead = counted.prefetch_issued + counted.prefetch_dropped;
    if served_by == ServedBy::WriteLog as u64 {
        return Some([behind; 2]);
    }
    if served_by == ServedBy::CacheHit as u64 {
        let awaits =
            op == Op::Write && cache.write == WritePolicy::Through && cache.awaits_programs;
        return (!awaits).then_some([found; 2]);
    }
    if others + ahead > 0 {
        return None;
    }
    let waits = op == Op::Read || cache.store_miss != StoreMiss::Merge;
    let reads = u64::from(waits) * counted.flash_reads;
    let room = cache.replacement * counted.evictions;
    let types = &config.nand.read_by_type[..config.nand.pages_per_cell as usize];
    let channel = config.nand.transfer + config.nand.command;
    let of = |sensed: Option<&Ps>| {
        let sensed = *sensed.expect("a type of page");
        behind + room + (sensed + channel) * reads
    };
    Some([of(types.iter().min()), of(types.iter().max())])
}
