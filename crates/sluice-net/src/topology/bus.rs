//! One link that all requesters share with all endpoints (ESF section V-D).

use super::{Shape, Skeleton, TopologyInfo};

pub(super) const INFO: TopologyInfo = TopologyInfo {
    name: "bus",
    meaning: "one link between all requesters and all endpoints, without a switch",
    has_leaves: false,
    build,
};

fn build(shape: &Shape) -> Skeleton {
    let of_requesters = (0..shape.requesters).map(|_| 0);
    Skeleton {
        switches: 2,
        joins: vec![[0, 1]],
        switch_of: of_requesters
            .chain((0..shape.endpoints).map(|_| 1))
            .collect(),
        is_bus: true,
    }
}
