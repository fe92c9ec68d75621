//! Leaves that are all joined to all spines.

use super::{Shape, Skeleton, TopologyInfo};

pub(super) const INFO: TopologyInfo = TopologyInfo {
    name: "spine-leaf",
    meaning: "leaves, each joined to each of topology.spines",
    has_leaves: true,
    build,
};

fn build(shape: &Shape) -> Skeleton {
    let (leaves, switch_of) = shape.leaves();
    let switches = leaves + shape.spines;
    let joins = (0..leaves).flat_map(|leaf| (leaves..switches).map(move |spine| [leaf, spine]));
    Skeleton {
        switches,
        joins: joins.collect(),
        switch_of,
        is_bus: false,
    }
}
