//! Nodes and links.

use super::error::FabricError;
use super::ids::{DirectionId, EndpointId, LinkId, NodeId, RequesterId, SwitchId};
use sluice_units::{IndexType, Ps, Table};
use std::collections::BTreeMap;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A host or an accelerator.
    Requester(RequesterId),
    /// A memory device.
    Endpoint(EndpointId),
    /// A switch, which passes packets on.
    Switch(SwitchId),
}

/// How two directions share their wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HalfDuplex {
    /// What a change of direction takes.
    pub turnaround: Ps,
    /// Packets that one direction may send while the other waits.
    pub burst: u32,
}

/// A link as it is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSettings {
    /// MB/s; none for no limit.
    pub bandwidth: Option<u64>,
    /// Bytes that move together.
    pub width: u32,
    /// From the last bit sent to the last bit received.
    pub latency: Ps,
    /// What the port at either end adds.
    pub port_latency: Ps,
    /// How the directions share the wires; none if each has its own.
    pub half: Option<HalfDuplex>,
    /// Packets of a channel that a receiver has room for; none for no limit.
    pub credits: Option<u32>,
}

impl LinkSettings {
    /// Of what joins a device with an end of a bus, or a host with its own port: nothing lies
    /// between.
    pub(crate) const NOTHING: LinkSettings = LinkSettings {
        bandwidth: None,
        width: 1,
        latency: Ps::ZERO,
        port_latency: Ps::ZERO,
        half: None,
        credits: None,
    };
}

/// A link between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The nodes that it joins.
    pub ends: [NodeId; 2],
    /// The port of a switch at either end, if it was named.
    pub ports: [Option<u32>; 2],
    /// How fast and how long it is.
    pub settings: LinkSettings,
}

/// A way out of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit {
    /// The direction that leaves it.
    pub direction: DirectionId,
    /// The node to which that leads.
    pub to: NodeId,
}

/// Nodes in the order requesters, endpoints, switches. Requesters and endpoints are the edge of the
/// fabric: packets begin and end there, and none goes through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Names of the nodes.
    pub names: Vec<String>,
    /// How many of them are requesters.
    pub requesters: u32,
    /// How many of them are endpoints.
    pub endpoints: u32,
    /// Links, by their numbers.
    pub links: Vec<Link>,
}

impl Graph {
    /// Requesters and endpoints.
    pub fn edges(&self) -> u32 {
        self.requesters + self.endpoints
    }

    /// How many nodes there are.
    pub(crate) fn nodes(&self) -> u32 {
        self.names.len() as u32
    }

    /// The node of an endpoint.
    #[inline]
    pub fn endpoint(&self, endpoint: EndpointId) -> NodeId {
        NodeId(self.requesters + endpoint.0)
    }

    /// The name of a node.
    pub fn name(&self, node: NodeId) -> &str {
        &self.names[node.index()]
    }

    /// A link's two ends and what was given of it.
    pub fn link(&self, link: LinkId) -> &Link {
        &self.links[link.index()]
    }

    /// Every direction of every link.
    pub fn directions(&self) -> impl Iterator<Item = DirectionId> + use<> {
        DirectionId::range(0..2 * self.links.len() as u32)
    }

    /// What a node is.
    pub fn kind(&self, node: NodeId) -> NodeKind {
        if node.0 < self.requesters {
            NodeKind::Requester(RequesterId(node.0))
        } else if node.0 < self.edges() {
            NodeKind::Endpoint(EndpointId(node.0 - self.requesters))
        } else {
            NodeKind::Switch(SwitchId(node.0 - self.edges()))
        }
    }

    /// Whether packets can go through a node.
    pub fn forwards(&self, node: NodeId) -> bool {
        node.0 >= self.edges()
    }

    /// Where a direction of a link begins and ends.
    pub fn direction(&self, direction: DirectionId) -> (NodeId, NodeId) {
        let ends = self.link(direction.link()).ends;
        let from = direction.side();
        (ends[from], ends[1 - from])
    }

