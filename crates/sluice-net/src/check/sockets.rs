//! Servers of several sockets: requesters that reach the fabric through another one's port.
//!
//! A server's link to the fabric is at one of its sockets, the home. What the cores of the others
//! ask for goes there first, over a link between the sockets, and then over the home's own.

use super::nodes::Nodes;
use crate::error::FabricError;
use crate::graph::{Graph, Link, LinkSettings};
use crate::ids::NodeId;
use crate::params::SocketParams;
use crate::requester::RequesterSettings;
use crate::spec::{FabricSpec, Group};
use sluice_params::ConfigError;

/// Which requesters have no port of their own, and what joins them with one that has.
pub(super) struct Sockets {
    /// For each requester without a port of its own, the node whose port it uses.
    homes: Vec<Option<NodeId>>,
    link: LinkSettings,
}

impl Sockets {
    pub fn new(
        spec: &FabricSpec,
        requesters: &Nodes<RequesterSettings>,
    ) -> Result<Sockets, FabricError> {
        let given = SocketParams::new(&spec.raw);
        let mut homes = vec![None; requesters.names.len()];
        for (number, group) in spec.requesters.iter().enumerate() {
            let Some(home) = &group.socket else {
                continue;
            };
            let wrong = |message| wrong(group, home, message);
            let groups = &spec.requesters;
            let place = groups.iter().position(|other| other.name == *home);
            let place = place.filter(|place| groups[*place].socket.is_none());
            let Some(place) = place else {
                let others = groups.iter().filter(|other| other.socket.is_none());
                let names: Vec<&str> = others.map(|other| &*other.name).collect();
                return Err(wrong(format!(
                    "no group of requesters with a port of its own; there are {}",
                    names.join(", ")
                )));
            };
            let (far, near) = (requesters.of_group(number), requesters.of_group(place));
            if far.len() != near.len() {
                return Err(wrong(format!(
                    "each of its requesters uses the port of one of these, but there are {} and \
                     {}; give both the same count",
                    far.len(),
                    near.len()
                )));
            }
            if let Some((key, value)) = group.link.first() {
                return Err(wrong(format!(
                    "its requesters have no link to the fabric, so link.{key} = {value} means \
                     nothing; the parameters of the link between sockets are socket.*"
                )));
            }
            for (far, near) in far.zip(near) {
                homes[far] = Some(NodeId(near as u32));
            }
        }
        let sockets = Sockets {
            homes,
            link: LinkSettings {
                bandwidth: given.bandwidth,
                latency: given.latency,
                ..LinkSettings::NOTHING
            },
        };
        match sockets.count() {
            0 => sockets.means_nothing(spec)?,
            _ if !spec.vcs.is_empty() => {
                let message = "[[vcs]] have hosts on the ports of their switches; leave out either";
                let group = spec.requesters.iter().find(|group| group.socket.is_some());
                let given = group.and_then(|group| Some((group, group.socket.as_ref()?)));
                let (group, home) = given.expect("one of its requesters has a socket");
                return Err(wrong(group, home, message.to_owned()));
            }
            _ => {}
        }
        Ok(sockets)
    }

    /// Requesters without a port.
    pub fn count(&self) -> u32 {
        self.homes.iter().flatten().count() as u32
    }

    /// Whether a node is joined with the fabric itself.
    pub fn has_port(&self, node: NodeId) -> bool {
        self.homes.get(node.index()).is_none_or(Option::is_none)
    }

    /// Puts a node into the link of each home, at which its other sockets come in. Returns how many
    /// there are: they take no time and are no hop.
    pub fn join(&self, graph: &mut Graph) -> u32 {
        let first = graph.names.len();
        let mut roots: Vec<(NodeId, NodeId)> = Vec::new();
        for (far, home) in (0..).map(NodeId).zip(&self.homes) {
            let Some(home) = *home else {
                continue;
            };
            let known = roots.iter().find(|(of, _)| *of == home);
            let root = match known {
                Some((_, root)) => *root,
                None => {
                    let root = add_root(graph, home);
                    roots.push((home, root));
                    root
                }
            };
            graph.links.push(Link {
                ends: [far, root],
                ports: [None; 2],
                settings: self.link,
            });
        }
        (graph.names.len() - first) as u32
    }

    /// Parameters that nothing looks at are a mistake.
    fn means_nothing(&self, spec: &FabricSpec) -> Result<(), FabricError> {
        let usual = FabricSpec::default().raw;
        for key in ["socket.latency", "socket.bandwidth"] {
            if spec.raw.get(key) != usual.get(key) {
                let message = "no group of requesters has a socket; leave it out";
                return Err(spec.raw.impossible(&[key], message).into());
            }
        }
        Ok(())
    }
}

fn wrong(group: &Group, home: &str, message: String) -> FabricError {
    FabricError::Element {
        element: format!("requester group `{}`", group.name),
        source: ConfigError::Impossible {
            settings: vec![("socket", home.to_owned())],
            message,
        },
    }
}

/// Between a home and its links.
fn add_root(graph: &mut Graph, home: NodeId) -> NodeId {
    let root = NodeId(graph.names.len() as u32);
    let name = format!("{}.root", graph.name(home));
    graph.names.push(name);
    for link in &mut graph.links {
        for side in 0..2 {
            if link.ends[side] == home {
                link.ends[side] = root;
                link.ports[side] = None;
            }
        }
    }
    graph.links.push(Link {
        ends: [home, root],
        ports: [None; 2],
        settings: LinkSettings::NOTHING,
    });
    root
}
