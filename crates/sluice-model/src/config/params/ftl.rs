//! Parameters: the flash translation layer.

use super::Param;
use crate::config::value::Kind;

fn preconditions() -> Vec<&'static str> {
    vec!["sequential", "none"]
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
        key: "ftl.gc_threshold",
        kind: Kind::BlocksOrShare,
        default: "1%",
        meaning: "free blocks of a plane at which it collects; a share is 2 blocks at least",
        source: "assumed",
    },
    Param {
        key: "ftl.precondition",
        kind: Kind::Choice(preconditions),
        default: "sequential",
        meaning: "sequential: every page was written once, in order; none: reads cost no NAND \
                  time until a page is written",
        source: "assumed: a device in use",
    },
];
