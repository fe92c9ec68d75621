//! Parameters: the DRAM cache.

use super::{Param, TIME};
use crate::cache::EVICTIONS;
use crate::config::checked::{LirsVariant, TwoQVariant, Variant, WTinyLfuVariant};
use crate::config::value::Kind;

fn writes() -> Vec<&'static str> {
    vec!["back", "through"]
}

fn write_backs() -> Vec<&'static str> {
    vec!["dirty", "all"]
}

fn store_misses() -> Vec<&'static str> {
    vec!["rmw", "merge", "around"]
}

fn load_misses() -> Vec<&'static str> {
    vec!["fill", "around"]
}

fn no_or_yes() -> Vec<&'static str> {
    vec!["no", "yes"]
}

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
        kind: Kind::ChoiceOrPath(evictions),
        default: "fifo",
        meaning: "which page leaves a full set; docs/extending.md says how to write one",
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
        key: "cache.write",
        kind: Kind::Choice(writes),
        default: "back",
        meaning: "back: a written page is programmed when it leaves the cache; through: at each \
                  store",
        source: "Cylon section 2: the CMM-H's cache is write-back",
    },
    Param {
        key: "cache.write_back",
        kind: Kind::Choice(write_backs),
        default: "dirty",
        meaning: "dirty: of the pages that leave the cache, those that were written are \
                  programmed; all: the others too, as in a device that does not know which were",
        source: "Cylon section 2: the CMM-H's cache is write-back; SkyByte's artifact has all in \
                 its designs without a log (doi:10.5281/zenodo.14660184, src/SkyByte-Sim/ftl.cc)",
    },
    Param {
        key: "cache.store_miss",
        kind: Kind::Choice(store_misses),
        default: "rmw",
        meaning: "rmw: a store waits until its page is read; merge: the page is read, but the line \
                  is kept and nobody waits; around: the page is read, changed and programmed \
                  outside the cache",
        source: "CMM-H case study section 3: a store that misses waits for the read of its page",
    },
    Param {
        key: "cache.load_miss",
        kind: Kind::Choice(load_misses),
        default: "fill",
        meaning: "fill: the page of a load comes into the cache; around: its line goes to the host \
                  and no page stays, as in a device without a cache, with store_miss = around",
        source: "CMM-H case study section 3: a page that is read stays in the cache",
    },
    Param {
        key: "cache.track_lines",
        kind: Kind::Choice(no_or_yes),
        default: "no",
        meaning: "whether to count the 64-byte lines touched and written of each page that leaves",
        source: "SkyByte Figures 5 and 6 show what it counts",
    },
    Param {
        key: "cache.pin_max",
        kind: Kind::Share { max_percent: 90 },
        default: "50%",
        meaning: "the share of a set that can be pinned, rounded down; one page stays free to go",
        source: "assumed: half of the cache stays a cache",
    },
    Param {
        key: "cache.s3fifo_small",
        kind: Kind::Share { max_percent: 100 },
        default: "10%",
        meaning: "the share of a set that S3-FIFO gives to its small queue",
        source: "Yang et al., SOSP 2023: 10 %",
    },
    Param {
        key: "cache.s3fifo_ghost",
        kind: Kind::Share { max_percent: 1_000 },
        default: "90%",
        meaning: "S3-FIFO: pages that the ghost queue remembers, of the pages of a set",
        source: "Yang et al., SOSP 2023: as many as the main queue holds",
    },
    Param {
        key: "cache.s3fifo_promote",
        kind: Kind::Count { min: 1, max: 3 },
        default: "2",
        meaning: "S3-FIFO: accesses in the small queue that earn a place in the main queue",
        source: "Yang et al., SOSP 2023, algorithm 1: more than one",
    },
    Param {
        key: "cache.s3fifo_variant",
        kind: Kind::Choice(|| Variant::NAMES.to_vec()),
        default: "libcachesim",
        meaning: "S3-FIFO: when the ghost queue is asked, what a promotion and an empty cache do",
        source: "libCacheSim, by the authors of the paper",
    },
    Param {
        key: "cache.clock_bits",
        kind: Kind::Count { min: 1, max: 8 },
        default: "1",
        meaning: "CLOCK: bits that count accesses; each access counted spares a page once",
        source: "Corbato 1968: one reference bit",
    },
    Param {
        key: "cache.twoq_in",
        kind: Kind::Share { max_percent: 100 },
        default: "25%",
        meaning: "2Q: the share of a set for newcomers (Kin)",
        source: "Johnson and Shasha, VLDB 1994: 25 %",
    },
    Param {
        key: "cache.twoq_out",
        kind: Kind::Share { max_percent: 1_000 },
        default: "50%",
        meaning: "2Q: pages remembered after they left, of the pages of a set (Kout)",
        source: "Johnson and Shasha, VLDB 1994: 50 %",
    },
    Param {
        key: "cache.twoq_variant",
        kind: Kind::Choice(|| TwoQVariant::NAMES.to_vec()),
        default: "paper",
        meaning: "2Q: what earns a page its place in the main queue, and whether that is bounded",
        source: "Johnson and Shasha, VLDB 1994; libCacheSim; the artifact of CXL-SSD-Sim",
    },
    Param {
        key: "cache.slru_segments",
        kind: Kind::Count { min: 2, max: 64 },
        default: "2",
        meaning: "SLRU: segments of equal size",
        source: "Karedla et al. 1994: probationary and protected; libCacheSim: 4",
    },
    Param {
        key: "cache.slru_variant",
        kind: Kind::Choice(|| Variant::NAMES.to_vec()),
        default: "paper",
        meaning: "SLRU: where newcomers go, and whether the lowest segment is bounded",
        source: "Karedla et al., IEEE Computer 1994",
    },
    Param {
        key: "cache.lfru_privileged",
        kind: Kind::Share { max_percent: 100 },
        default: "50%",
        meaning: "LFRU: the share of a set that is privileged",
        source: "assumed: half; CXL-SSD-Sim does not say",
    },
    Param {
        key: "cache.lirs_variant",
        kind: Kind::Choice(|| LirsVariant::NAMES.to_vec()),
        default: "paper",
        meaning: "LIRS: whether a hit on a page that is in the queue alone pushes a page out",
        source: "Jiang and Zhang, SIGMETRICS 2002, section 3.3",
    },
    Param {
        key: "cache.lirs_hir",
        kind: Kind::Share { max_percent: 100 },
        default: "1%",
        meaning: "LIRS: the share of a set for pages that are not LIR, one page at least",
        source: "Jiang and Zhang, SIGMETRICS 2002, section 4: 1 %",
    },
    Param {
        key: "cache.lirs_stack",
        kind: Kind::Share { max_percent: 1_000 },
        default: "200%",
        meaning: "LIRS: the longest the stack gets, of the pages of a set; 100 % at least",
        source: "libCacheSim: twice the cache; the paper sets no bound",
    },
    Param {
        key: "cache.wtinylfu_variant",
        kind: Kind::Choice(|| WTinyLfuVariant::NAMES.to_vec()),
        default: "paper",
        meaning: "W-TinyLFU: which accesses and counters are counted, and where pages enter",
        source: "Einziger et al., ACM ToS 2017",
    },
    Param {
        key: "cache.wtinylfu_window",
        kind: Kind::Share { max_percent: 100 },
        default: "1%",
        meaning: "W-TinyLFU: the share of a set that is the window, one page at least",
        source: "Einziger et al., ACM ToS 2017: 1 %",
    },
    Param {
        key: "cache.wtinylfu_sample",
        kind: Kind::Count { min: 1, max: 1_000 },
        default: "32",
        meaning: "W-TinyLFU: counts are halved after this many accesses for each page",
        source: "libCacheSim: 32",
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
        key: "mshr.requests",
        kind: Kind::Count {
            min: 0,
            max: 65_536,
        },
        default: "0",
        meaning: "accesses that can wait for pages on their way at once; 0: no bound",
        source: "assumed: no bound but the MSHR entries",
    },
];
