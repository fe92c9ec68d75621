//! Local caches, agents and filters.

use crate::coherence::{CacheSettings, CoherenceSettings, FilterInfo, NO_FILTER};
use sluice_cxl::coherence::{Blocks, REPLACEMENTS, victim};
use sluice_params::{ConfigError, RawConfig};

/// The local cache of a group of requesters.
pub(super) fn cache(raw: &RawConfig) -> Result<Option<CacheSettings>, ConfigError> {
    let Some(lines) = raw.count_or_word("requester.cache_lines") else {
        return Ok(None);
    };
    let ways = raw.count_or_word("requester.cache_ways").unwrap_or(lines);
    if !lines.is_multiple_of(ways) {
        let keys = ["requester.cache_lines", "requester.cache_ways"];
        let message = "all sets have the same number of ways: give a divisor of the lines";
        return Err(raw.impossible(&keys, message.to_owned()));
    }
    if raw.read::<&FilterInfo>("coherence.filter").name == NO_FILTER {
        let keys = ["requester.cache_lines", "coherence.filter"];
        let message = "nothing keeps the cache coherent: choose a filter, or no cache";
        return Err(raw.impossible(&keys, message.to_owned()));
    }
    let name = raw.choice("requester.cache_replacement");
    let replacement = REPLACEMENTS.iter().find(|(known, _)| *known == name);
    Ok(Some(CacheSettings {
        lines: lines as u32,
        ways: ways as u32,
        replacement: replacement.expect("a choice comes from its registry").1,
        notify: raw.read("requester.cache_clean"),
    }))
}

/// The agents.
pub(super) fn coherence(raw: &RawConfig) -> CoherenceSettings {
    CoherenceSettings {
        filter: raw.read("coherence.filter"),
        entries: raw.count("coherence.entries") as u32,
        victim: victim(raw.choice("coherence.victim")).expect("a choice comes from its registry"),
        blocks: Blocks {
            lines_max: raw.count("coherence.block_lines") as u8,
            aligned: !raw.read::<bool>("coherence.block_shape"),
        },
        trackers: raw.count("coherence.trackers") as u16,
        lookup: raw.time("coherence.lookup"),
    }
}
