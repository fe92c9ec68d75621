//! Which way packets go: tables of shortest ways, and policies that choose among several. A new
//! policy is a line in [`ROUTINGS`] with its function.

mod adaptive;
mod oblivious;
mod router;
mod table;

pub(super) use router::Router;
pub(super) use table::{RoutingTable, Unreachable};

use super::ids::{DirectionId, PortId};
use super::link::Links;
use sluice_params::Registered;
use sluice_units::Ps;

/// A packet, as far as its way may depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The requester or endpoint that it comes from.
    pub from: PortId,
    /// The one that it goes to.
    pub to: PortId,
    /// How many packets had a choice of ways before it, at this node.
    pub turn: u64,
    /// How many had one before it, at any node.
    pub sequence: u64,
}

/// How loaded the directions of the links are, at a time.
#[derive(Clone, Copy)]
pub struct Load<'a> {
    links: &'a Links,
    now: Ps,
}

impl Load<'_> {
    /// How long a packet would wait now before the direction carries it.
    pub fn backlog(&self, direction: DirectionId) -> Ps {
        self.links.backlog(direction, self.now)
    }
}

/// An entry of the registry.
#[derive(Debug)]
pub struct RoutingInfo {
    /// The name in `routing.policy`.
    pub name: &'static str,
    /// Whether the way depends on the traffic, or on the packet alone.
    pub is_adaptive: bool,
    /// What it does, in one line.
    pub meaning: &'static str,
    /// Chooses one of at least two directions of links, all on shortest ways.
    pub choose: fn(&[DirectionId], Flow, Load<'_>) -> DirectionId,
}

impl Registered for RoutingInfo {
    fn all() -> &'static [RoutingInfo] {
        ROUTINGS
    }

    fn name(&self) -> &'static str {
        self.name
    }
}

/// Every routing policy, in a fixed order.
pub static ROUTINGS: &[RoutingInfo] = &[
    oblivious::FIRST,
    oblivious::SPLIT,
    oblivious::HASH,
    oblivious::SPRAY,
    adaptive::ADAPTIVE,
    adaptive::TWO,
];
