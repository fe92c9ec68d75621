//! Switches and links, from a topology or from a list, and the routes that a file changes.

use super::nodes::{Nodes, expand};
use super::sockets::Sockets;
use crate::endpoint::EndpointSettings;
use crate::error::FabricError;
use crate::graph::{Graph, HalfDuplex, Link, LinkSettings};
use crate::ids::{NodeId, SwitchId};
use crate::params::{LinkParams, SwitchParams, TopologyParams};
use crate::requester::RequesterSettings;
use crate::routing::RoutingTable;
use crate::spec::{FabricSpec, LinkSpec, with};
use crate::topology::{Shape, TopologyInfo};
use sluice_params::{ConfigError, RawConfig};
use sluice_units::{Ps, Table};

/// Nodes and links, with what the switches take.
pub(super) struct Wiring {
    pub graph: Graph,
    pub latencies: Table<SwitchId, Ps>,
    /// Whether each switch is one, and stands for nothing else.
    pub hops: Table<SwitchId, bool>,
}

pub(super) fn wire(
    spec: &FabricSpec,
    requesters: &Nodes<RequesterSettings>,
    endpoints: &Nodes<EndpointSettings>,
) -> Result<Wiring, FabricError> {
    let raw = &spec.raw;
    let names = requesters.names.iter().chain(&endpoints.names);
    let graph = Graph {
        names: names.cloned().collect(),
        requesters: requesters.names.len() as u32,
        endpoints: endpoints.names.len() as u32,
        links: Vec::new(),
    };
    let ports: Vec<&Set> = requesters.links.iter().chain(&endpoints.links).collect();
    let sockets = Sockets::new(spec, requesters)?;
    let wirer = Wirer {
        spec,
        ports,
        sockets: &sockets,
        alike: settings(raw),
    };
    let given = TopologyParams::new(raw);
    let (mut graph, mut switches) = match given.kind {
        None => wirer.listed(graph)?,
        Some(topology) => wirer.built(topology, &given, graph)?,
    };
    let roots = sockets.join(&mut graph) as usize;
    switches.extend(std::iter::repeat_n(NO_SWITCH, roots));
    let ports = switches.iter().map(|switch| switch.ports);
    graph.check(&ports.collect())?;
    Ok(Wiring {
        graph,
        hops: switches
            .iter()
            .map(|switch| switch.ports.is_some())
            .collect(),
        latencies: switches.iter().map(|switch| switch.latency).collect(),
    })
}

/// Parameters of a link that differ.
type Set = Vec<(String, String)>;

struct Wirer<'a> {
    spec: &'a FabricSpec,
    /// What differs in the links of each requester and each endpoint.
    ports: Vec<&'a Set>,
    sockets: &'a Sockets,
    /// Links with which nothing differs.
    alike: LinkSettings,
}

#[derive(Clone, Copy)]
struct Switch {
    latency: Ps,
    /// None if it is no switch, and stands for an end of a bus or a host's own port.
    ports: Option<u32>,
}

const NO_SWITCH: Switch = Switch {
    latency: Ps::ZERO,
    ports: None,
};

/// A graph and its switches.
type Wired = (Graph, Vec<Switch>);

impl Switch {
    fn new(raw: &RawConfig) -> Switch {
        let given = SwitchParams::new(raw);
        Switch {
            latency: given.latency,
            ports: Some(given.ports),
        }
    }
}

