//! The event loop: requests leave requesters, cross links and switches, are served and come back.
//!
//! The parts of a fabric (requesters, routing, links, endpoints, coherence) do not know each other.
//! Each reports what follows from an event, and when; the engine brings it about in the order of
//! time. A hop is one event, and two where links are contended (see [`crate::link`]).

use super::answers::Answers;
use super::coherence::{AccessId, Coherence, Finished, Issue, RequesterSetup};
use super::config::FabricConfig;
use super::endpoint::{Endpoint, Served};
use super::error::FabricError;
use super::graph::NodeKind;
use super::ids::{DirectionId, EndpointId, NodeId, PacketId, RequesterId};
use super::link::{Arrival, Links, Moves, Offer, Sent};
use super::packet::{Credit, Packet, Slab};
use super::parts::Part;
use super::pattern::Access;
use super::requester::{AddressMap, Next, Requester};
use super::routing::Router;
use super::stats::{Completed, FabricStats};
use sluice_cxl::Channel;
use sluice_events::Wheel;
use sluice_units::{Ps, Rng, Table, seed_of};

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A packet has come to the end of a direction.
    Arrive {
        direction: DirectionId,
        packet: PacketId,
    },
    /// A packet is ready for a direction for which others compete.
    Send {
        direction: DirectionId,
        packet: PacketId,
    },
    /// A host's request for coherent memory leaves it.
    Ask { requester: RequesterId, number: u32 },
    /// It is a request's turn at its memory.
    Access { packet: PacketId },
    /// A memory has done its part of a request.
    Served { packet: PacketId },
    /// A requester may issue again.
    Issue { requester: RequesterId },
    /// The wires that a direction shares are free.
    Free { direction: DirectionId },
    /// A receiver's room for a packet has become known to the sender.
    Credit(Credit),
    /// A memory from outside wants to be advanced.
    Advance { endpoint: EndpointId },
    /// A message of a requester's cache is ready to leave.
    Leave { packet: PacketId },
    /// A message has been looked up in the filter, and is the agent's.
    Agent { packet: PacketId },
    /// An access is done that the local cache served.
    Hit {
        requester: RequesterId,
        access: AccessId,
    },
}

/// Gets each request that has come back.
pub(super) type Done<'a> = &'a mut dyn FnMut(Completed);

/// The parts of a fabric, and what happens between them.
pub(super) struct Engine {
    pub now: Ps,
    pub queue: Wheel<Event>,
    /// Events of the queue that advance a memory from outside.
    advances: usize,
    pub packets: Slab,
    pub requesters: Table<RequesterId, Requester>,
    pub addresses: AddressMap,
    pub router: Router,
    pub links: Links,
    pub endpoints: Table<EndpointId, Endpoint>,
    /// Caches and agents, where memory is coherent.
    pub coherence: Option<Box<Coherence>>,
    pub stats: FabricStats,
    pub issued: u64,
    pub completed: u64,
    /// Answers to hosts.
    pub answers: Answers,
}

impl Engine {
    /// # Errors
    /// [`FabricError::Device`] if the device of an endpoint cannot be made.
    pub fn new(config: &FabricConfig) -> Result<Engine, FabricError> {
        let requesters = (0..).zip(&config.requesters).map(|(number, settings)| {
            let rng = Rng::stream(config.seed, &format!("requester {number}"));
            let pattern = config.pattern(RequesterId(number));
            let source = match settings.is_host {
                true => None,
                false => (pattern.0.make)(&pattern.1, rng),
            };
            Requester::new(settings, source)
        });
        let endpoints = config.endpoints.iter().enumerate();
        let endpoints: Result<_, _> = endpoints
            .map(|(number, settings)| {
                Endpoint::new(
                    settings,
                    config.sizes.payload_bytes(),
                    seed_of(config.seed, number as u64),
                )
            })
            .collect();
        let depth: usize = config.requesters.iter().map(|r| r.depth as usize).sum();
        let mut engine = Engine {
            now: Ps::ZERO,
            queue: Wheel::with_capacity(depth.min(1 << 16)),
            advances: 0,
            packets: Slab::default(),
            requesters: requesters.collect(),
            addresses: config.addresses.clone(),
            router: Router::new(
                &config.graph,
                &config.hops,
                &config.latencies,
                config.table.clone(),
                config.routing,
            ),
            links: Links::new(&config.graph, &config.hops, &config.sizes),
            endpoints: endpoints?,
            coherence: coherence(config),
            stats: FabricStats::default(),
            issued: 0,
            completed: 0,
            answers: Answers::new(config.requesters.len() as u32),
        };
        if engine.coherence.is_none() {
            engine.answer_at_once(config);
        }
        Ok(engine)
    }

