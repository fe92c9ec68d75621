//! A fabric as it is built.

use super::coherence::{CoherenceSettings, NO_FILTER};
use super::endpoint::EndpointSettings;
use super::graph::Graph;
use super::hierarchy::Vcs;
use super::ids::{RequesterId, SwitchId};
use super::packet::Sizes;
use super::pattern::{PatternInfo, PatternSettings};
use super::requester::{AddressMap, RequesterSettings};
use super::routing::{RoutingInfo, RoutingTable};
use sluice_units::{LINE_BYTES, Ps, Table};

/// A fabric, checked.
pub struct FabricConfig {
    /// Nodes and links.
    pub graph: Graph,
    /// In the graph's order.
    pub requesters: Vec<RequesterSettings>,
    /// Where the requesters of each group begin.
    pub(super) groups: Vec<usize>,
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
    pub(super) latencies: Table<SwitchId, Ps>,
    /// Whether each switch is a hop: not an end of a bus, nor a host's own port.
    pub(super) hops: Table<SwitchId, bool>,
    /// What each requester finds at its addresses.
    pub(super) addresses: AddressMap,
    /// Virtual switches, in the order of the description.
    pub vcs: Vec<Vcs>,
    pub(super) table: RoutingTable,
}

impl FabricConfig {
    /// Whether agents keep caches coherent, so that requesters may share lines.
    pub fn is_coherent(&self) -> bool {
        self.coherence.filter.name != NO_FILTER
    }

    /// Bytes that a requester can reach.
    pub fn reach(&self, requester: RequesterId) -> u64 {
        self.addresses.reach(requester)
    }

    /// How many switches there are.
    pub fn switches(&self) -> u32 {
        self.hops.values().iter().filter(|is_hop| **is_hop).count() as u32
    }

    /// The group that a requester is of, by its place in the description.
    pub fn group(&self, requester: RequesterId) -> usize {
        let after = |first: &usize| *first <= requester.index();
        self.groups.partition_point(after) - 1
    }

    /// Which address map a requester has: those with the same number see the same memory.
    pub fn address_map(&self, requester: RequesterId) -> u32 {
        self.addresses.home_of[requester]
    }

    /// What messages call a requester: its name, with the hierarchy that it is in.
    pub fn requester_name(&self, requester: RequesterId) -> String {
        let name = self.graph.name(requester.node());
        match self.vcs.iter().find(|vcs| vcs.host == requester) {
            Some(vcs) => format!("`{name}` (vcs `{}`)", vcs.name),
            None => format!("`{name}`"),
        }
    }

    /// The pattern of a requester, and what it is made from.
    pub(super) fn pattern(
        &self,
        requester: RequesterId,
    ) -> (&'static PatternInfo, PatternSettings) {
        let settings = &self.requesters[requester.index()];
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
        (settings.pattern, pattern)
    }
}
