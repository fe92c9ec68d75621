//! Parameters: the device as a whole.

use super::{Param, TIME};
use crate::config::value::Kind;

fn kinds() -> Vec<&'static str> {
    vec!["cxl-ssd", "memory"]
}

fn hints() -> Vec<&'static str> {
    vec!["exact", "queue"]
}

pub(super) const PARAMS: &[Param] = &[
    Param {
        key: "device.kind",
        kind: Kind::Choice(kinds),
        default: "cxl-ssd",
        meaning: "cxl-ssd: DRAM cache in front of flash; memory: an expander with memory alone, \
                  which takes the tables device, memory and dram",
        source: "Cylon section 3: the CXL-SSD that it emulates",
    },
    Param {
        key: "device.capacity",
        kind: Kind::Size,
        default: "96GiB",
        meaning: "bytes that the host can address",
        source: "Cylon section 5.1.1: 96 GB",
    },
    Param {
        key: "device.page",
        kind: Kind::Size,
        default: "4KiB",
        meaning: "bytes of a page: of the cache, the mapping and a NAND read; 512B to 64KiB, a \
                  power of two",
        source: "Cylon section 2: 4 KB in the CMM-H, which it emulates",
    },
    Param {
        key: "device.protocol_latency",
        kind: TIME,
        default: "0ns",
        meaning: "time that an access spends on the CXL link, there and back",
        source: "Cylon section 4.8: part of its 150 ns; SkyByte Table II has 40 ns",
    },
    Param {
        key: "device.hint",
        kind: Kind::Choice(hints),
        default: "exact",
        meaning: "what is held against the threshold; exact: the wait as it will be; queue: for \
                  an access that waits for flash, the time of all operations queued on its \
                  page's channel and of its own read, and at once if collection has the die",
        source: "assumed: the best hint there can be; SkyByte's Algorithm 1 is queue",
    },
    Param {
        key: "device.hint_threshold",
        kind: TIME,
        default: "2us",
        meaning: "a wait longer than this is announced to the host as a long one",
        source: "SkyByte section III-A: 2 us",
    },
];
