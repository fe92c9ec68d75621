//! Switches in a circle.

use super::{Shape, Skeleton, TopologyInfo};

pub(super) const INFO: TopologyInfo = TopologyInfo {
    name: "ring",
    meaning: "leaves in a circle",
    has_leaves: true,
    build,
};

fn build(shape: &Shape) -> Skeleton {
    let (switches, switch_of) = shape.leaves();
    let mut joins: Vec<[u32; 2]> = (1..switches).map(|right| [right - 1, right]).collect();
    // Two switches would have two links between them, which no longer is a ring.
    if switches > 2 {
        joins.push([switches - 1, 0]);
    }
    Skeleton {
        switches,
        joins,
        switch_of,
        is_bus: false,
    }
}
