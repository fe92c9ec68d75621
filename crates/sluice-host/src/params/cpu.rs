//! Parameters: cores, caches, address translation.

use super::TIME;
use crate::miss::STORES_MAX;
use crate::window::SLOTS;
use sluice_params::{Declared, Kind, Param, choices};

const TABLE_2: &str = "SkyByte Table II";

const LATENCY: &str = "assumed, Table II has none; in cycles of 4 GHz: 4, 14 and 40 for L1, L2 \
                       and L3, about what processors of its kind have";

const fn entries(max: u64) -> Kind {
    Kind::Count { min: 1, max }
}

/// Zero is a value, to be refused by the constructor with what it would mean.
const MSHRS: Kind = Kind::Count {
    min: 0,
    max: 65_536,
};

choices! {
    /// What an L2 is sure to have.
    pub(crate) enum Inclusion {
        L1 = "l1": "what its L1 has, so that a line that leaves the L2 leaves both",
        None = "none": "nothing, and the L1 keeps its line",
    }
}

const WAYS: Kind = entries(1_024);

const fn cache(
    key: &'static str,
    kind: Kind,
    default: &'static str,
    meaning: &'static str,
    source: &'static str,
) -> Param {
    Param {
        key,
        kind,
        default,
        meaning,
        source,
    }
}

pub(super) const PARAMS: &[Param] = &[
    Param {
        key: "cpu.cores",
        kind: entries(256),
        default: "8",
        meaning: "cores",
        source: TABLE_2,
    },
    Param {
        key: "cpu.threads",
        kind: entries(4_096),
        default: "8",
        meaning: "threads of the program, one for each core at least",
        source: "SkyByte section VI-A: 8 without coordinated context switches, 24 with",
    },
    Param {
        key: "cpu.cycle",
        kind: TIME,
        default: "250ps",
        meaning: "time of a cycle",
        source: "SkyByte Table II: 4.0 GHz",
    },
    Param {
        key: "cpu.width",
        kind: entries(64),
        default: "4",
        meaning: "instructions issued, and retired, in a cycle",
        source: "assumed: not stated; as Intel's cores had up to 2019",
    },
    Param {
        key: "cpu.window",
        kind: entries(SLOTS),
        default: "256",
        meaning: "entries of the reorder window of each core",
        source: TABLE_2,
    },
    Param {
        key: "cpu.scheduler",
        kind: entries(65_536),
        default: "97",
        meaning: "instructions that find room behind one that waits for its data: all are taken to \
                  need it, and to hold a place in the scheduler until it comes",
        source: "assumed: not stated; as Intel's Skylake has",
    },
    Param {
        key: "cpu.store_buffer",
        kind: Kind::Count {
            min: 0,
            max: STORES_MAX,
        },
        default: "56",
        meaning: "stores of a core that have retired and are not yet in its cache; 0: none retires \
                  before its line is there",
        source: "assumed: not stated; as Intel's Skylake has. SkyByte's artifact has none \
                 (def/core.param.def: use_wb; src/retire.cc)",
    },
    cache(
        "l1.capacity",
        Kind::Size,
        "32KiB",
        "bytes of each core's L1 data cache",
        TABLE_2,
    ),
    cache("l1.ways", WAYS, "8", "lines of a set of the L1", TABLE_2),
    cache(
        "l1.latency",
        TIME,
        "1ns",
        "from an access to its data in the L1",
        LATENCY,
    ),
    cache(
        "l1.mshrs",
        MSHRS,
        "8",
        "misses of an L1 under way at once",
        TABLE_2,
    ),
    cache(
        "l2.capacity",
        Kind::Size,
        "512KiB",
        "bytes of each core's L2",
        TABLE_2,
    ),
    cache("l2.ways", WAYS, "32", "lines of a set of the L2", TABLE_2),
    cache(
        "l2.latency",
        TIME,
        "3500ps",
        "from an access to its data in the L2, L1 included",
        LATENCY,
    ),
    cache(
        "l2.mshrs",
        MSHRS,
        "128",
        "misses of an L2 under way at once",
        TABLE_2,
    ),
    cache(
        "l2.inclusion",
        Inclusion::KIND,
        "l1",
        "what an L2 is sure to have. It does not see what the L1 finds itself: beside a long \
         stream l1 costs a line that is always used its place, ever again",
        "l1: as before there was a choice. Intel's L2 have none, and SkyByte's artifact (\
         src/memory.cc: process_fill_queue)",
    ),
    cache(
        "l3.capacity",
        Kind::Or("none", &Kind::Size),
        "16MiB",
        "bytes of the L3 that all cores share; none: there is none, and what misses the L2 goes to \
         memory",
        TABLE_2,
    ),
    cache("l3.ways", WAYS, "16", "lines of a set of the L3", TABLE_2),
    cache(
        "l3.latency",
        TIME,
        "10ns",
        "from an access to its data in the L3, L1 and L2 included",
        LATENCY,
    ),
    cache(
        "l3.mshrs",
        MSHRS,
        "1024",
        "misses of the L3, or of all L2 without one, under way at once",
        TABLE_2,
    ),
    Param {
        key: "tlb.entries",
        kind: entries(1 << 20),
        default: "1536",
        meaning: "pages that each core's TLB holds, its two levels taken as one",
        source: "assumed: not stated; the second level of Intel's Skylake",
    },
    Param {
        key: "tlb.ways",
        kind: WAYS,
        default: "12",
        meaning: "pages of a set of the TLB",
        source: "assumed: as tlb.entries",
    },
    Param {
        key: "tlb.walk",
        kind: TIME,
        default: "20ns",
        meaning: "time that a miss of the TLB adds to its access",
        source: "assumed: the last level of the page table, found in a cache more often than not; \
                 SkyByte section VI-A keeps page tables in host memory",
    },
    Param {
        key: "tlb.shootdown",
        kind: TIME,
        default: "100ns",
        meaning: "time that every core loses when a page has moved",
        source: "assumed: refilling an entry; SkyByte section V has shootdowns, not their cost, \
                 and its artifact gives them none",
    },
];
