//! Switches in a row.

use super::{Shape, Skeleton, TopologyInfo};

pub(super) const INFO: TopologyInfo = TopologyInfo {
    name: "chain",
    meaning: "leaves in a row",
    has_leaves: true,
    build,
};

fn build(shape: &Shape) -> Skeleton {
    let (switches, switch_of) = shape.leaves();
    Skeleton {
        switches,
        joins: (1..switches).map(|right| [right - 1, right]).collect(),
        switch_of,
        is_bus: false,
    }
}