    /// Spares the events of endpoints that always take the same time.
    fn answer_at_once(&mut self, config: &FabricConfig) {
        let exits = config.graph.exits();
        for id in self.endpoints.indices() {
            let endpoint = &mut self.endpoints[id];
            if let [exit] = exits[config.graph.endpoint(id)][..]
                && endpoint.takes_the_same_time()
                && self.links.answer_at_once(exit.direction.back(), id)
            {
                endpoint.answer_at_once();
            }
        }
    }

    /// Handles one event; false if there is none.
    #[inline]
    pub fn step(&mut self, done: Done) -> bool {
        let Some((now, event)) = self.queue.pop() else {
            return false;
        };
        assert!(now >= self.now, "an event in the past");
        self.now = now;
        self.stats.events += 1;
        match event {
            Event::Arrive { direction, packet } => self.arrive(now, direction, packet, done),
            Event::Send { direction, packet } => {
                let moves = self.links.send(&mut self.packets, now, direction, packet);
                self.follow(moves);
            }
            Event::Access { packet } => self.serve(now, packet),
            Event::Served { packet } => self.respond(now, packet),
            Event::Issue { requester } => {
                self.requesters[requester].wake();
                self.issue_all(now, requester);
            }
            Event::Free { direction } => {
                let moves = self.links.free(&mut self.packets, now, direction);
                self.follow(moves);
            }
            Event::Credit(credit) => {
                let moves = self.links.credit(&mut self.packets, now, credit);
                self.follow(moves);
            }
            Event::Ask { requester, number } => self.ask_coherent(now, requester, number, done),
            Event::Advance { endpoint } => self.advance_memory(now, endpoint),
            Event::Leave { packet } => self.forward(now, self.packets[packet].from.node(), packet),
            Event::Agent { packet } => {
                coherent(&mut self.coherence).take(&mut self.packets, now, packet);
                self.act(now);
            }
            Event::Hit { requester, access } => {
                let coherence = coherent(&mut self.coherence);
                let finished = coherence.finish(now, requester, access, None);
                self.finish(now, requester, &finished, done);
            }
        }
        true
    }

    /// Lets every requester that has requests of its own issue them.
    pub fn begin_issuing(&mut self) {
        for requester in self.requesters.indices() {
            if self.requesters[requester].needs_event() {
                self.queue.push(self.now, Event::Issue { requester });
            }
        }
    }

    /// Issues what a requester can issue now.
    fn issue_all(&mut self, now: Ps, requester: RequesterId) {
        loop {
            match self.requesters[requester].next(now) {
                Next::Issue(access) => self.issue(now, requester, access, None),
                Next::At(at) => return self.queue.push(at, Event::Issue { requester }),
                Next::Nothing => return,
            }
        }
    }

    /// Issues a request; one of the requester's own has no tag from outside.
    #[inline]
    pub fn issue(&mut self, now: Ps, requester: RequesterId, access: Access, tag: Option<u64>) {
        let target = self.addresses.find(requester, access.addr);
        let target = target.expect("a source asks for addresses of the footprint");
        let it = &mut self.requesters[requester];
        let number = it.issue(now);
        let tag = tag.unwrap_or(number);
        self.issued += 1;
        if let Some(coherence) = &mut self.coherence {
            let issue = Issue {
                requester,
                tag,
                addr: access.addr,
                line: coherence.line(target.endpoint, target.addr),
                is_write: access.is_write,
            };
            coherence.issue(&mut self.packets, now, &issue);
            return self.act(now);
        }
        let (process, cache_access) = it.times();
        let channel = if access.is_write {
            Channel::RwD
        } else {
            Channel::Req
        };
        let from = requester.node();
        let to = NodeId(self.requesters.count() + target.endpoint.0);
        let ready = Ps(now.0 + process.0 + cache_access.0);
        let (from_port, to_port) = (from.port_id(), to.port_id());
        let mut packet = Packet::new(from_port, to_port, channel, target.addr, ready);
        packet.tag = tag;
        packet.issued = now;
        packet.logical = target.logical;
        packet.parts[Part::Requester] = process;
        packet.parts[Part::Cache] = cache_access;
        let packet = self.packets.add(packet);
        self.forward(ready, from, packet);
    }

