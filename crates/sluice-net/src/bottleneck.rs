//! Which resource bounds a run: the one that is busy for the largest share of the time.

use super::coherence::Coherence;
use super::endpoint::Endpoint;
use super::graph::Graph;
use super::ids::{EndpointId, RequesterId};
use super::link::Links;
use super::requester::Requester;
use super::routing::Router;
use super::stats::FabricStats;
use sluice_units::{Ps, Table};
use std::cmp::Ordering;

/// A resource and how long it was busy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// One of
    ///
    /// - `link`, at a device, or `switch`, a port from which a switch sends; of both, also while
    ///   half-duplex wires turn round or carry the other direction
    /// - `controller`, an endpoint's bandwidth, or a logical device's share of it
    /// - `snoop filter`: requests wait for a tracker, or all entries are busy
    /// - `cache`, `channel` or `die` of a CXL-SSD; its cache by the mean number of accesses that
    ///   wait for it, at most 1
    /// - `dram` of an endpoint: an access waits for its channel
    /// - `requester`, its queue or its interval
    pub kind: &'static str,
    /// Which of its kind, by its name.
    pub name: String,
    /// Time while the counting went on.
    pub busy: Ps,
}

/// Resources that are busy less than this share of the time bound nothing: requesters do, for they
/// could have asked for more.
const BOUND_PERCENT: u64 = 90;

/// The parts of a fabric among which one is looked for.
pub(super) struct Bottleneck<'a> {
    pub graph: &'a Graph,
    pub router: &'a Router,
    pub links: &'a Links,
    pub requesters: &'a Table<RequesterId, Requester>,
    pub endpoints: &'a Table<EndpointId, Endpoint>,
    pub coherence: Option<&'a Coherence>,
    pub stats: &'a FabricStats,
}

impl Bottleneck<'_> {
    /// The resource that is used most; if none is used much, the requester with the most requests.
    pub fn find(&self) -> Resource {
        let time = self.stats.time();
        let all = self
            .directions()
            .chain(self.controllers())
            .chain(self.filters())
            .chain(self.devices())
            .chain(self.drams());
        // Of equals the first: the last of `max_by` would be another.
        let best = all.max_by(|a, b| a.busy.cmp(&b.busy).then(Ordering::Greater));
        match best {
            Some(best) if best.busy * 100 >= (time * BOUND_PERCENT).max(Ps(1)) => best,
            _ => self.busiest_requester(),
        }
    }

    fn directions(&self) -> impl Iterator<Item = Resource> {
        let time = self.stats.time();
        self.graph.directions().map(move |direction| {
            let (from, _) = self.graph.direction(direction);
            Resource {
                kind: if self.router.is_switch(from) {
                    "switch"
                } else {
                    "link"
                },
                name: self.graph.direction_name(direction),
                busy: self.links.taken(direction, self.stats.until).min(time),
            }
        })
    }

    fn name(&self, endpoint: EndpointId) -> String {
        self.graph.name(self.graph.endpoint(endpoint)).to_owned()
    }

    /// Each logical device has its share, which another one's requests cannot use.
    fn controllers(&self) -> impl Iterator<Item = Resource> {
        let until = self.stats.until;
        self.endpoints.iter().flat_map(move |(id, endpoint)| {
            let shares = endpoint.shares.busy(until).enumerate();
            shares.map(move |(logical, busy)| Resource {
                kind: "controller",
                name: match endpoint.shares.count() {
                    1 => self.name(id),
                    _ => format!("{}.{logical}", self.name(id)),
                },
                busy,
            })
        })
    }

    fn filters(&self) -> impl Iterator<Item = Resource> {
        let coherence = self.coherence.iter();
        let shortages = coherence.flat_map(|coherence| coherence.shortages(self.stats.until));
        (0..).zip(shortages).map(|(agent, busy)| Resource {
            kind: "snoop filter",
            name: self.name(EndpointId(agent)),
            busy,
        })
    }

    fn devices(&self) -> impl Iterator<Item = Resource> {
        let time = self.stats.time();
        self.endpoints.iter().flat_map(move |(id, endpoint)| {
            let inside = endpoint.inside().into_iter().flatten();
            inside.map(move |(kind, busy)| Resource {
                kind,
                name: self.name(id),
                busy: busy.min(time),
            })
        })
    }

    fn drams(&self) -> impl Iterator<Item = Resource> {
        let (until, time) = (self.stats.until, self.stats.time());
        self.endpoints.iter().filter_map(move |(id, endpoint)| {
            endpoint.waited(until).map(|waited| Resource {
                kind: "dram",
                name: self.name(id),
                busy: waited.min(time),
            })
        })
    }

    fn busiest_requester(&self) -> Resource {
        // Of equals the first.
        let completed = |(_, requester): &(RequesterId, &Requester)| requester.stats().completed;
        let most = self.requesters.iter().rev().max_by_key(completed);
        let id = most.map_or(RequesterId(0), |(id, _)| id);
        Resource {
            kind: "requester",
            name: self.graph.name(id.node()).to_owned(),
            busy: self.stats.time(),
        }
    }
}
