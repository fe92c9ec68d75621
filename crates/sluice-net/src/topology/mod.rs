//! How switches are joined, and what is on them. A new topology is a file and a line in
//! [`TOPOLOGIES`].

mod bus;
mod chain;
mod fully_connected;
mod ring;
mod spine_leaf;
mod star;
mod tree;

use sluice_params::Registered;

/// What a topology is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How many requesters there are.
    pub requesters: u32,
    /// How many endpoints there are.
    pub endpoints: u32,
    /// Devices on a leaf.
    pub per_switch: u32,
    /// Whether requesters and endpoints take turns, or the endpoints are on leaves of their own.
    pub alternates: bool,
    /// How many switches are in the upper of two layers.
    pub spines: u32,
    /// Switches below a switch of a tree.
    pub arity: u32,
}

/// Switches with their links, numbered from 0, and what is where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skeleton {
    /// How many switches.
    pub switches: u32,
    /// Pairs of switches that are joined.
    pub joins: Vec<[u32; 2]>,
    /// The switch of each requester, then of each endpoint.
    pub switch_of: Vec<u32>,
    /// Whether the switches stand for the ends of a bus: no hops, and joined to their devices
    /// without a link between.
    pub is_bus: bool,
}

/// An entry of the registry.
#[derive(Debug)]
pub struct TopologyInfo {
    /// The name in `topology.kind`.
    pub name: &'static str,
    /// What it is, in one line.
    pub meaning: &'static str,
    /// Whether devices are on leaves, so that it matters how many are on each, and which.
    pub has_leaves: bool,
    /// Makes the nodes and links of this shape.
    pub build: fn(&Shape) -> Skeleton,
}

/// Every topology, in a fixed order.
pub static TOPOLOGIES: &[TopologyInfo] = &[
    chain::INFO,
    tree::INFO,
    ring::INFO,
    spine_leaf::INFO,
    fully_connected::INFO,
    star::INFO,
    bus::INFO,
];

impl Registered for TopologyInfo {
    fn all() -> &'static [TopologyInfo] {
        TOPOLOGIES
    }

    fn name(&self) -> &'static str {
        self.name
    }
}

impl Shape {
    /// How many leaves the devices need, and the leaf of each: requesters, then endpoints.
    fn leaves(&self) -> (u32, Vec<u32>) {
        let (requesters, endpoints) = (self.requesters, self.endpoints);
        let leaf = |device: u32| device / self.per_switch;
        if !self.alternates {
            let first = requesters.div_ceil(self.per_switch);
            let leaves = (0..requesters).map(leaf);
            let leaves = leaves.chain((0..endpoints).map(|device| first + leaf(device)));
            return (
                first + endpoints.div_ceil(self.per_switch),
                leaves.collect(),
            );
        }
        // One of each in turn, as long as there are both; what is left comes after.
        let both = requesters.min(endpoints);
        let turn = |index: u32, side: u32| {
            if index < both {
                leaf(2 * index + side)
            } else {
                leaf(both + index)
            }
        };
        let leaves = (0..requesters).map(|index| turn(index, 0));
        let leaves = leaves.chain((0..endpoints).map(|index| turn(index, 1)));
        (
            (requesters + endpoints).div_ceil(self.per_switch),
            leaves.collect(),
        )
    }
}