    /// Sends a packet on from a node that it leaves at `ready`.
    #[inline]
    pub fn forward(&mut self, ready: Ps, node: NodeId, packet: PacketId) {
        let it = &self.packets[packet];
        let direction = self.router.direction(node, it, &self.links, ready);
        match (self.links).offer(&mut self.packets, [self.now, ready], direction, packet) {
            Offer::Sent(sent) => self.sent(sent),
            Offer::Later(at) => self.queue.push(at, Event::Send { direction, packet }),
        }
    }

    #[inline]
    fn sent(&mut self, sent: Sent) {
        if let Some((at, credit)) = sent.credit {
            self.queue.push(at, Event::Credit(credit));
        }
        let packet = sent.packet;
        match sent.arrival {
            Arrival::Node(at, direction) => {
                self.queue.push(at, Event::Arrive { direction, packet });
            }
            Arrival::Endpoint(at, endpoint) => self.arrive_at_endpoint(at, endpoint, packet),
        }
    }

    fn follow(&mut self, moves: Moves) {
        if let Some(sent) = moves.sent {
            self.sent(sent);
        }
        if let Some((at, direction)) = moves.free {
            self.queue.push(at, Event::Free { direction });
        }
    }

    fn arrive(&mut self, now: Ps, direction: DirectionId, packet: PacketId, done: Done) {
        let node = self.links.arrived(direction);
        let kind = self.router.kind(node);
        if let NodeKind::Switch(_) = kind {
            let ready = self.router.cross(node, &mut self.packets[packet], now);
            return self.forward(ready, node, packet);
        }
        if let Some((at, credit)) = self.links.leave(&mut self.packets[packet], now) {
            self.queue.push(at, Event::Credit(credit));
        }
        match kind {
            NodeKind::Endpoint(endpoint) => match &self.coherence {
                None => self.arrive_at_endpoint(now, endpoint, packet),
                Some(coherence) => {
                    let controller = self.endpoints[endpoint].controller();
                    let at = coherence.arrive(now, &mut self.packets[packet], controller);
                    self.queue.push(at, Event::Agent { packet });
                }
            },
            NodeKind::Requester(requester) if self.coherence.is_some() => {
                self.receive(now, requester, packet, done);
            }
            NodeKind::Requester(requester) => self.complete(now, requester, packet, done),
            NodeKind::Switch(_) => (),
        }
    }

    fn arrive_at_endpoint(&mut self, now: Ps, endpoint: EndpointId, packet: PacketId) {
        let it = &mut self.packets[packet];
        match self.endpoints[endpoint].arrive(now, it) {
            Some(turn) => self.queue.push(turn, Event::Access { packet }),
            None => self.serve(self.packets[packet].ready, packet),
        }
    }

    /// A memory takes a request.
    pub(super) fn serve(&mut self, at: Ps, packet: PacketId) {
        let it = &mut self.packets[packet];
        let endpoint = EndpointId(it.to.node().0 - self.requesters.count());
        if it.is_host
            && let Some((done_at, reply)) = self.endpoints[endpoint].serve_host(at, it)
        {
            self.answers.note(packet, reply);
            return self.queue.push(done_at, Event::Served { packet });
        }
        match self.endpoints[endpoint].serve(at, packet, it) {
            Served::AtOnce(done_at) => return self.respond(done_at, packet),
            Served::At(done_at) => self.queue.push(done_at, Event::Served { packet }),
            Served::Later => (),
        }
        self.wake_memory(at, endpoint);
    }

