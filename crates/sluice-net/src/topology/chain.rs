//! Switches in a row.

use super::{Shape, Skeleton, TopologyInfo};

pub(super) const INFO: TopologyInfo = TopologyInfo {
    name: "chain",
    meaning: "leaves in a row",
    build,
};

fn build(shape: &Shape) -> Skeleton {
    let (switches, places) = shape.leaves();
    Skeleton {
        switches,
        joins: (1..switches).map(|right| [right - 1, right]).collect(),
        places,
        is_bus: false,
    }
}