impl Wirer<'_> {
    fn built(
        &self,
        topology: &TopologyInfo,
        given: &TopologyParams,
        mut graph: Graph,
    ) -> Result<Wired, FabricError> {
        let kind = topology.name;
        if !self.spec.switches.is_empty() {
            let message = "it makes its own; for [[switches]] give topology.kind = \"list\"";
            let message = message.to_owned();
            return Err(FabricError::Topology { kind, message });
        }
        let skeleton = (topology.build)(&Shape {
            requesters: graph.requesters - self.sockets.count(),
            endpoints: graph.endpoints,
            per_switch: given.per_switch,
            alternates: given.placement,
            spines: given.spines,
            arity: given.arity,
        });
        if skeleton.is_bus {
            self.no_links_of_their_own(kind)?;
        }
        let first = graph.edges();
        let names = (0..skeleton.switches).map(|index| format!("s{index}"));
        graph.names.extend(names);
        let switch = |number| NodeId(first + number);
        let devices = (0..).map(NodeId);
        let devices = devices.filter(|device| self.sockets.has_port(*device));
        let ends = devices.zip(&skeleton.switch_of);
        let ends = ends.map(|(device, number)| [device, switch(*number)]);
        let joins = skeleton.joins.iter().map(|join| join.map(switch));
        // At a bus, nodes are on it without links of their own.
        let is_stub = |ends: [NodeId; 2]| skeleton.is_bus && ends[0].0 < first;
        for ends in ends.chain(joins) {
            graph.links.push(Link {
                ends,
                ports: [None; 2],
                settings: match is_stub(ends) {
                    true => LinkSettings::NOTHING,
                    false => self.link(&graph, ends, &Set::new())?,
                },
            });
        }
        for changed in &self.spec.links {
            let given = changed;
            let changed = self.listed_link(&graph, given)?;
            if skeleton.is_bus && changed.ports != [None; 2] {
                return Err(no_ports(&graph, changed.ends[0], given));
            }
            let links = graph.links.iter_mut();
            let links = links.filter(|link| !is_stub(link.ends));
            if !change(links, &changed) {
                return Err(no_link(kind, &graph, &changed));
            }
        }
        let each = match skeleton.is_bus {
            true => NO_SWITCH,
            false => Switch::new(&self.spec.raw),
        };
        Ok((graph, vec![each; skeleton.switches as usize]))
    }

    /// At a bus, nodes are on it without links, and so without parameters of these.
    fn no_links_of_their_own(&self, kind: &'static str) -> Result<(), FabricError> {
        let groups = self.spec.requesters.iter().chain(&self.spec.endpoints);
        let mut given = groups.filter_map(|group| Some((group, group.link.first()?)));
        let Some((group, (key, value))) = given.next() else {
            return Ok(());
        };
        let message = format!(
            "the nodes of group `{}` are on it without links of their own, so link.{key} = \
             {value} means nothing; give it to [link], which is the bus",
            group.name
        );
        Err(FabricError::Topology { kind, message })
    }

    fn listed(&self, mut graph: Graph) -> Result<Wired, FabricError> {
        let raw = &self.spec.raw;
        let mut switches = Vec::new();
        if !self.spec.switches.is_empty() {
            let make = |raw: &RawConfig, _: &_| Ok(Switch::new(raw));
            let nodes = expand(raw, "switch", "s", &self.spec.switches, make)?;
            graph.names.extend(nodes.names);
            switches = nodes.settings;
        }
        for link_spec in &self.spec.links {
            let made = self.listed_link(&graph, link_spec)?;
            graph.links.push(made);
        }
        Ok((graph, switches))
    }

    fn listed_link(&self, graph: &Graph, spec: &LinkSpec) -> Result<Link, FabricError> {
        let unknown = |what, name: &str, valid| FabricError::Unknown {
            element: format!("link {}-{}", spec.ends[0], spec.ends[1]),
            what,
            name: name.to_owned(),
            valid,
        };
        let (mut ends, mut ports) = ([NodeId(0); 2], [None; 2]);
        for (side, end) in spec.ends.iter().enumerate() {
            let (name, port) = match end.split_once(':') {
                Some((name, port)) => (name, Some(port)),
                None => (end.as_str(), None),
            };
            let node = node(graph, name);
            ends[side] = node.ok_or_else(|| unknown("node", name, valid(&graph.names)))?;
            if let Some(port) = port {
                if !graph.forwards(ends[side]) {
                    return Err(no_ports(graph, ends[side], spec));
                }
                let number = port
                    .parse()
                    .map_err(|_| unknown("port", port, "whole numbers from 0".to_owned()))?;
                ports[side] = Some(number);
            }
            if !self.sockets.has_port(ends[side]) {
                let link = format!("link {}-{}", spec.ends[0], spec.ends[1]);
                let why = "a requester with `socket` is joined with its home alone, by socket.*";
                return Err(FabricError::BadLink { link, why });
            }
        }
        Ok(Link {
            ends,
            ports,
            settings: self.link(graph, ends, &spec.set)?,
        })
    }

    /// The settings of a link: the fabric's, changed by its ends' groups, then by its own.
    fn link(
        &self,
        graph: &Graph,
        ends: [NodeId; 2],
        own: &Set,
    ) -> Result<LinkSettings, FabricError> {
        let ports = ends.iter().filter_map(|end| self.ports.get(end.index()));
        let set: Set = ports
            .flat_map(|set| set.iter())
            .chain(own)
            .cloned()
            .collect();
        if set.is_empty() {
            return Ok(self.alike);
        }
        let raw = with(&self.spec.raw, "link", &set).map_err(|source| FabricError::Element {
            element: format!("link {}-{}", graph.name(ends[0]), graph.name(ends[1])),
            source,
        })?;
        Ok(settings(&raw))
    }
}

