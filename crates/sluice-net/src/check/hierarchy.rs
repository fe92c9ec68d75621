//! Virtual hierarchies, and which host reaches which logical devices.

use super::devices::Devices;
use super::wiring::{node, valid};
use crate::error::FabricError;
use crate::graph::{Graph, NodeKind};
use crate::hierarchy::{Vcs, Vppb};
use crate::ids::{EndpointId, LinkId, NodeId, RequesterId};
use crate::spec::{FabricSpec, VcsSpec};
use sluice_units::Table;

/// Which host reaches which endpoints.
pub(super) struct Reach {
    pub vcs: Vec<Vcs>,
    /// Sets of logical devices: first those of hosts without a hierarchy, then one for each vcs.
    pub sets: Vec<Vec<u16>>,
    /// The set of each requester.
    pub of: Table<RequesterId, u32>,
    /// Whether each endpoint is on a divided switch.
    divided: Table<EndpointId, bool>,
}

impl Reach {
    /// Whether there must be a way between a requester and an endpoint.
    pub fn needs(&self, requester: RequesterId, endpoint: EndpointId) -> bool {
        match self.of[requester] {
            0 => !self.divided[endpoint],
            set => {
                let vppbs = &self.vcs[set as usize - 1].vppbs;
                vppbs.iter().any(|vppb| vppb.endpoint == endpoint)
            }
        }
    }
}

pub(super) fn reach(
    spec: &FabricSpec,
    graph: &Graph,
    devices: &Devices,
) -> Result<Reach, FabricError> {
    let mut reach = Reach {
        vcs: Vec::new(),
        sets: vec![Vec::new()],
        of: Table::filled(graph.requesters, 0),
        divided: Table::filled(graph.endpoints, false),
    };
    for one in &spec.vcs {
        let checker = Checker {
            graph,
            devices,
            one,
        };
        let vcs = checker.vcs(&reach)?;
        reach.of[vcs.host] = reach.sets.len() as u32;
        // The address map has them in the order of the vPPBs.
        let mut set: Vec<u16> = vcs.vppbs.iter().map(|vppb| vppb.device).collect();
        set.extend(checker.local(vcs.host));
        reach.sets.push(set);
        reach.vcs.push(vcs);
    }
    for vcs in &reach.vcs {
        divide(graph, vcs, &reach.of, &mut reach.divided)?;
    }
    let whole = devices.logical.iter().enumerate();
    let whole = whole.filter(|(_, device)| !reach.divided[device.endpoint]);
    reach.sets[0] = whole.map(|(place, _)| place as u16).collect();
    Ok(reach)
}

/// Marks the endpoints of a divided switch, and checks what else is on it.
fn divide(
    graph: &Graph,
    vcs: &Vcs,
    of: &Table<RequesterId, u32>,
    divided: &mut Table<EndpointId, bool>,
) -> Result<(), FabricError> {
    let wrong = |message| Err(refusal(&vcs.name, message));
    let switch = graph.name(vcs.switch);
    for (_, end, _) in on(graph, vcs.switch) {
        let name = graph.name(end);
        match graph.kind(end) {
            NodeKind::Switch(_) => {
                return wrong(format!(
                    "`{switch}` is joined with the switch `{name}`; a switch with virtual \
                     hierarchies has hosts and devices only"
                ));
            }
            NodeKind::Requester(host) if of[host] == 0 => {
                return wrong(format!(
                    "`{name}` is on `{switch}` too, and upstream of no vcs; give it a [[vcs]]"
                ));
            }
            NodeKind::Requester(_) => (),
            NodeKind::Endpoint(endpoint) => divided[endpoint] = true,
        }
    }
    Ok(())
}

/// The links of a switch: their numbers, their other ends, and their ports at the switch.
fn on(graph: &Graph, switch: NodeId) -> impl Iterator<Item = (LinkId, NodeId, u32)> {
    let sides = (0..)
        .map(LinkId)
        .zip(&graph.links)
        .flat_map(move |(number, link)| {
            let side = |here: usize| {
                let at = (link.ends[here] == switch)
                    .then(|| link.ports[here])
                    .flatten();
                at.map(|port| (number, link.ends[1 - here], port))
            };
            [side(0), side(1)]
        });
    sides.flatten()
}

fn refusal(vcs: &str, message: String) -> FabricError {
    FabricError::Hierarchy {
        vcs: vcs.to_owned(),
        message,
    }
}

/// One description, and what it is checked against.
struct Checker<'a> {
    graph: &'a Graph,
    devices: &'a Devices,
    one: &'a VcsSpec,
}

