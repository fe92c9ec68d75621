//! What a packet meets at a node: which direction it takes, and what a switch adds to its time.

use super::{Flow, Load, RoutingInfo, RoutingTable};
use crate::graph::{Graph, NodeKind};
use crate::ids::{DirectionId, NodeId, SwitchId};
use crate::link::Links;
use crate::packet::Packet;
use crate::parts::Part;
use sluice_cxl::Channel;
use sluice_units::{Ps, Table};

/// Nodes with their routing tables.
pub(crate) struct Router {
    nodes: Table<NodeId, Node>,
    table: RoutingTable,
    policy: &'static RoutingInfo,
    /// Packets that had a choice of ways, at each node and at all.
    choices: (Table<NodeId, u64>, u64),
}

/// A node as a packet meets it.
#[derive(Clone, Copy)]
struct Node {
    kind: NodeKind,
    /// Of a switch, from port to port.
    latency: Ps,
    /// Whether it is a switch, and does not stand for an end of a bus or a host's own port.
    is_hop: bool,
}

impl Router {
    /// A router for switches with these latencies, of which some are no hops.
    pub fn new(
        graph: &Graph,
        hops: &Table<SwitchId, bool>,
        latencies: &Table<SwitchId, Ps>,
        table: RoutingTable,
        policy: &'static RoutingInfo,
    ) -> Router {
        let node = |node| match graph.kind(node) {
            NodeKind::Switch(switch) => Node {
                kind: NodeKind::Switch(switch),
                latency: latencies[switch],
                is_hop: hops[switch],
            },
            kind => Node {
                kind,
                latency: Ps::ZERO,
                is_hop: false,
            },
        };
        Router {
            nodes: Table::from_fn(graph.nodes(), node),
            table,
            policy,
            choices: (Table::filled(graph.nodes(), 0), 0),
        }
    }

    /// What a node is.
    #[inline]
    pub fn kind(&self, node: NodeId) -> NodeKind {
        self.nodes[node].kind
    }

    /// Whether packets wait at a node for the output port of a switch.
    pub fn is_switch(&self, node: NodeId) -> bool {
        self.nodes[node].is_hop
    }

    /// The direction by which a packet leaves a node at `ready`.
    #[inline]
    pub fn direction(
        &mut self,
        node: NodeId,
        packet: &Packet,
        links: &Links,
        ready: Ps,
    ) -> DirectionId {
        let (from, to) = (packet.from, packet.to);
        match self.table.ways(node, to) {
            [only] => *only,
            [] => unreachable!("every requester reaches every endpoint"),
            // Coherence rests on the order of completions between two ends.
            ways if packet.is_ordered() => ways[usize::from(from.0) % ways.len()],
            ways => {
                let (at_node, at_all) = (&mut self.choices.0[node], &mut self.choices.1);
                let flow = Flow {
                    from,
                    to,
                    turn: *at_node,
                    sequence: *at_all,
                };
                *at_node += 1;
                *at_all += 1;
                (self.policy.choose)(ways, flow, Load { links, now: ready })
            }
        }
    }

    /// A packet goes through a switch that it enters at `now`: the time at which it can leave.
    #[inline]
    pub fn cross(&self, node: NodeId, packet: &mut Packet, now: Ps) -> Ps {
        let node = &self.nodes[node];
        packet.parts[Part::Switch].0 += node.latency.0;
        let is_request = matches!(packet.channel, Channel::Req | Channel::RwD);
        packet.hops += u16::from(is_request && node.is_hop);
        Ps(now.0 + node.latency.0)
    }
}
