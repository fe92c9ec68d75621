//! Every parameter of a fabric, declared once, as those of a device are.

mod coherence;
mod link;
mod nodes;
mod topology;

use sluice_params::{Kind, Param, count, in_order};
use sluice_units::Ps;

const TIME: Kind = Kind::Time {
    max: Ps::from_ms(10_000),
};

/// The tables, in the order in which they are shown.
const GROUPS: &[&[Param]] = &[
    topology::PARAMS,
    nodes::REQUESTER,
    coherence::CACHE,
    nodes::ENDPOINT,
    nodes::SWITCH,
    coherence::COHERENCE,
    link::LINK,
    link::PACKET,
    link::MAP,
    link::ROUTING,
];

static ALL: [Param; count(GROUPS)] = in_order(GROUPS);

/// Every parameter of a fabric, grouped by table, in a fixed order. The latencies are those of
/// ESF's Table III.
pub static FABRIC_PARAMS: &[Param] = &ALL;
