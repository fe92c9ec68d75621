//! Parameters: the flash translation layer.

use super::Param;
use crate::config::value::Kind;
use crate::ftl::ALLOCATIONS;
use crate::ftl::victim::GC_VICTIMS;

fn preconditions() -> Vec<&'static str> {
    vec!["sequential", "random", "none"]
}

fn mappings() -> Vec<&'static str> {
    vec!["page", "dftl"]
}

fn allocations() -> Vec<&'static str> {
    ALLOCATIONS.to_vec()
}

fn placements() -> Vec<&'static str> {
    vec!["device", "host"]
}

fn victims() -> Vec<&'static str> {
    GC_VICTIMS.iter().map(|entry| entry.info.name).collect()
}

fn stream_choosers() -> Vec<&'static str> {
    vec!["heat", "host"]
}

fn wear() -> Vec<&'static str> {
    vec!["none", "dynamic", "static"]
}

pub(super) const PARAMS: &[Param] = &[
    Param {
        key: "ftl.overprovision",
        kind: Kind::Share { max_percent: 1_000 },
        default: "7%",
        meaning: "flash beyond the capacity, rounded up to blocks; a plane has 8 spare at least",
        source: "assumed: 7 %, the gap between a GB and a GiB",
    },
    Param {
        key: "ftl.mapping",
        kind: Kind::Choice(mappings),
        default: "page",
        meaning: "page: the map is in memory; dftl: it is in flash, behind ftl.mapping_cache",
        source: "FEMU's page-mapped FTL, which Cylon section 4.8 reuses",
    },
    Param {
        key: "ftl.mapping_cache",
        kind: Kind::Size,
        default: "8MiB",
        meaning: "translation pages that dftl keeps in memory (LRU), 4 bytes for each entry",
        source: "assumed: a twelfth of the map of 96 GiB",
    },
    Param {
        key: "ftl.allocation",
        kind: Kind::Choice(allocations),
        default: "cwdp",
        meaning: "the order in which writes go round channels, ways (chips), dies and planes, \
                  the fastest first",
        source: "assumed: channels first, so that consecutive pages are read together",
    },
    Param {
        key: "ftl.placement",
        kind: Kind::Choice(placements),
        default: "device",
        meaning: "host: a write may name its plane",
        source: "Cylon section 4.6: host-managed flash is an option",
    },
    Param {
        key: "ftl.superblock",
        kind: Kind::CountOr {
            word: "all",
            min: 1,
            max: 1 << 20,
        },
        default: "1",
        meaning: "planes, neighbours in the order of allocation, whose blocks are filled and \
                  collected together",
        source: "assumed: each plane on its own",
    },
    Param {
        key: "ftl.gc_policy",
        kind: Kind::Choice(victims),
        default: "greedy",
        meaning: "which block is collected",
        source: "FEMU's default: the fewest valid pages",
    },
    Param {
        key: "ftl.gc_window",
        kind: Kind::Count { min: 1, max: 4_096 },
        default: "64",
        meaning: "blocks that windowed-greedy looks at, those filled first",
        source: "assumed",
    },
    Param {
        key: "ftl.gc_choices",
        kind: Kind::Count { min: 1, max: 1_024 },
        default: "10",
        meaning: "blocks that d-choices draws",
        source: "Van Houdt, SIGMETRICS 2013: with 10, close to greedy",
    },
    Param {
        key: "ftl.gc_threshold",
        kind: Kind::BlocksOrShare,
        default: "1%",
        meaning: "free blocks of a plane at which it collects; a share is 2 blocks at least",
        source: "assumed",
    },
    Param {
        key: "ftl.gc_background",
        kind: Kind::CountOr {
            word: "off",
            min: 1,
            max: 1 << 20,
        },
        default: "off",
        meaning: "free blocks of a plane at which it collects while its die is idle",
        source: "assumed: collection when a write needs it",
    },
    Param {
        key: "ftl.gc_step",
        kind: Kind::CountOr {
            word: "all",
            min: 1,
            max: 1 << 20,
        },
        default: "all",
        meaning: "pages moved at once; between steps the host comes first. A number also spreads \
                  collection over the writes before the threshold",
        source: "assumed: a whole block at once",
    },
    Param {
        key: "ftl.streams",
        kind: Kind::Count { min: 1, max: 8 },
        default: "1",
        meaning: "write streams, each with blocks of its own",
        source: "assumed: hot and cold pages share blocks",
    },
    Param {
        key: "ftl.stream_by",
        kind: Kind::Choice(stream_choosers),
        default: "heat",
        meaning: "heat: a rewritten page goes to the next hotter stream, a collected one to the \
                  next colder; host: the write names its stream",
        source: "Chiang et al., Software: Practice and Experience 1999 (DAC), for heat",
    },
    Param {
        key: "ftl.wear_levelling",
        kind: Kind::Choice(wear),
        default: "none",
        meaning: "dynamic: the least worn free block is used first; static: cold data moves too",
        source: "assumed: blocks are used in turn",
    },
    Param {
        key: "ftl.wear_spread",
        kind: Kind::Count {
            min: 1,
            max: 1 << 20,
        },
        default: "64",
        meaning: "erases by which a block falls behind before static levelling moves its data",
        source: "assumed",
    },
    Param {
        key: "ftl.precondition",
        kind: Kind::Choice(preconditions),
        default: "sequential",
        meaning: "sequential: every page was written once, in order; random: then overwritten at \
                  random; none: reads cost no NAND time until a page is written",
        source: "assumed: a device in use",
    },
    Param {
        key: "ftl.precondition_writes",
        kind: Kind::Share { max_percent: 1_000 },
        default: "100%",
        meaning: "random overwrites of a random precondition, as a share of the capacity",
        source: "assumed: collection is in its steady state after one",
    },
];
