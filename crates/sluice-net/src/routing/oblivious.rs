//! Ways that depend on the packet alone.

use super::RoutingInfo;
use sluice_units::finish;

pub(super) const FIRST: RoutingInfo = RoutingInfo {
    name: "first",
    is_adaptive: false,
    meaning: "the link that was named first",
    choose: |ways, _, _| ways[0],
};

pub(super) const SPLIT: RoutingInfo = RoutingInfo {
    name: "split",
    is_adaptive: false,
    meaning: "by the sum of source and destination: pairs are dealt out evenly",
    choose: |ways, flow, _| ways[(usize::from(flow.from.0) + usize::from(flow.to.0)) % ways.len()],
};

pub(super) const HASH: RoutingInfo = RoutingInfo {
    name: "hash",
    is_adaptive: false,
    meaning: "by a hash of source and destination",
    choose: |ways, flow, _| {
        let pair = u64::from(flow.from.0) << 16 | u64::from(flow.to.0);
        ways[(finish(pair) % ways.len() as u64) as usize]
    },
};

pub(super) const SPRAY: RoutingInfo = RoutingInfo {
    name: "spray",
    is_adaptive: false,
    meaning: "each packet another way, in turn",
    choose: |ways, flow, _| ways[(flow.turn % ways.len() as u64) as usize],
};
