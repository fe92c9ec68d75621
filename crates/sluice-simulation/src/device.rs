//! What a simulated device did, as parts of a result. Counters are those of the device, or of a
//! part of its life.

use crate::units::PS_PER_NS;
use sluice_driver::SimResult as Run;
use sluice_model::{Device, Stats};
use sluice_results::{
    BlockDoor, Distribution, Flash, FlashCounts, LineErases, Lines, Served, WriteLog,
    WriteLogCounts,
};

/// Where the accesses that the device saw were served, each once.
pub(crate) fn served(stats: &Stats) -> Served {
    Served {
        cache: stats.hits,
        merge: stats.mshr_merges,
        flash: stats.misses,
        write_log: stats.write_log.served(),
        stalled: stats.mshr_stalls,
    }
}

/// What the write log did, if there is one.
pub(crate) fn write_log(stats: &Stats, device: &Device) -> Option<WriteLog> {
    let stats = &stats.write_log;
    device.config().write_log.as_ref().map(|_| WriteLog {
        counts: WriteLogCounts::from(stats),
        stall_ns: stats.stall_ps as f64 / PS_PER_NS,
        index_bytes_max: stats.index_bytes_max,
    })
}

/// How many lines were used of the pages that left, if that was tracked.
pub(crate) fn lines(device: &Device) -> Option<Lines> {
    device.line_use().map(|lines| Lines {
        touched_of_evicted: lines.touched_of_evicted().to_vec(),
        written_of_programmed: lines.written_of_programmed().to_vec(),
    })
}

/// What the block door did, if anybody came to it.
pub(crate) fn block(stats: &Stats, run: &Run) -> Option<BlockDoor> {
    let requests = run.block_latency.count();
    (requests > 0).then(|| BlockDoor {
        requests,
        pages_read: stats.block_reads,
        cache_hits: stats.block_cache_hits,
        pages_written: stats.block_writes,
        pages_trimmed: stats.block_trims,
        flushes: stats.block_flushes,
        pages_flushed: stats.flushes,
        refused: stats.refused,
        latency_ns: Distribution::from(&run.block_latency),
    })
}

/// What the flash did.
pub(crate) fn flash(stats: &Stats, device: &Device) -> Flash {
    let wear = device.wear();
    Flash {
        counts: FlashCounts::from(stats),
        write_amplification: stats.write_amplification().map(|ratio| ratio.to_f64()),
        factory_bad_blocks: device.config().nand.bad_blocks.into(),
        read_only: Some(device.is_read_only()),
        erases_of_a_line: Some(LineErases {
            least: wear.least.into(),
            most: wear.most.into(),
            total: wear.total,
        }),
    }
}