    /// Sees to it that a memory from outside is advanced when it wants to be.
    #[inline]
    fn wake_memory(&mut self, not_before: Ps, endpoint: EndpointId) {
        if let Some(at) = self.endpoints[endpoint].wake(not_before) {
            self.advances += 1;
            self.queue.push(at, Event::Advance { endpoint });
        }
    }

    fn advance_memory(&mut self, now: Ps, endpoint: EndpointId) {
        self.advances -= 1;
        let queue = &mut self.queue;
        self.endpoints[endpoint].advance(now, &mut |packet| {
            queue.push(now, Event::Served { packet });
        });
        // A model that asks for the same time again would hold up the clock.
        self.wake_memory(now + Ps(1), endpoint);
    }

    /// A memory has done its part: the response goes back.
    #[inline]
    fn respond(&mut self, now: Ps, packet: PacketId) {
        if let Some(coherence) = &mut self.coherence {
            let it = &self.packets[packet];
            if it.is_host {
                let requester = RequesterId(it.from.node().0);
                self.answers.note_line(packet, requester, it.tag as u16);
            }
            coherence.served(&mut self.packets, now, packet);
            return self.act(now);
        }
        let it = &mut self.packets[packet];
        it.answer(now);
        let node = it.from.node();
        self.forward(now, node, packet);
    }

    /// An access to coherent memory is done.
    pub(super) fn finish(
        &mut self,
        now: Ps,
        requester: RequesterId,
        finished: &Finished,
        done: Done,
    ) {
        let completed = Completed {
            tag: finished.tag,
            requester,
            at: now,
            latency: finished.latency,
            is_write: finished.is_write,
        };
        let Finished {
            addr, parts, hops, ..
        } = finished;
        self.stats.complete(&completed, *addr, parts, *hops);
        self.count(&completed, done);
    }

    /// A response has come to its requester.
    fn complete(&mut self, now: Ps, requester: RequesterId, packet: PacketId, done: Done) {
        let id = packet;
        let packet = self.packets.remove(id);
        if packet.is_host {
            self.answers.give(now, requester, id, packet);
        }
        let completed = Completed {
            tag: packet.tag,
            requester,
            at: now,
            latency: Ps(now.0 - packet.issued.0),
            is_write: packet.is_write,
        };
        (self.stats).complete(&completed, packet.addr, &packet.parts, packet.hops);
        self.count(&completed, done);
    }

    /// A request has come back, so that its requester may issue another one.
    fn count(&mut self, completed: &Completed, done: Done) {
        self.completed += 1;
        self.requesters[completed.requester].complete(completed.latency);
        done(*completed);
        self.issue_all(completed.at, completed.requester);
    }

    /// Whether nothing follows any more by itself. A memory from outside that owes no answer may
    /// have itself advanced for ever, as one that refreshes its rows.
    #[inline]
    pub fn is_still(&self) -> bool {
        let left = self.queue.len();
        left == self.advances && (left == 0 || !self.endpoints.values().iter().any(Endpoint::owes))
    }

    /// Requests under way: packets, or accesses whose messages are.
    pub fn under_way(&self) -> u64 {
        match &self.coherence {
            Some(coherence) => coherence.under_way(),
            None => self.packets.live() as u64,
        }
    }
}

fn coherence(config: &FabricConfig) -> Option<Box<Coherence>> {
    let requesters = config.requesters.iter().map(|requester| RequesterSetup {
        depth: if requester.is_host {
            0
        } else {
            requester.depth
        },
        process: requester.process,
        cache_access: requester.cache_access,
        cache: requester.cache,
    });
    let requesters: Vec<RequesterSetup> = requesters.collect();
    let endpoints = config.endpoints.iter();
    let endpoints = endpoints.map(|endpoint| (endpoint.capacity, endpoint.each()));
    Coherence::new(&config.coherence, &requesters, endpoints, config.is_checked)
}

/// Caches and agents, of a fabric that has some.
#[inline]
pub(super) fn coherent(coherence: &mut Option<Box<Coherence>>) -> &mut Coherence {
    coherence.as_mut().expect("a coherent fabric")
}
