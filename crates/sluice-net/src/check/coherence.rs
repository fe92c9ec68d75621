//! Local caches, agents and filters.

use crate::coherence::{CacheSettings, CoherenceSettings, NO_FILTER};
use crate::params::{CacheParams, CoherenceParams};
use sluice_cxl::coherence::Blocks;
use sluice_params::{ConfigError, RawConfig};
use sluice_units::LINE_BYTES;

/// The policy that takes blocks.
const BLOCK: &str = "block";

/// The local cache of a group of requesters.
pub(super) fn cache(raw: &RawConfig) -> Result<Option<CacheSettings>, ConfigError> {
    let given = CacheParams::new(raw);
    let Some(lines) = given.cache_lines else {
        return Ok(None);
    };
    let ways = given.cache_ways.unwrap_or(lines);
    if !lines.is_multiple_of(ways) {
        let keys = ["requester.cache_lines", "requester.cache_ways"];
        let message = "all sets have the same number of ways: give a divisor of the lines";
        return Err(raw.impossible(&keys, message));
    }
    if CoherenceParams::new(raw).filter.name == NO_FILTER {
        let keys = ["requester.cache_lines", "coherence.filter"];
        let message = "nothing keeps the cache coherent: choose a filter, or no cache";
        return Err(raw.impossible(&keys, message));
    }
    Ok(Some(CacheSettings {
        lines,
        ways,
        replacement: given.cache_replacement,
        notify: given.cache_clean,
    }))
}

/// Bytes of the longest block that agents take, if these are aligned, as CXL names them.
pub(super) fn aligned_block(raw: &RawConfig) -> Option<u64> {
    let given = CoherenceParams::new(raw);
    let takes_blocks = given.victim.name == BLOCK || given.block_extends;
    if given.filter.name == NO_FILTER || !takes_blocks || given.block_shape {
        return None;
    }
    let lines = match given.block_lines {
        1 => 1,
        2 | 3 => 2,
        _ => 4,
    };
    Some(lines * LINE_BYTES)
}

/// Refuses aligned blocks whose lines are adjacent on a device and not at the hosts, to which less
/// is dealt out in a row: a snoop names a place in the hosts' addresses, and so none of them.
pub(super) fn apart(raw: &RawConfig) -> ConfigError {
    let keys = [
        "map.granularity",
        "coherence.block_lines",
        "coherence.block_shape",
    ];
    let message = "the lines of a block are not adjacent at the hosts, so that no snoop of CXL \
                   names it; give map.granularity = 256B, fewer lines, or block_shape = any";
    raw.impossible(&keys, message)
}

/// What the agents are, out of their parameters.
pub(super) fn coherence(raw: &RawConfig) -> Result<CoherenceSettings, ConfigError> {
    let given = CoherenceParams::new(raw);
    let ways = given.ways.unwrap_or(given.entries);
    if !given.entries.is_multiple_of(ways) {
        let keys = ["coherence.entries", "coherence.ways"];
        let message = "all sets have the same number of ways: give a divisor of the entries";
        return Err(raw.impossible(&keys, message));
    }
    Ok(CoherenceSettings {
        filter: given.filter,
        entries: given.entries,
        ways,
        victim: given.victim,
        blocks: Blocks {
            lines_max: given.block_lines,
            aligned: !given.block_shape,
            extends: given.block_extends,
        },
        trackers: given.trackers,
        lookup: given.lookup,
    })
}
