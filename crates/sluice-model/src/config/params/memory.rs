//! Parameters: a memory expander.

use super::{Param, TIME};
use crate::config::value::Kind;

pub(super) const PARAMS: &[Param] = &[
    Param {
        key: "memory.read",
        kind: TIME,
        default: "95ns",
        meaning: "time of a load, with dram.model = fixed",
        source: "Cylon Figure 2: local DRAM",
    },
    Param {
        key: "memory.write",
        kind: TIME,
        default: "95ns",
        meaning: "time of a store, with dram.model = fixed",
        source: "assumed: as a load",
    },
    Param {
        key: "memory.transfer",
        kind: TIME,
        default: "0ns",
        meaning: "time for which a line of 64 bytes occupies the device; 0: no bound",
        source: "assumed: no bound",
    },
    Param {
        key: "memory.banks",
        kind: Kind::CountOr {
            word: "none",
            min: 1,
            max: 65_536,
        },
        default: "none",
        meaning: "banks, over which rows are spread; each serves one load at a time, \
                  and writes one row at a time, with all stores to it meanwhile; none: accesses \
                  do not wait for each other's latency",
        source: "assumed: no bound",
    },
    Param {
        key: "memory.row",
        kind: Kind::Size,
        default: "256B",
        meaning: "with memory.banks: bytes of a bank's row, a power of two from 64B; the row of \
                  the last load is open",
        source: "CXL-SSD-Sim Table I: a row buffer of 256 B in persistent memory",
    },
    Param {
        key: "memory.row_hit",
        kind: TIME,
        default: "17500ps",
        meaning: "with memory.banks: time of a load whose row is open",
        source: "gem5's interface of the same times as CXL-SSD-Sim's Table I: 14.16 ns and a burst \
                 of 3.33 ns",
    },
];
