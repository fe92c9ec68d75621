//! Statistics of live processes that a test writes.

use sluice_abi::{Counter, STATS_MAGIC, STATS_VERSION, StatsBlock};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

/// A block of zeros that is ready.
pub fn block(pid: u64, started_ns: u64) -> Box<StatsBlock> {
    // SAFETY: all fields are atomics of integers, for which zeros are valid.
    let block: Box<StatsBlock> = Box::new(unsafe { std::mem::zeroed() });
    block.magic.store(STATS_MAGIC, Relaxed);
    block.version.store(STATS_VERSION, Relaxed);
    block.pid.store(pid, Relaxed);
    block.started_ns.store(started_ns, Relaxed);
    block
}

pub fn set(block: &StatsBlock, counters: &[(Counter, u64)]) {
    for (counter, value) in counters {
        block.counters[*counter as usize].store(*value, Relaxed);
    }
}

pub fn write(dir: &Path, image: u64, block: &StatsBlock) {
    let pid = block.pid.load(Relaxed);
    let length = size_of::<StatsBlock>();
    // SAFETY: the block is that long, initialised, and nobody writes to it meanwhile.
    let bytes = unsafe { std::slice::from_raw_parts((&raw const *block).cast::<u8>(), length) };
    std::fs::write(dir.join(format!("proc-{pid}-{image}.stats")), bytes).unwrap();
}
