//! Every parameter of a fabric, declared once, as those of a device are.

mod coherence;
mod link;
mod nodes;
mod topology;

use sluice_model::{Kind, Param};
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

const COUNT: usize = {
    let (mut count, mut group) = (0, 0);
    while group < GROUPS.len() {
        count += GROUPS[group].len();
        group += 1;
    }
    count
};

static ALL: [Param; COUNT] = {
    let mut all = [GROUPS[0][0]; COUNT];
    let (mut next, mut group) = (0, 0);
    while group < GROUPS.len() {
        let mut place = 0;
        while place < GROUPS[group].len() {
            all[next] = GROUPS[group][place];
            next += 1;
            place += 1;
        }
        group += 1;
    }
    all
};

/// Every parameter of a fabric, grouped by table, in a fixed order. The latencies are those of
/// ESF's Table III.
pub static FABRIC_PARAMS: &[Param] = &ALL;
