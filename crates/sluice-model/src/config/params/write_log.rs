//! Parameters: the write log.

use super::{Param, TIME};
use crate::config::value::Kind;

fn store_indexes() -> Vec<&'static str> {
    vec!["wait", "behind"]
}

pub(super) const PARAMS: &[Param] = &[
    Param {
        key: "write_log.capacity",
        kind: Kind::SizeOrNone,
        default: "none",
        meaning: "bytes of DRAM that log stores by lines of 64 bytes, all buffers together; \
                  none: stores fetch their page into the cache",
        source: "Cylon has no write log; SkyByte Table II: 64 MB",
    },
    Param {
        key: "write_log.buffers",
        kind: Kind::Count { min: 1, max: 8 },
        default: "2",
        meaning: "equal parts of the log that take turns: one is filled, the full ones compacted",
        source: "SkyByte section III-B: double-buffered",
    },
    Param {
        key: "write_log.backlog",
        kind: Kind::Count { min: 0, max: 8 },
        default: "0",
        meaning: "buffers that may be full besides, in memory of their own; with some a store \
                  seldom waits for a compaction",
        source: "SkyByte section III-B has none; its artifact's log is empty as soon as its \
                 compaction begins",
    },
    Param {
        key: "write_log.index_latency",
        kind: TIME,
        default: "72ns",
        meaning: "time to look a line up in the log's index, or to enter it there",
        source: "SkyByte section V: 72 ns for a 64 MB log",
    },
    Param {
        key: "write_log.store_index",
        kind: Kind::Choice(store_indexes),
        default: "wait",
        meaning: "wait: a store is answered when the log's index has its line; behind: when the \
                  log's memory has it, write_log.index_latency earlier",
        source: "assumed; SkyByte's artifact enters it behind the answer \
                 (doi:10.5281/zenodo.14660184, src/SkyByte-Sim/ftl.cc)",
    },
    Param {
        key: "write_log.coalescing_buffers",
        kind: Kind::Count {
            min: 1,
            max: 65_536,
        },
        default: "256",
        meaning: "pages that compaction works on at once, each read, merged and programmed",
        source: "assumed: four for each die, as mshr.entries; SkyByte does not say",
    },
];
