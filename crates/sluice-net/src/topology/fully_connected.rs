//! Switches that are all joined to each other.

use super::{Shape, Skeleton, TopologyInfo};

pub(super) const INFO: TopologyInfo = TopologyInfo {
    name: "fully-connected",
    meaning: "leaves, each joined to each",
    has_leaves: true,
    build,
};

fn build(shape: &Shape) -> Skeleton {
    let (switches, switch_of) = shape.leaves();
    let joins = (0..switches).flat_map(|a| (a + 1..switches).map(move |b| [a, b]));
    Skeleton {
        switches,
        joins: joins.collect(),
        switch_of,
        is_bus: false,
    }
}
