//! A fabric as it is built.

use super::coherent::CoherenceSettings;
use super::endpoint::EndpointSettings;
use super::engine::Node;
use super::graph::{Graph, NodeKind};
use super::hierarchy::Vcs;
use super::packet::Sizes;
use super::pattern::{PatternInfo, PatternSettings};
use super::requester::RequesterSettings;
use super::routing::{RoutingInfo, Table};
use sluice_cxl::HomeAgent;
use sluice_units::{LINE_BYTES, Ps};

/// A fabric, checked.
pub struct FabricConfig {
    /// Nodes and links.
    pub graph: Graph,
    /// In the graph's order.
    pub requesters: Vec<RequesterSettings>,
    /// In the graph's order.
    pub endpoints: Vec<EndpointSettings>,
    /// Agents and filters.
    pub coherence: CoherenceSettings,
    /// Whether a monitor checks every state of every cached line, and every load: slow. On in
    /// builds with debug assertions.
    pub is_checked: bool,
    /// Bytes of packets.
    pub sizes: Sizes,
    /// Which of several shortest ways a packet takes.
    pub routing: &'static RoutingInfo,
    /// Seed of every random stream.
    pub seed: u64,
    /// Time from port to port of each switch.
    pub(super) switches: Vec<Ps>,
    /// Whether the switches stand for the ends of a bus.
    pub(super) is_bus: bool,
    /// Address maps over logical devices.
    pub(super) homes: Vec<HomeAgent>,
    /// Which of them each requester has.
    pub(super) home_of: Vec<u32>,
    /// Bytes that each of them maps without a gap from address 0.
    pub(super) mapped: Vec<u64>,
    /// Virtual switches, in the order of the description.
    pub vcs: Vec<Vcs>,
    /// The endpoint of each logical device, and where it begins there.
    pub(super) logical: Vec<Logical>,
    pub(super) table: Table,
    /// The pattern of each requester.
    pub(super) patterns: Vec<&'static PatternInfo>,
}

/// A logical device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Logical {
    pub endpoint: u16,
    /// Its LD-ID.
    pub id: u8,
    /// Its first byte on the endpoint.
    pub base: u64,
}

impl FabricConfig {
    /// Bytes that a requester can reach.
    pub fn reach(&self, requester: usize) -> u64 {
        self.mapped[self.home_of[requester] as usize]
    }

    /// What messages call a requester: its name, with the hierarchy that it is in.
    pub fn requester_name(&self, requester: u32) -> String {
        let name = &self.graph.names[requester as usize];
        match self.vcs.iter().find(|vcs| vcs.host == requester) {
            Some(vcs) => format!("`{name}` (vcs `{}`)", vcs.name),
            None => format!("`{name}`"),
        }
    }

    /// The pattern of a requester, and what it is made from.
    pub(super) fn pattern(&self, requester: usize) -> (&'static PatternInfo, PatternSettings) {
        let settings = &self.requesters[requester];
        let reach = self.reach(requester);
        let lines = settings.footprint.unwrap_or(reach).min(reach) / LINE_BYTES;
        let pattern = PatternSettings {
            lines,
            reads: settings.reads,
            hot_requests: settings.hot_requests,
            hot_lines: settings
                .hot_lines
                .floor_of(lines)
                .clamp(1, lines.max(2) - 1),
        };
        (self.patterns[requester], pattern)
    }

    pub(super) fn nodes(&self) -> Vec<Node> {
        let nodes = 0..self.graph.names.len() as u32;
        nodes
            .map(|node| match self.graph.kind(node) {
                NodeKind::Switch(switch) => Node {
                    kind: NodeKind::Switch(switch),
                    latency: self.switches[switch as usize],
                    is_hub: self.is_bus,
                },
                kind => Node {
                    kind,
                    latency: Ps::ZERO,
                    is_hub: false,
                },
            })
            .collect()
    }
}
