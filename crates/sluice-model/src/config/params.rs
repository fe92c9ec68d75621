//! Every parameter, declared once. The TOML reader, the command line, Python and the reference
//! documentation all come from here.

use super::value::Kind;
use crate::cache::EVICTIONS;
use crate::prefetch::{PICKS_MAX, PREFETCHES};
use sluice_units::Ps;

/// One parameter of the device.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The key: a table and a name, such as `nand.read`.
    pub key: &'static str,
    /// The kind of value, with its unit and range.
    pub kind: Kind,
    /// The value if none is given.
    pub default: &'static str,
    /// What it is, in one line.
    pub meaning: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
}

fn evictions() -> Vec<&'static str> {
    EVICTIONS.iter().map(|entry| entry.info.name).collect()
}

fn prefetches() -> Vec<&'static str> {
    PREFETCHES.iter().map(|entry| entry.info.name).collect()
}

fn preconditions() -> Vec<&'static str> {
    vec!["sequential", "none"]
}

const TIME: Kind = Kind::Time {
    max: Ps::from_ms(10_000),
};
const FEMU: &str = "FEMU's default geometry, which Cylon section 4.8 reuses";

/// Every parameter, grouped by table, in a fixed order. The defaults are those of `cylon`.
pub static PARAMS: &[Param] = &[
    Param {
        key: "device.capacity",
        kind: Kind::Size,
        default: "96GiB",
        meaning: "bytes that the host can address",
        source: "Cylon section 5.1.1: 96 GB",
    },
    Param {
        key: "device.hint_threshold",
        kind: TIME,
        default: "2us",
        meaning: "a wait longer than this is announced to the host as a long one",
        source: "SkyByte section III-A: 2 us",
    },
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
        key: "cache.hit_latency",
        kind: TIME,
        default: "150ns",
        meaning: "time of a hit, and of the way from a filled slot to the host after a miss",
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
        key: "prefetch.policy",
        kind: Kind::Choice(prefetches),
        default: "none",
        meaning: "which pages are brought in before they are asked for",
        source: "Cylon section 5.4: disabled unless stated otherwise",
    },
    Param {
        key: "prefetch.degree",
        kind: Kind::Count {
            min: 0,
            max: PICKS_MAX as u64,
        },
        default: "0",
        meaning: "pages that one miss brings in besides its own",
        source: "Cylon Table 2: 0 to 8",
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
    Param {
        key: "nand.read",
        kind: TIME,
        default: "40us",
        meaning: "time from a read command to a page in the die's register",
        source: "Cylon section 5.1.1: 40 us",
    },
    Param {
        key: "nand.program",
        kind: TIME,
        default: "200us",
        meaning: "time to program a page",
        source: "Cylon section 5.1.1: 200 us",
    },
    Param {
        key: "nand.erase",
        kind: TIME,
        default: "2ms",
        meaning: "time to erase a block",
        source: "Cylon section 5.1.1: 2000 us",
    },
    Param {
        key: "nand.transfer",
        kind: TIME,
        default: "0ns",
        meaning: "time a page takes on its channel",
        source: "FEMU's default: no channel transfer time",
    },
    Param {
        key: "nand.channels",
        kind: Kind::Count { min: 1, max: 1_024 },
        default: "8",
        meaning: "channels, each with its own bus",
        source: FEMU,
    },
    Param {
        key: "nand.dies",
        kind: Kind::Count { min: 1, max: 1_024 },
        default: "8",
        meaning: "dies on each channel, each busy with one operation at a time",
        source: FEMU,
    },
    Param {
        key: "nand.pages_per_block",
        kind: Kind::Count {
            min: 2,
            max: 65_536,
        },
        default: "256",
        meaning: "pages erased together",
        source: FEMU,
    },
    Param {
        key: "ftl.overprovision",
        kind: Kind::Share { max_percent: 1_000 },
        default: "7%",
        meaning: "flash beyond the capacity, rounded up to blocks; a die has 8 spare at least",
        source: "assumed: 7 %, the gap between a GB and a GiB",
    },
    Param {
        key: "ftl.gc_threshold",
        kind: Kind::BlocksOrShare,
        default: "1%",
        meaning: "free blocks of a die at which it collects garbage; a share is at least 2 blocks",
        source: "assumed",
    },
    Param {
        key: "ftl.precondition",
        kind: Kind::Choice(preconditions),
        default: "sequential",
        meaning: "sequential: every page was written once, in order; none: reads cost no NAND \
                  time until a page is written",
        source: "assumed: a device in use",
    },
];

/// The position of a key in [`PARAMS`].
pub(super) fn index_of(key: &str) -> Option<usize> {
    PARAMS.iter().position(|param| param.key == key)
}
