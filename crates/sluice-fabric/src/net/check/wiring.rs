//! Switches and links, from a topology or from a list, and the routes that a file changes.

use super::nodes::expand;
use crate::net::error::FabricError;
use crate::net::graph::{Graph, HalfDuplex, Link, LinkSettings};
use crate::net::routing::Table;
use crate::net::spec::{FabricSpec, LinkSpec, with};
use crate::net::topology::{Shape, TOPOLOGIES};
use sluice_model::RawConfig;
use sluice_units::Ps;

/// Nodes and links, with what the switches take.
pub(super) struct Wiring {
    pub graph: Graph,
    pub switches: Vec<Ps>,
    pub is_bus: bool,
}

/// A link that is none: its ends are one place.
const SAME_PLACE: LinkSettings = LinkSettings {
    bandwidth: None,
    latency: Ps::ZERO,
    port_latency: Ps::ZERO,
    half: None,
    credits: None,
};

pub(super) fn wire(
    spec: &FabricSpec,
    requesters: &[String],
    endpoints: &[String],
) -> Result<Wiring, FabricError> {
    let raw = &spec.raw;
    let graph = Graph {
        names: requesters.iter().chain(endpoints).cloned().collect(),
        requesters: requesters.len() as u32,
        endpoints: endpoints.len() as u32,
        links: Vec::new(),
    };
    let mut wiring = match raw.choice("topology.kind") {
        "list" => listed(spec, graph)?,
        kind => built(spec, kind, graph)?,
    };
    wiring.graph.check(raw.count("switch.ports") as u32)?;
    Ok(wiring)
}

fn built(spec: &FabricSpec, kind: &'static str, mut graph: Graph) -> Result<Wiring, FabricError> {
    let raw = &spec.raw;
    let listed = [
        ("links", spec.links.len()),
        ("switches", spec.switches.len()),
    ];
    if let Some((table, _)) = listed.iter().find(|(_, count)| *count > 0) {
        let message = format!("it makes its own; for [[{table}]] give topology.kind = \"list\"");
        return Err(FabricError::Topology { kind, message });
    }
    let count = |key| raw.count(key) as u32;
    let topology = TOPOLOGIES.iter().find(|topology| topology.name == kind);
    let topology = topology.expect("a choice comes from its registry");
    let skeleton = (topology.build)(&Shape {
        requesters: graph.requesters,
        endpoints: graph.endpoints,
        per_switch: count("topology.per_switch"),
        alternates: raw.choice("topology.placement") == "alternate",
        spines: count("topology.spines"),
        arity: count("topology.arity"),
    });
    let first = graph.edges();
    let names = (0..skeleton.switches).map(|index| format!("s{index}"));
    graph.names.extend(names);
    let settings = link(raw);
    let to_device = if skeleton.is_bus {
        SAME_PLACE
    } else {
        settings
    };
    let on_leaves = skeleton.places.iter().enumerate();
    let on_leaves = on_leaves.map(|(edge, leaf)| ([edge as u32, first + leaf], to_device));
    let between = skeleton.joins.iter();
    let between = between.map(|[a, b]| ([first + a, first + b], settings));
    graph.links = on_leaves
        .chain(between)
        .map(|(ends, settings)| Link {
            ends,
            ports: [None; 2],
            settings,
        })
        .collect();
    let latency = if skeleton.is_bus {
        Ps::ZERO
    } else {
        raw.time("switch.latency")
    };
    Ok(Wiring {
        graph,
        switches: vec![latency; skeleton.switches as usize],
        is_bus: skeleton.is_bus,
    })
}

