//! Parameters: requesters' caches and the agents that keep them coherent.

use crate::coherence::FilterInfo;
use sluice_cxl::coherence::{BLOCK_LINES_MAX, Replacement, TRACKERS_MAX, Victim};
use sluice_params::Kind;
use sluice_units::Ps;

const LINES_MAX: u64 = 1 << 24;

sluice_params::params! {
    /// The coherent local cache of a requester.
    pub(crate) struct CacheParams {
        cache_lines: Option<u32> {
            key: "requester.cache_lines",
            kind: Kind::Or("none", &Kind::Count { min: 1, max: LINES_MAX }),
            default: "none",
            meaning: "lines of 64 bytes in the coherent local cache; needs coherence.filter",
            source: "ESF section V-B: a fifth of the footprint's lines",
        }
        cache_ways: Option<u32> {
            key: "requester.cache_ways",
            kind: Kind::Or("full", &Kind::Count { min: 1, max: LINES_MAX }),
            default: "full",
            meaning: "lines in a set of the local cache",
            source: "assumed: not stated",
        }
        cache_replacement: Replacement {
            key: "requester.cache_replacement",
            default: "lru",
            meaning: "which line of a full set leaves",
            source: "assumed: not stated",
        }
        cache_clean: bool {
            key: "requester.cache_clean",
            kind: Kind::Flag { off: "silent", on: "notified" },
            default: "silent",
            meaning: "whether caches notify the device of clean lines that leave (MemClnEvct)",
            source: "assumed: not stated",
        }
    }
}

sluice_params::params! {
    /// Agents and snoop filters.
    pub(crate) struct CoherenceParams {
        filter: &'static FilterInfo {
            key: "coherence.filter",
            default: "none",
            meaning: "snoop filters: device-managed coherence (HDM-DB) is on if there are any",
            source: "ESF section III-D: of a device, or of a group of endpoints",
        }
        entries: u32 {
            key: "coherence.entries",
            kind: Kind::Count { min: 1, max: LINES_MAX },
            default: "4096",
            meaning: "entries of each filter, a line each",
            source: "ESF section V-B: as many as the local cache has lines",
        }
        ways: Option<u32> {
            key: "coherence.ways",
            kind: Kind::Or("full", &Kind::Count { min: 1, max: LINES_MAX }),
            default: "full",
            meaning: "entries in which a line can be: those of its set, by its address on the \
                      device, or at the hosts if devices share the filter; full: all",
            source: "assumed: ESF's paper does not say; its code has 8",
        }
        victim: &'static Victim {
            key: "coherence.victim",
            default: "fifo",
            meaning: "which entry of a full filter leaves",
            source: "ESF section V-B, the baseline",
        }
        block_lines: u8 {
            key: "coherence.block_lines",
            kind: Kind::Count { min: 1, max: BLOCK_LINES_MAX as u64 },
            default: "4",
            meaning: "most lines that one snoop takes away, with `block` or block_extends",
            source: "ESF section V-C: 2 to 4",
        }
        block_shape: bool {
            key: "coherence.block_shape",
            kind: Kind::Flag { off: "aligned", on: "any" },
            default: "aligned",
            meaning: "aligned pairs and fours, which CXL encodes, or any run of lines that are \
                      adjacent on a device",
            source: "CXL 3.1, BISnp-Blk",
        }
        block_extends: bool {
            key: "coherence.block_extends",
            kind: Kind::Flag { off: "block", on: "any" },
            default: "block",
            meaning: "which victims take the idle lines beside them along in one snoop: those of \
                      `block` alone, or of any policy, in whatever sets these are",
            source: "ESF section V-C; its code extends the victims of all its policies",
        }
        trackers: u16 {
            key: "coherence.trackers",
            kind: Kind::Count { min: 1, max: TRACKERS_MAX as u64 },
            default: "64",
            meaning: "requests that an agent works on at once; the others wait in turn",
            source: "assumed: not stated",
        }
        lookup: Ps {
            key: "coherence.lookup",
            default: "12ns",
            meaning: "looking into the filter, once for each message to the agent",
            source: "assumed: as the local cache, ESF Table III",
        }
    }
}
