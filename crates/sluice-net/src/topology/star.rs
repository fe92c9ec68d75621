//! One switch with everything on it.

use super::{Shape, Skeleton, TopologyInfo};

pub(super) const INFO: TopologyInfo = TopologyInfo {
    name: "star",
    meaning: "one switch",
    has_leaves: false,
    build,
};

fn build(shape: &Shape) -> Skeleton {
    Skeleton {
        switches: 1,
        joins: Vec::new(),
        switch_of: vec![0; (shape.requesters + shape.endpoints) as usize],
        is_bus: false,
    }
}
