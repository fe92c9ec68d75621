//! Parameters: a memory expander.

use super::{Param, TIME};

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
];
