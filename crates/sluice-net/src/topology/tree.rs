//! Leaves below switches below a root.

use super::{Shape, Skeleton, TopologyInfo};

pub(super) const INFO: TopologyInfo = TopologyInfo {
    name: "tree",
    meaning: "leaves below switches of topology.arity, up to one root",
    has_leaves: true,
    build,
};

fn build(shape: &Shape) -> Skeleton {
    let (leaves, switch_of) = shape.leaves();
    let (mut joins, mut level, mut next) = (Vec::new(), (0..leaves).collect::<Vec<u32>>(), leaves);
    while level.len() > 1 {
        let groups = level.chunks(shape.arity as usize);
        let above: Vec<u32> = (next..next + groups.len() as u32).collect();
        for (parent, children) in above.iter().zip(groups) {
            joins.extend(children.iter().map(|child| [*child, *parent]));
        }
        next += above.len() as u32;
        level = above;
    }
    Skeleton {
        switches: next,
        joins,
        switch_of,
        is_bus: false,
    }
}