    /// The name of a direction, for messages.
    pub fn direction_name(&self, direction: DirectionId) -> String {
        let (from, to) = self.direction(direction);
        format!("{} to {}", self.name(from), self.name(to))
    }

    /// The name of a link, for messages.
    pub fn link_name(&self, link: LinkId) -> String {
        let [a, b] = self.link(link).ends;
        format!("link {}-{}", self.name(a), self.name(b))
    }

    /// The ways out of each node, in the order of the links.
    pub(crate) fn exits(&self) -> Table<NodeId, Vec<Exit>> {
        let mut exits = Table::filled(self.nodes(), Vec::new());
        for direction in self.directions() {
            let (from, to) = self.direction(direction);
            exits[from].push(Exit { direction, to });
        }
        exits
    }

    /// Checks names, ends and ports, and numbers the ports that have no number. `ports`: how many
    /// each switch has; none if it stands for something else, which has none.
    ///
    /// # Errors
    /// One for the first node or link that cannot be.
    pub fn check(&mut self, ports: &Table<SwitchId, Option<u32>>) -> Result<(), FabricError> {
        if self.edges() > 4096 {
            let count = self.edges() as usize;
            return Err(FabricError::TooManyEdgePorts { count });
        }
        let mut names: Vec<&String> = self.names.iter().collect();
        names.sort();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            let name = pair[0].clone();
            return Err(FabricError::SameName { name });
        }
        for (id, link) in LinkId::range(0..self.links.len() as u32).zip(&self.links) {
            let why = match link.ends {
                [a, b] if a == b => "it joins a node with itself",
                [a, b] if a.max(b).0 < self.requesters => {
                    "it joins two requesters; put a switch between them"
                }
                [a, b]
                    if !self.forwards(a) && !self.forwards(b) && a.min(b).0 >= self.requesters =>
                {
                    "it joins two endpoints, and no packet goes from one to another; leave it out"
                }
                _ => continue,
            };
            let link = self.link_name(id);
            return Err(FabricError::BadLink { link, why });
        }
        self.number_ports(ports)
    }

    /// Named ports first; the others take the lowest that are left.
    fn number_ports(&mut self, ports: &Table<SwitchId, Option<u32>>) -> Result<(), FabricError> {
        let first = self.edges();
        let ports_of = |node: NodeId| ports[SwitchId(node.0.checked_sub(first)?)];
        let mut taken: BTreeMap<(NodeId, u32), LinkId> = BTreeMap::new();
        for (id, side) in self.sides() {
            let link = self.link(id);
            let node = link.ends[side];
            let (Some(port), Some(ports)) = (link.ports[side], ports_of(node)) else {
                continue;
            };
            if let Some(first) = taken.insert((node, port), id) {
                return Err(FabricError::PortTwice {
                    switch: self.name(node).to_owned(),
                    port,
                    first: self.link_name(first),
                    second: self.link_name(id),
                });
            }
            self.in_range(node, port, ports, id)?;
        }
        let mut next = Table::filled(self.nodes(), 0);
        for (id, side) in self.sides() {
            let node = self.link(id).ends[side];
            let Some(ports) = ports_of(node).filter(|_| self.link(id).ports[side].is_none()) else {
                continue;
            };
            let port = &mut next[node];
            while taken.contains_key(&(node, *port)) {
                *port += 1;
            }
            let port = *port;
            taken.insert((node, port), id);
            self.in_range(node, port, ports, id)?;
            self.links[id.index()].ports[side] = Some(port);
        }
        Ok(())
    }

    fn sides(&self) -> impl Iterator<Item = (LinkId, usize)> + use<> {
        let links = LinkId::range(0..self.links.len() as u32);
        links.flat_map(|link| [(link, 0), (link, 1)])
    }

    fn in_range(
        &self,
        node: NodeId,
        port: u32,
        ports: u32,
        link: LinkId,
    ) -> Result<(), FabricError> {
        if port < ports {
            return Ok(());
        }
        Err(FabricError::NoPort {
            switch: self.name(node).to_owned(),
            ports,
            link: self.link_name(link),
            port,
        })
    }
}