impl Checker<'_> {
    fn wrong<T>(&self, message: String) -> Result<T, FabricError> {
        Err(refusal(&self.one.name, message))
    }

    fn unknown(&self, what: &'static str, name: &str, valid: String) -> FabricError {
        FabricError::Unknown {
            element: format!("vcs `{}`", self.one.name),
            what,
            name: name.to_owned(),
            valid,
        }
    }

    fn vcs(&self, before: &Reach) -> Result<Vcs, FabricError> {
        let (graph, one) = (self.graph, self.one);
        if before.vcs.iter().any(|other| other.name == one.name) {
            return self.wrong("there are two of this name".to_owned());
        }
        let (edges, switches) = graph.names.split_at(graph.edges() as usize);
        let switch = node(graph, &one.switch).filter(|node| graph.forwards(*node));
        let switch = switch.ok_or_else(|| self.unknown("switch", &one.switch, valid(switches)))?;
        let hosts = &edges[..graph.requesters as usize];
        let host = hosts.iter().position(|name| *name == one.upstream);
        let host = host.ok_or_else(|| self.unknown("requester", &one.upstream, valid(hosts)))?;
        let host = RequesterId(host as u32);
        let mut links = on(graph, switch).filter(|(_, end, _)| *end == host.node());
        let (link, more) = (links.next(), links.next());
        let Some((link, _, _)) = link.filter(|_| more.is_none()) else {
            let count = if more.is_some() {
                "more than one"
            } else {
                "no"
            };
            let message = format!("`{}` has {count} link to `{}`", one.upstream, one.switch);
            return self.wrong(format!("{message}; an upstream port is one link"));
        };
        if let set @ 1.. = before.of[host] {
            let other = &before.vcs[set as usize - 1].name;
            let message = format!("`{}` is upstream of vcs `{other}` already", one.upstream);
            return self.wrong(message);
        }
        let mut vppbs: Vec<Vppb> = Vec::new();
        for name in &one.vppbs {
            let vppb = self.vppb(switch, name)?;
            let mine = vppbs.iter().map(|other| (&one.name, other));
            let others = before.vcs.iter();
            let others = others.flat_map(|vcs| vcs.vppbs.iter().map(|other| (&vcs.name, other)));
            let mut bound = mine.chain(others);
            if let Some((owner, _)) = bound.find(|(_, other)| other.device == vppb.device) {
                let message = format!("`{}` is bound to vcs `{owner}` already", vppb.name);
                return self.wrong(message);
            }
            vppbs.push(vppb);
        }
        if vppbs.is_empty() {
            return self.wrong("it binds nothing; give vppbs = [\"DEVICE\"]".to_owned());
        }
        Ok(Vcs {
            name: one.name.clone(),
            switch,
            host,
            link,
            vppbs,
        })
    }

    /// A device by its name, or by `SWITCH:PORT` and the LD-ID behind a dot.
    fn vppb(&self, switch: NodeId, name: &str) -> Result<Vppb, FabricError> {
        let named = match name.split_once(':') {
            Some((at, port)) => self.in_port(switch, at, port)?,
            None => name.to_owned(),
        };
        let number = self.devices.names.iter().position(|known| *known == named);
        let number = number.ok_or_else(|| {
            let names = self.devices.names.clone();
            self.unknown("device", name, valid(&names))
        })?;
        let device = self.devices.logical[number];
        let node = self.graph.endpoint(device.endpoint);
        let link = on(self.graph, switch).find(|(_, end, _)| *end == node);
        let Some((_, _, port)) = link else {
            let switch = &self.one.switch;
            return self.wrong(format!(
                "`{named}` is not on `{switch}`, so no vPPB can have it"
            ));
        };
        Ok(Vppb {
            name: named,
            endpoint: device.endpoint,
            logical: device.id,
            port,
            device: number as u16,
        })
    }

    /// The name of the device in a port.
    fn in_port(&self, switch: NodeId, at: &str, port: &str) -> Result<String, FabricError> {
        if at != self.one.switch {
            return Err(self.unknown("port's switch", at, self.one.switch.clone()));
        }
        let (number, logical) = match port.split_once('.') {
            Some((number, logical)) => (number, format!(".{logical}")),
            None => (port, String::new()),
        };
        let wanted = number.parse().ok();
        let found = on(self.graph, switch)
            .find(|(_, end, port)| Some(*port) == wanted && !self.graph.forwards(*end));
        let found = found.filter(|(_, end, _)| end.0 >= self.graph.requesters);
        match found {
            Some((_, end, _)) => Ok(format!("{}{logical}", self.graph.name(end))),
            None => {
                let ports = on(self.graph, switch);
                let ports = ports.filter(|(_, end, _)| end.0 >= self.graph.requesters);
                let ports: Vec<String> = ports.map(|(_, _, port)| port.to_string()).collect();
                Err(self.unknown("port with a device", port, valid(&ports)))
            }
        }
    }

    /// Memory on links of the host's own.
    fn local(&self, host: RequesterId) -> Vec<u16> {
        let host = host.node();
        let links = self.graph.links.iter().map(|link| link.ends);
        let others = links.filter_map(|ends| match ends {
            [a, b] if a == host => Some(b),
            [a, b] if b == host => Some(a),
            _ => None,
        });
        let others: Vec<NodeId> = others.filter(|end| !self.graph.forwards(*end)).collect();
        let devices = (0..).zip(&self.devices.logical);
        let local =
            devices.filter(|(_, device)| others.contains(&self.graph.endpoint(device.endpoint)));
        local.map(|(place, _)| place).collect()
    }
}
