//! Parameters: the flash array.

use super::{Param, TIME};
use crate::config::value::Kind;

const FEMU: &str = "FEMU's default geometry, which Cylon section 4.8 reuses";

const SAME: Kind = Kind::Or("same", &TIME);

const COUNT: Kind = Kind::Or(
    "none",
    &Kind::Count {
        min: 1,
        max: u32::MAX as u64,
    },
);

const BAD: Kind = Kind::Or("none", &Kind::Share { max_percent: 50 });

const SPREAD: Kind = Kind::Or("none", &Kind::Share { max_percent: 100 });

fn cells() -> Vec<&'static str> {
    vec!["slc", "mlc", "tlc", "qlc"]
}

fn switches() -> Vec<&'static str> {
    vec!["on", "off"]
}

fn multi_planes() -> Vec<&'static str> {
    vec!["off", "same_page", "any"]
}

fn priorities() -> Vec<&'static str> {
    vec!["fifo", "read_first"]
}

fn suspends() -> Vec<&'static str> {
    vec!["none", "program", "erase", "both"]
}

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
        kind: Kind::Or("bus", &TIME),
        default: "0ns",
        meaning: "time a page takes on its channel; bus: from nand.bus_width and nand.bus_rate",
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
    Param {
        key: "nand.bad_blocks",
        kind: BAD,
        default: "none",
        meaning: "blocks that are bad from the factory, spread over the planes by the seed: spare \
                   blocks fewer",
        source: "assumed: none; data sheets allow up to 2 % over a device's life, such as Cypress \
                 KBA215722: 1004 to 1024 valid blocks",
    },
    Param {
        key: "nand.cell",
        kind: Kind::Choice(cells),
        default: "slc",
        meaning: "bits of a cell, and so the page types that follow each other in a block: slc \
                   (LSB), mlc (LSB, MSB), tlc (LSB, CSB, MSB), qlc (LSB, CSB, MSB, TSB)",
        source: "assumed: one time for every page, as in Cylon section 5.1.1",
    },
    Param {
        key: "nand.read_csb",
        kind: SAME,
        default: "same",
        meaning: "time to read a CSB page; same: as nand.read",
        source: "as nand.cell",
    },
    Param {
        key: "nand.read_msb",
        kind: SAME,
        default: "same",
        meaning: "time to read an MSB page; same: as nand.read",
        source: "as nand.cell",
    },
    Param {
        key: "nand.read_tsb",
        kind: SAME,
        default: "same",
        meaning: "time to read a TSB page, a cell's fourth; same: as nand.read",
        source: "as nand.cell",
    },
    Param {
        key: "nand.program_csb",
        kind: SAME,
        default: "same",
        meaning: "time to program a CSB page; same: as nand.program",
        source: "as nand.cell",
    },
    Param {
        key: "nand.program_msb",
        kind: SAME,
        default: "same",
        meaning: "time to program an MSB page; same: as nand.program",
        source: "as nand.cell",
    },
    Param {
        key: "nand.program_tsb",
        kind: SAME,
        default: "same",
        meaning: "time to program a TSB page; same: as nand.program",
        source: "as nand.cell",
    },
    Param {
        key: "nand.bus_width",
        kind: Kind::Count { min: 1, max: 64 },
        default: "8",
        meaning: "data lines of a channel, for nand.transfer = bus",
        source: "ONFI 5.1 section 2: an 8-bit data bus",
    },
    Param {
        key: "nand.bus_rate",
        kind: Kind::Count {
            min: 1,
            max: 100_000,
        },
        default: "1200",
        meaning: "million transfers a second of a data line, for nand.transfer = bus",
        source: "assumed: ONFI 4.1's fastest mode, 1200 MT/s",
    },
    Param {
        key: "nand.command",
        kind: TIME,
        default: "0ns",
        meaning: "time of a command and its address cycles on the channel",
        source: "FEMU's default: no channel time",
    },
    Param {
        key: "nand.cache_read",
        kind: Kind::Choice(switches),
        default: "on",
        meaning: "on: a die senses a page while the one before it is transferred; off: it waits",
        source: "assumed: ONFI's read cache commands, which current dies have",
    },
    Param {
        key: "nand.multi_plane",
        kind: Kind::Choice(multi_planes),
        default: "same_page",
        meaning: "operations of a die's planes that run together if asked for before the first \
                   begins: off, same_page (same page number in the block) or any",
        source: "ONFI's multi-plane commands, whose page addresses must agree",
    },
    Param {
        key: "nand.priority",
        kind: Kind::Choice(priorities),
        default: "fifo",
        meaning: "fifo: a die works in the order of requests; read_first: reads go before \
                   programs, erases and moves that have not begun",
        source: "SkyByte section III-A: requests are served in FIFO order",
    },
    Param {
        key: "nand.write_queue",
        kind: Kind::Count {
            min: 2,
            max: 65_536,
        },
        default: "64",
        meaning: "with read_first: programs, erases and moves that wait at a die; with more the \
                   oldest goes before later reads",
        source: "assumed",
    },
    Param {
        key: "nand.suspend",
        kind: Kind::Choice(suspends),
        default: "none",
        meaning: "with read_first: what a read may suspend: none, program, erase or both",
        source: "assumed: the papers suspend nothing",
    },
    Param {
        key: "nand.suspend_latency",
        kind: TIME,
        default: "5us",
        meaning: "time from a suspension to the read",
        source: "assumed: a fraction of a program",
    },
    Param {
        key: "nand.resume_latency",
        kind: TIME,
        default: "0ns",
        meaning: "time from the end of the reads to the work of the suspended operation going on",
        source: "assumed",
    },
    Param {
        key: "nand.suspend_reads",
        kind: Kind::Count {
            min: 1,
            max: 65_536,
        },
        default: "16",
        meaning: "reads that one operation, once it has begun, lets go before it",
        source: "assumed: bounds how long it can starve",
    },
    Param {
        key: "nand.retry_erases",
        kind: COUNT,
        default: "none",
        meaning: "erases of a block that make each of its reads take one retry more; fractions \
                   fall on a share of the pages",
        source: "assumed: as a new device",
    },
    Param {
        key: "nand.retry_reads",
        kind: COUNT,
        default: "none",
        meaning: "reads of a block since its erase that make each of its reads take one retry more",
        source: "assumed: as a new device",
    },
    Param {
        key: "nand.retries_max",
        kind: Kind::Count { min: 1, max: 1_000 },
        default: "8",
        meaning: "retries of a read, at most",
        source: "assumed",
    },
    Param {
        key: "nand.retry_latency",
        kind: SAME,
        default: "same",
        meaning: "time of a retry; same: that of the read",
        source: "assumed: a retry senses again",
    },
    Param {
        key: "nand.endurance",
        kind: COUNT,
        default: "none",
        meaning: "erases that a block stands before an erase fails and the block is bad",
        source: "assumed: as a new device",
    },
    Param {
        key: "nand.endurance_spread",
        kind: SPREAD,
        default: "none",
        meaning: "blocks fail within this share around nand.endurance, uniformly",
        source: "assumed: all alike",
    },
    Param {
        key: "nand.program_failure",
        kind: COUNT,
        default: "none",
        meaning: "one program in so many fails, and its block is bad",
        source: "assumed: as a new device",
    },
];
