//! Parameters: the operating system's scheduler and its context switches.

use crate::config::Scheduling;
use sluice_params::Kind;
use sluice_units::Ps;

sluice_params::params! {
    /// The scheduler.
    pub(crate) struct OsParams {
        scheduler: Scheduling {
            key: "os.scheduler",
            default: "cfs",
            meaning: "which thread runs next",
            source: "SkyByte section III-A: CFS unless stated otherwise",
        }
        slice: Ps {
            key: "os.slice",
            default: "3ms",
            meaning: "longest time that a thread runs while others wait",
            source: "assumed: not stated; the least that Linux's CFS gives a thread on 8 cores",
        }
        switching: bool {
            key: "os.switching",
            kind: Kind::OFF_ON,
            default: "off",
            meaning: "on: a long delay ends in a context switch; off: the core waits for its data",
            source: "SkyByte section VI-A: off in Base-CSSD",
        }
        switch_cost: Ps {
            key: "os.switch_cost",
            default: "2us",
            meaning: "from the exception to the first instruction of the next thread",
            source: "SkyByte Table II",
        }
        mispredict_cost: Ps {
            key: "os.mispredict_cost",
            default: "100ns",
            meaning: "time that a thread loses to mispredicted branches after a switch",
            source: "assumed: twenty branches of 20 cycles; SkyByte section V has the effect, not \
                     its size",
        }
        switch_flush_l1: bool {
            key: "os.switch_flush_l1",
            kind: Kind::NO_YES,
            default: "no",
            meaning: "whether a switch leaves the L1 empty; the threads contend for it in any case",
            source: "assumed: SkyByte section V has contention",
        }
    }
}