fn listed(spec: &FabricSpec, mut graph: Graph) -> Result<Wiring, FabricError> {
    let raw = &spec.raw;
    let mut latencies = Vec::new();
    if !spec.switches.is_empty() {
        let make = |raw: &RawConfig, _: &_| Ok(raw.time("switch.latency"));
        let switches = expand(raw, "switch", "s", &spec.switches, make)?;
        graph.names.extend(switches.names);
        latencies = switches.settings;
    }
    for link_spec in &spec.links {
        let made = listed_link(raw, &graph, link_spec)?;
        graph.links.push(made);
    }
    Ok(Wiring {
        graph,
        switches: latencies,
        is_bus: false,
    })
}

fn listed_link(raw: &RawConfig, graph: &Graph, spec: &LinkSpec) -> Result<Link, FabricError> {
    let element = || format!("link {}-{}", spec.ends[0], spec.ends[1]);
    let unknown = |what, name: &str, valid| FabricError::Unknown {
        element: element(),
        what,
        name: name.to_owned(),
        valid,
    };
    let (mut ends, mut ports) = ([0; 2], [None; 2]);
    for (side, end) in spec.ends.iter().enumerate() {
        let (name, port) = match end.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (end.as_str(), None),
        };
        ends[side] = node(graph, name).ok_or_else(|| unknown("node", name, valid(&graph.names)))?;
        if let Some(port) = port {
            let number = port
                .parse()
                .map_err(|_| unknown("port", port, "whole numbers from 0".to_owned()))?;
            ports[side] = Some(number);
        }
    }
    let raw = with(raw, "link", &spec.set).map_err(|source| FabricError::Element {
        element: element(),
        source,
    })?;
    Ok(Link {
        ends,
        ports,
        settings: link(&raw),
    })
}

fn link(raw: &RawConfig) -> LinkSettings {
    let is_half = raw.choice("link.duplex") == "half";
    LinkSettings {
        bandwidth: raw.count_or_word("link.bandwidth"),
        latency: raw.time("link.latency"),
        port_latency: raw.time("link.port_latency"),
        half: is_half.then(|| HalfDuplex {
            turnaround: raw.time("link.turnaround"),
            burst: raw.count("link.burst") as u32,
        }),
        credits: raw
            .count_or_word("link.credits")
            .map(|credits| credits as u32),
    }
}

fn node(graph: &Graph, name: &str) -> Option<u32> {
    let place = graph.names.iter().position(|known| known == name);
    place.map(|place| place as u32)
}

/// Names for a message: all of a few, the first of many.
pub(super) fn valid(names: &[String]) -> String {
    const SHOWN: usize = 16;
    let more = if names.len() > SHOWN { ", .." } else { "" };
    let shown = &names[..names.len().min(SHOWN)];
    format!("{}{more}", shown.join(", "))
}

/// Changes the routing tables as the file says, and looks for circles.
pub(super) fn route(
    spec: &FabricSpec,
    graph: &Graph,
    table: &mut Table,
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
        let leaving = &graph.leaving()[at as usize];
        let mut ways = Vec::new();
        for via in &route.via {
            let next = node(graph, via);
            let found = leaving.iter().copied().filter(|direction| {
                let end = graph.direction(*direction).1;
                Some(end) == next && (end == to || graph.forwards(end))
            });
            let before = ways.len();
            ways.extend(found);
            if ways.len() == before {
                let ends = leaving.iter().map(|way| graph.direction(*way).1);
                let names: Vec<String> =
                    ends.map(|end| graph.names[end as usize].clone()).collect();
                return Err(unknown("neighbour on the way", via, &names));
            }
        }
        table.set(at, to, &ways);
    }
    let mut targets: Vec<u32> = spec
        .routes
        .iter()
        .filter_map(|r| node(graph, &r.to))
        .collect();
    targets.sort_unstable();
    targets.dedup();
    for to in targets {
        if let Some(circle) = table.circle(graph, to) {
            let names: Vec<&str> = circle.iter().map(|n| &*graph.names[*n as usize]).collect();
            return Err(FabricError::Loop {
                to: graph.names[to as usize].clone(),
                path: names.join(" to "),
            });
        }
    }
    Ok(())
}
