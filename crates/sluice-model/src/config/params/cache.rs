//! Parameters: the DRAM cache.

use super::{Param, TIME};
use crate::cache::EVICTIONS;
use crate::config::value::Kind;

fn evictions() -> Vec<&'static str> {
    EVICTIONS.iter().map(|entry| entry.info.name).collect()
}

pub(super) const PARAMS: &[Param] = &[
    Param {
        key: "cache.capacity",
        kind: Kind::SizeOrShare,
        default: "5%",
        meaning: "bytes of DRAM cache; a share is rounded down to whole sets of pages",
        source: "Cylon section 5.1.1: 4.8 GB for 96 GB",
    },
    Param {
        key: "cache.policy",
        kind: Kind::Choice(evictions),
        default: "fifo",
        meaning: "which page leaves a full set",
        source: "Cylon section 5.4: FIFO unless stated otherwise",
    },
    Param {
        key: "cache.ways",
        kind: Kind::Ways,
        default: "full",
        meaning: "pages in a set; LPN modulo the number of sets chooses the set",
        source: "assumed: Cylon's cache is looked up by LPN, any page in any slot",
    },
    Param {
        key: "cache.index_latency",
        kind: TIME,
        default: "0ns",
        meaning: "time to find out whether and where a page is in the cache",
        source: "Cylon section 4.8: part of its 150 ns; SkyByte section V has 49 ns",
    },
    Param {
        key: "cache.hit_latency",
        kind: TIME,
        default: "150ns",
        meaning: "time of the DRAM: of a hit, and of the way from a filled slot to the host",
        source: "Cylon section 4.8: remote-NUMA access, about 150 ns",
    },
    Param {
        key: "cache.s3fifo_small",
        kind: Kind::Share { max_percent: 100 },
        default: "10%",
        meaning: "the share of a set that S3-FIFO gives to its small queue",
        source: "Yang et al., SOSP 2023: 10 %",
    },
    Param {
        key: "mshr.entries",
        kind: Kind::Count {
            min: 1,
            max: 65_536,
        },
        default: "256",
        meaning: "pages that can be on their way into the cache at once",
        source: "assumed: four for each die",
    },
];
