//! Networks to solve, and the tree over them.

use super::NONE;
use sluice_units::Rng;

/// Arcs for each node.
pub(super) const DEGREE: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Lower,
    Tree,
    Upper,
}

#[derive(Clone, Debug)]
pub(super) struct Arc {
    pub(super) ends: [u32; 2],
    pub(super) cost: i64,
    pub(super) capacity: i64,
    pub(super) flow: i64,
    pub(super) state: State,
}

/// A node of the spanning tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) supply: i64,
    pub(super) potential: i64,
    pub(super) parent: u32,
    /// The arc to the parent.
    pub(super) arc: u32,
    pub(super) depth: u32,
    pub(super) child: u32,
    /// Neighbours in the parent's list of children.
    pub(super) next: u32,
    pub(super) before: u32,
}

/// Nodes with a supply or a demand, arcs with a capacity, and for each node one to the root. Arcs
/// that go round all nodes carry any flow.
pub(super) fn network(rng: &mut Rng, len: u32) -> (Vec<Node>, Vec<Arc>) {
    let mut supplies: Vec<i64> = (0..len).map(|_| rng.below(21) as i64 - 10).collect();
    let surplus: i64 = supplies.iter().sum();
    supplies[0] -= surplus;
    let all: i64 = supplies.iter().map(|supply| supply.abs()).sum();
    let node = |supply| Node {
        supply,
        potential: 0,
        parent: NONE,
        arc: NONE,
        depth: 0,
        child: NONE,
        next: NONE,
        before: NONE,
    };
    let mut nodes: Vec<Node> = supplies.into_iter().map(node).collect();
    nodes.push(node(0));
    let mut arcs = Vec::new();
    for kind in 0..DEGREE as u64 {
        for from in 0..len {
            let far = match kind {
                0 => 1,
                1..5 => 1 + rng.below(u64::from(len).min(64) - 1) as u32,
                _ => 1 + rng.below(u64::from(len) - 1) as u32,
            };
            arcs.push(Arc {
                ends: [from, (from + far) % len],
                cost: 0,
                capacity: if kind == 0 {
                    all
                } else {
                    1 + rng.below(40) as i64
                },
                flow: 0,
                state: State::Lower,
            });
        }
    }
    let spare = arcs[0].clone();
    arcs.extend((0..len).map(|_| spare.clone()));
    (nodes, arcs)
}
