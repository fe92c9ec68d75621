//! Every parameter of a fabric, declared once, as those of a device are.

mod coherence;
mod link;
mod nodes;
mod topology;

pub(crate) use coherence::{CacheParams, CoherenceParams};
pub(crate) use link::{LinkParams, MapParams, PacketParams, RoutingParams, SocketParams};
pub(crate) use nodes::{EndpointParams, RequesterParams, SwitchParams};
pub(crate) use topology::TopologyParams;

use sluice_params::{Param, count, in_order};

/// The tables, in the order in which they are shown.
const GROUPS: &[&[Param]] = &[
    TopologyParams::PARAMS,
    RequesterParams::PARAMS,
    CacheParams::PARAMS,
    EndpointParams::PARAMS,
    SwitchParams::PARAMS,
    CoherenceParams::PARAMS,
    LinkParams::PARAMS,
    SocketParams::PARAMS,
    PacketParams::PARAMS,
    MapParams::PARAMS,
    RoutingParams::PARAMS,
];

static ALL: [Param; count(GROUPS)] = in_order(GROUPS);

/// Every parameter of a fabric, grouped by table, in a fixed order. The latencies are those of
/// ESF's Table III.
pub static FABRIC_PARAMS: &[Param] = &ALL;
