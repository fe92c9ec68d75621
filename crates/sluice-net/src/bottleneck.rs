//! Which resource bounds a run: the one that is busy for the largest share of the time.

use super::engine::Fabric;
use super::graph::NodeKind;
use sluice_units::Ps;

/// A resource and how long it was busy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// `link` (at a device), `switch` (a port from which a switch sends), `controller` (an
    /// endpoint's bandwidth), `snoop filter` (requests wait for a tracker, or all entries
    /// are busy), `cache`,
    /// `channel` or `die` (of a CXL-SSD; its cache by the mean number of
    /// accesses that wait for it, at most 1) or `requester` (its queue or its interval).
    pub kind: &'static str,
    /// Which one.
    pub name: String,
    /// Time while the counting went on.
    pub busy: Ps,
}

/// Resources that are busy less than this share of the time bound nothing: requesters do, for they
/// could have asked for more.
const BOUND_PERCENT: u64 = 90;

impl Fabric {
    /// The resource that is used most; if none is used much, the requester with the most requests,
    /// whose queue or interval bounds the run.
    pub fn bottleneck(&self) -> Resource {
        let time = self.stats.time();
        let best = self.resources().max_by(|a, b| {
            // Of equals the first: the last of `max_by` would be another.
            a.busy.cmp(&b.busy).then(std::cmp::Ordering::Greater)
        });
        match best {
            Some(best) if best.busy * 100 >= time * BOUND_PERCENT => best,
            _ => self.busiest_requester(),
        }
    }

    fn resources(&self) -> impl Iterator<Item = Resource> {
        let until = self.stats.until;
        let directions = 0..2 * self.graph.links.len() as u32;
        let links = directions.map(move |direction| {
            let (from, _) = self.graph.direction(direction);
            let sends = matches!(self.graph.kind(from), NodeKind::Switch(_));
            Resource {
                kind: if sends && !self.nodes[from as usize].is_hub {
                    "switch"
                } else {
                    "link"
                },
                name: self.graph.direction_name(direction),
                busy: self.links.busy(direction, until),
            }
        });
        let controllers = self.endpoints.iter().enumerate();
        let controllers = controllers.map(|(index, endpoint)| Resource {
            kind: "controller",
            name: self.graph.names[index + self.graph.requesters as usize].clone(),
            busy: endpoint.busy(),
        });
        links
            .chain(controllers)
            .chain(self.filters())
            .chain(self.devices())
    }

    fn filters(&self) -> impl Iterator<Item = Resource> {
        let shortages = self.coherence.iter();
        let shortages = shortages.flat_map(|coherence| coherence.shortages(self.stats.until));
        shortages.enumerate().map(|(agent, busy)| Resource {
            kind: "snoop filter",
            name: self.graph.names[agent + self.graph.requesters as usize].clone(),
            busy,
        })
    }

    fn devices(&self) -> impl Iterator<Item = Resource> {
        let time = self.stats.time();
        self.endpoints
            .iter()
            .enumerate()
            .flat_map(move |(index, endpoint)| {
                let name = &self.graph.names[index + self.graph.requesters as usize];
                let inside = endpoint.inside().into_iter().flatten();
                inside.map(move |(kind, busy)| Resource {
                    kind,
                    name: name.clone(),
                    busy: busy.min(time),
                })
            })
    }

    fn busiest_requester(&self) -> Resource {
        let requesters = self.requester_stats().enumerate();
        let most = requesters.max_by_key(|(index, stats)| (stats.completed, usize::MAX - index));
        let index = most.map_or(0, |(index, _)| index);
        Resource {
            kind: "requester",
            name: self.graph.names[index].clone(),
            busy: self.stats.time(),
        }
    }
}