/// Changes the links between the ends of one. False if there is none.
fn change<'a>(links: impl Iterator<Item = &'a mut Link>, changed: &Link) -> bool {
    let ([a, b], [first, second]) = (changed.ends, changed.ports);
    let mut found = false;
    for link in links {
        link.ports = match link.ends {
            ends if ends == [a, b] => [first, second],
            ends if ends == [b, a] => [second, first],
            _ => continue,
        };
        link.settings = changed.settings;
        found = true;
    }
    found
}

fn no_link(kind: &'static str, graph: &Graph, changed: &Link) -> FabricError {
    let [a, b] = changed.ends.map(|end| graph.name(end));
    let message = format!(
        "it makes its own links, and none joins `{a}` and `{b}`; for [[links]] of your own give \
         topology.kind = \"list\""
    );
    FabricError::Topology { kind, message }
}

/// A link names a port of a node that has none.
fn no_ports(graph: &Graph, node: NodeId, spec: &LinkSpec) -> FabricError {
    FabricError::BadLink {
        link: format!("link {}-{}", spec.ends[0], spec.ends[1]),
        why: match graph.forwards(node) {
            true => "an end of a bus has no ports; leave out the colon and the number",
            false => "only switches have ports; leave out the colon and the number of others",
        },
    }
}

fn settings(raw: &RawConfig) -> LinkSettings {
    let given = LinkParams::new(raw);
    LinkSettings {
        bandwidth: given.bandwidth,
        width: given.width,
        latency: given.latency,
        port_latency: given.port_latency,
        half: given.duplex.then_some(HalfDuplex {
            turnaround: given.turnaround,
            burst: given.burst,
        }),
        credits: given.credits,
    }
}

pub(super) fn node(graph: &Graph, name: &str) -> Option<NodeId> {
    let number = graph.names.iter().position(|known| known == name);
    number.map(|number| NodeId(number as u32))
}

/// Names for a message: all of a few, the first of many.
pub(super) fn valid(names: &[String]) -> String {
    const SHOWN: usize = 16;
    let more = if names.len() > SHOWN { ", .." } else { "" };
    let shown = &names[..names.len().min(SHOWN)];
    format!("{}{more}", shown.join(", "))
}

fn no_way(element: String) -> FabricError {
    FabricError::Element {
        element,
        source: ConfigError::Impossible {
            settings: vec![("via", "[]".to_owned())],
            message: "packets would have no way; name a neighbour, or leave the route out".into(),
        },
    }
}

/// Changes the routing tables as the file says, and looks for circles.
pub(super) fn route(
    spec: &FabricSpec,
    graph: &Graph,
    table: &mut RoutingTable,
) -> Result<(), FabricError> {
    for route in &spec.routes {
        let element = format!("route at {} to {}", route.at, route.to);
        let (edges, switches) = graph.names.split_at(graph.edges() as usize);
        let unknown = |what, name: &str, names: &[String]| FabricError::Unknown {
            element: element.clone(),
            what,
            name: name.to_owned(),
            valid: valid(names),
        };
        let at = node(graph, &route.at).filter(|at| graph.forwards(*at));
        let at = at.ok_or_else(|| unknown("switch", &route.at, switches))?;
        let to = node(graph, &route.to).filter(|to| !graph.forwards(*to));
        let to = to.ok_or_else(|| unknown("requester or endpoint", &route.to, edges))?;
        if route.via.is_empty() {
            return Err(no_way(element));
        }
        let exits = &graph.exits()[at];
        let mut ways = Vec::new();
        for via in &route.via {
            let next = node(graph, via);
            let found = exits
                .iter()
                .filter(|exit| Some(exit.to) == next && (exit.to == to || graph.forwards(exit.to)));
            let before = ways.len();
            ways.extend(found.map(|exit| exit.direction));
            if ways.len() == before {
                let names = exits.iter().map(|exit| graph.name(exit.to).to_owned());
                let names: Vec<String> = names.collect();
                return Err(unknown("neighbour on the way", via, &names));
            }
        }
        table.set(at, to, &ways);
    }
    let mut targets: Vec<NodeId> = spec
        .routes
        .iter()
        .filter_map(|r| node(graph, &r.to))
        .collect();
    targets.sort_unstable();
    targets.dedup();
    for to in targets {
        if let Some(circle) = table.circle(graph, to) {
            let names: Vec<&str> = circle.iter().map(|node| graph.name(*node)).collect();
            return Err(FabricError::Loop {
                to: graph.name(to).to_owned(),
                path: names.join(" to "),
            });
        }
    }
    Ok(())
}
