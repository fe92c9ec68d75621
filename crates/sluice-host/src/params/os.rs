//! Parameters: the operating system's scheduler and its context switches.

use super::TIME;
use crate::config::Scheduling;
use sluice_params::{Declared, Kind, Param};

pub(super) const PARAMS: &[Param] = &[
    Param {
        key: "os.scheduler",
        kind: Scheduling::KIND,
        default: "cfs",
        meaning: "which thread runs next",
        source: "SkyByte section III-A: CFS unless stated otherwise",
    },
    Param {
        key: "os.slice",
        kind: TIME,
        default: "3ms",
        meaning: "longest time that a thread runs while others wait",
        source: "assumed: not stated; the least that Linux's CFS gives a thread on 8 cores",
    },
    Param {
        key: "os.switching",
        kind: Kind::OFF_ON,
        default: "off",
        meaning: "on: a long delay ends in a context switch; off: the core waits for its data",
        source: "SkyByte section VI-A: off in Base-CSSD",
    },
    Param {
        key: "os.switch_cost",
        kind: TIME,
        default: "2us",
        meaning: "from the exception to the first instruction of the next thread",
        source: "SkyByte Table II",
    },
    Param {
        key: "os.mispredict_cost",
        kind: TIME,
        default: "100ns",
        meaning: "time that a thread loses to mispredicted branches after a switch",
        source: "assumed: twenty branches of 20 cycles; SkyByte section V has the effect, not its \
                 size",
    },
    Param {
        key: "os.switch_flush_l1",
        kind: Kind::NO_YES,
        default: "no",
        meaning: "whether a switch leaves the L1 empty; the threads contend for it in any case",
        source: "assumed: SkyByte section V has contention",
    },
];
