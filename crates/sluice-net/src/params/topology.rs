//! Parameters: which nodes there are, and what joins them.

use crate::topology::TOPOLOGIES;
use sluice_params::{Choice, Kind, Param};

fn topologies() -> Vec<Choice> {
    let names = TOPOLOGIES.iter().map(|topology| topology.name);
    Choice::plain(names.chain(["list"]))
}

pub(super) const PARAMS: &[Param] = &[
    Param {
        key: "topology.kind",
        kind: Kind::Choice(topologies),
        default: "fully-connected",
        meaning: "how the nodes are joined; list: by the file's [[links]]",
        source: "ESF section V-A, Figure 9",
    },
    Param {
        key: "topology.per_switch",
        kind: Kind::Count { min: 1, max: 4096 },
        default: "2",
        meaning: "requesters and endpoints on a switch, or on a leaf of a tree or spine-leaf",
        source: "assumed: not stated; the only number that gives all of ESF's five ceilings",
    },
    Param {
        key: "topology.placement",
        kind: Kind::Flag {
            off: "halves",
            on: "alternate",
        },
        default: "halves",
        meaning: "halves: requesters on the first switches, endpoints on the last; alternate: \
                  requesters and endpoints in turn",
        source: "assumed: not stated; only halves gives ESF's ceilings of chain, tree and ring",
    },
    Param {
        key: "topology.spines",
        kind: Kind::Count { min: 1, max: 4096 },
        default: "1",
        meaning: "spine switches of spine-leaf; each leaf has a link to each",
        source: "assumed: not stated; N/2 ports need one spine for two requesters a leaf",
    },
    Param {
        key: "topology.arity",
        kind: Kind::Count { min: 2, max: 256 },
        default: "2",
        meaning: "switches below a switch of a tree",
        source: "assumed: not stated; a binary tree of 16 leaves has Figure 11's 9 hops",
    },
];
