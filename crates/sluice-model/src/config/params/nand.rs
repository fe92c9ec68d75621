//! Parameters: the flash array.

use super::{Param, TIME};
use crate::config::value::Kind;

const FEMU: &str = "FEMU's default geometry, which Cylon section 4.8 reuses";

pub(super) const PARAMS: &[Param] = &[
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
        key: "nand.chips",
        kind: Kind::Count { min: 1, max: 256 },
        default: "1",
        meaning: "chips on each channel",
        source: "as in FEMU, which has dies on a channel only",
    },
    Param {
        key: "nand.dies",
        kind: Kind::Count { min: 1, max: 1_024 },
        default: "8",
        meaning: "dies on each chip, each busy with one operation at a time",
        source: FEMU,
    },
    Param {
        key: "nand.planes",
        kind: Kind::Count { min: 1, max: 16 },
        default: "1",
        meaning: "planes of each die, each with its own blocks",
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
];
