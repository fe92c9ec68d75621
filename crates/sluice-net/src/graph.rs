//! Nodes and links.

use super::error::FabricError;
use sluice_units::Ps;
use std::collections::BTreeMap;

/// What a node is, with its number among its like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A host or an accelerator.
    Requester(u32),
    /// A memory device.
    Endpoint(u32),
    /// A switch.
    Switch(u32),
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
    /// From the last bit sent to the last bit received.
    pub latency: Ps,
    /// What the port at either end adds.
    pub port_latency: Ps,
    /// How the directions share the wires; none if each has its own.
    pub half: Option<HalfDuplex>,
    /// Packets of a channel that a receiver has room for; none for no limit.
    pub credits: Option<u32>,
}

/// A link between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Node numbers.
    pub ends: [u32; 2],
    /// The port of a switch at either end, if it was named.
    pub ports: [Option<u32>; 2],
    /// Its settings.
    pub settings: LinkSettings,
}

/// Nodes in the order requesters, endpoints, switches: the number of an edge node is its port id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Names of the nodes.
    pub names: Vec<String>,
    /// How many of them are requesters.
    pub requesters: u32,
    /// How many of them are endpoints.
    pub endpoints: u32,
    /// Links. The direction from the first end to the second of link i has number 2i, the other
    /// one 2i + 1.
    pub links: Vec<Link>,
}

impl Graph {
    /// Requesters and endpoints.
    pub fn edges(&self) -> u32 {
        self.requesters + self.endpoints
    }

    /// What a node is.
    pub fn kind(&self, node: u32) -> NodeKind {
        if node < self.requesters {
            NodeKind::Requester(node)
        } else if node < self.edges() {
            NodeKind::Endpoint(node - self.requesters)
        } else {
            NodeKind::Switch(node - self.edges())
        }
    }

    /// Whether packets can go through a node.
    pub fn forwards(&self, node: u32) -> bool {
        node >= self.edges()
    }

    /// Where a direction of a link begins and ends.
    pub fn direction(&self, direction: u32) -> (u32, u32) {
        let ends = self.links[direction as usize / 2].ends;
        match direction % 2 {
            0 => (ends[0], ends[1]),
            _ => (ends[1], ends[0]),
        }
    }

    /// The name of a direction, for messages.
    pub fn direction_name(&self, direction: u32) -> String {
        let (from, to) = self.direction(direction);
        format!(
            "{} to {}",
            self.names[from as usize], self.names[to as usize]
        )
    }

    /// The name of a link, for messages.
    pub fn link_name(&self, link: usize) -> String {
        let [a, b] = self.links[link].ends;
        format!("link {}-{}", self.names[a as usize], self.names[b as usize])
    }

    /// The directions that leave each node, in the order of the links.
    pub fn leaving(&self) -> Vec<Vec<u32>> {
        let mut leaving = vec![Vec::new(); self.names.len()];
        for direction in 0..2 * self.links.len() as u32 {
            leaving[self.direction(direction).0 as usize].push(direction);
        }
        leaving
    }

    /// Checks names, ends and ports, and numbers the ports that have no number.
    ///
    /// # Errors
    /// One for the first node or link that cannot be.
    pub fn check(&mut self, ports: u32) -> Result<(), FabricError> {
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
        for (index, link) in self.links.iter().enumerate() {
            let why = match link.ends {
                [a, b] if a == b => "it joins a node with itself",
                [a, b] if a < self.requesters && b < self.requesters => {
                    "it joins two requesters; put a switch between them"
                }
                _ => continue,
            };
            let link = self.link_name(index);
            return Err(FabricError::BadLink { link, why });
        }
        self.number_ports(ports)
    }

    /// Named ports first; the others take the lowest that are left.
    fn number_ports(&mut self, ports: u32) -> Result<(), FabricError> {
        let mut taken: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        for (index, side) in self.sides() {
            let link = &self.links[index];
            let node = link.ends[side];
            let Some(port) = link.ports[side].filter(|_| self.forwards(node)) else {
                continue;
            };
            if let Some(first) = taken.insert((node, port), index) {
                return Err(FabricError::PortTwice {
                    switch: self.names[node as usize].clone(),
                    port,
                    first: self.link_name(first),
                    second: self.link_name(index),
                });
            }
            self.in_range(node, port, ports, index)?;
        }
        let mut next = vec![0; self.names.len()];
        for (index, side) in self.sides() {
            let node = self.links[index].ends[side];
            if self.links[index].ports[side].is_some() || !self.forwards(node) {
                continue;
            }
            let port = &mut next[node as usize];
            while taken.contains_key(&(node, *port)) {
                *port += 1;
            }
            let port = *port;
            taken.insert((node, port), index);
            self.in_range(node, port, ports, index)?;
            self.links[index].ports[side] = Some(port);
        }
        Ok(())
    }

    fn sides(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        (0..self.links.len()).flat_map(|index| [(index, 0), (index, 1)])
    }

    fn in_range(&self, node: u32, port: u32, ports: u32, link: usize) -> Result<(), FabricError> {
        if port < ports {
            return Ok(());
        }
        Err(FabricError::NoPort {
            switch: self.names[node as usize].clone(),
            ports,
            link: self.link_name(link),
            port,
        })
    }
}
