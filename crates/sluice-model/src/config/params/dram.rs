//! Parameters: DRAM with banks and rows, of the cache or of a memory expander.

use super::Param;
use crate::config::value::Kind;
use crate::dram::{FIELDS, STANDARDS};

fn models() -> Vec<&'static str> {
    let standards = STANDARDS.iter().map(|standard| standard.name);
    std::iter::once("fixed").chain(standards).collect()
}

fn row_policies() -> Vec<&'static str> {
    vec!["open", "closed"]
}

pub(super) const PARAMS: &[Param] = &[
    Param {
        key: "dram.model",
        kind: Kind::Choice(models),
        default: "fixed",
        meaning: "fixed: an access takes cache.hit_latency, or memory.read or memory.write; \
                  otherwise its time comes from banks, rows and refresh",
        source: "Cylon section 4.8: one time for every hit",
    },
    Param {
        key: "dram.channels",
        kind: Kind::Count { min: 1, max: 64 },
        default: "1",
        meaning: "channels, a power of two",
        source: "CXL-SSD-Sim Table I: one",
    },
    Param {
        key: "dram.ranks",
        kind: Kind::Count { min: 1, max: 8 },
        default: "1",
        meaning: "ranks on each channel, a power of two",
        source: "CXL-SSD-Sim Table I: DDR4_2400_8x8 of gem5, taken with one rank",
    },
    Param {
        key: "dram.mapping",
        kind: Kind::Order(&FIELDS),
        default: "RoRaBaCoBgCh",
        meaning: "fields of an address, most significant first: row, rank, bank group, bank, \
                  column, channel",
        source: "assumed: neighbouring lines in different bank groups, as controllers do",
    },
    Param {
        key: "dram.rows",
        kind: Kind::Choice(row_policies),
        default: "open",
        meaning: "open: a row stays open until another is needed; closed: it is closed after \
                  each access",
        source: "assumed: as gem5 and Ramulator do unless told otherwise",
    },
];
