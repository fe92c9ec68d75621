//! Parameters: which nodes there are, and what joins them.

use crate::topology::TopologyInfo;
use sluice_params::{Declared, Kind};

sluice_params::params! {
    /// Which nodes there are, and what joins them.
    pub(crate) struct TopologyParams {
        kind: Option<&'static TopologyInfo> {
            key: "topology.kind",
            kind: Kind::Or("list", &<&TopologyInfo>::KIND),
            default: "fully-connected",
            meaning: "how the nodes are joined; list: by the file's [[links]]",
            source: "ESF section V-A, Figure 9",
        }
        per_switch: u32 {
            key: "topology.per_switch",
            kind: Kind::Count { min: 1, max: 4096 },
            default: "2",
            meaning: "requesters and endpoints on a switch, or on a leaf of a tree or spine-leaf",
            source: "assumed: not stated; the only number that gives all of ESF's five ceilings",
        }
        placement: bool {
            key: "topology.placement",
            kind: Kind::Flag { off: "halves", on: "alternate" },
            default: "halves",
            meaning: "halves: requesters on the first switches, endpoints on the last; alternate: \
                      requesters and endpoints in turn",
            source: "assumed: not stated; only halves gives ESF's ceilings of chain, tree and ring",
        }
        spines: u32 {
            key: "topology.spines",
            kind: Kind::Count { min: 1, max: 4096 },
            default: "1",
            meaning: "spine switches of spine-leaf; each leaf has a link to each",
            source: "assumed: not stated; N/2 ports need one spine for two requesters a leaf",
        }
        arity: u32 {
            key: "topology.arity",
            kind: Kind::Count { min: 2, max: 256 },
            default: "2",
            meaning: "switches below a switch of a tree",
            source: "assumed: not stated; a binary tree of 16 leaves has Figure 11's 9 hops",
        }
    }
}
