//! The event loop: requests leave requesters, cross links and switches, are served and come back.
//!
//! A hop is one event. What leaves a node after a constant time leaves in the order in which it
//! came, so the wires are reserved as soon as the packet is in the node. Where that does not hold
//! (half-duplex links, memories whose times vary), one more event reserves them at their time.

use super::coherent::Coherence;
use super::config::{FabricConfig, Logical};
use super::endpoint::{Endpoint, ExternalMemory, Memory};
use super::error::{Deadlock, FabricError};
use super::graph::{Graph, NodeKind};
use super::link::Links;
use super::packet::{NONE, Packet, Slab};
use super::parts::{Part, Parts};
use super::pattern::{Access, Source};
use super::requester::{Requester, Turn};
use super::routing::{RoutingInfo, Table};
use super::stats::{FabricStats, HopStats, RequesterStats};
use sluice_cxl::Channel;
use sluice_cxl::HomeAgent;
use sluice_events::Wheel;
use sluice_units::{Ps, Rng};

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A packet has come to the end of a direction.
    Arrive { direction: u32, packet: u32 },
    /// A packet is ready for a direction for which others compete.
    Send { direction: u32, packet: u32 },
    /// It is a request's turn at its memory.
    Access { packet: u32 },
    /// A memory has done its part of a request.
    Served { packet: u32 },
    /// A requester may issue again.
    Issue { requester: u32 },
    /// The wires that a direction shares are free.
    Free { direction: u32 },
    /// A receiver's room for a packet has become known to the sender.
    Credit { direction: u32, channel: Channel },
    /// A memory from outside wants to be advanced.
    Advance { endpoint: u32 },
    /// A coherent message is ready to leave where it comes from.
    Leave { packet: u32 },
    /// A coherent message has been looked up in the filter.
    Agent { packet: u32 },
    /// An access is done that the local cache served.
    Hit { requester: u32, access: u32 },
}

/// A request that has come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// What its sender called it; for a requester's own, how many were issued before it.
    pub tag: u64,
    /// Who issued it.
    pub requester: u32,
    /// When it came back.
    pub at: Ps,
    /// From its issue until then.
    pub latency: Ps,
    /// Whether it was a write.
    pub is_write: bool,
}

/// Why a request from outside was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The requester has as many under way as it can.
    #[error("the requester's queue is full")]
    Full,
    /// No memory has the address.
    #[error("it reaches no memory there")]
    NoMemory,
    /// It is in the past.
    #[error("the time is before that of the last event")]
    Past,
}

/// A node as the loop looks at it.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub kind: NodeKind,
    /// Of a switch, from port to port.
    pub latency: Ps,
    /// Whether it stands for a point of a bus, which is no hop.
    pub is_hub: bool,
}

/// A fabric at work.
pub struct Fabric {
    pub(super) graph: Graph,
    pub(super) nodes: Vec<Node>,
    pub(super) links: Links,
    pub(super) packets: Slab,
    pub(super) queue: Wheel<Event>,
    pub(super) stats: FabricStats,
    pub(super) issued: u64,
    pub(super) completed: u64,
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) requesters: Vec<Requester>,
    /// Caches and agents, where memory is coherent.
    pub(super) coherence: Option<Box<Coherence>>,
    homes: Vec<HomeAgent>,
    /// Which of them each requester has.
    home_of: Vec<u32>,
    logical: Vec<Logical>,
    pub(super) table: Table,
    pub(super) routing: &'static RoutingInfo,
    /// Packets that had a choice of ways.
    pub(super) choices: u64,
    now: Ps,
    is_begun: bool,
}

impl Fabric {
    /// A fabric in which nothing has happened.
    ///
    /// # Errors
    /// [`FabricError::Device`] if the device of an endpoint cannot be made.
    pub fn new(config: &FabricConfig) -> Result<Fabric, FabricError> {
        let requesters = config.requesters.iter().enumerate();
        let requesters = requesters.map(|(index, settings)| {
            let rng = Rng::stream(config.seed, &format!("requester {index}"));
            let pattern = config.pattern(index);
            Requester::new(settings, (pattern.0.make)(&pattern.1, rng))
        });
        let endpoints = config.endpoints.iter().enumerate();
        let endpoints: Result<Vec<Endpoint>, _> = endpoints
            .map(|(index, settings)| Endpoint::new(settings, config.seed ^ index as u64))
            .collect();
        let depth: usize = config.requesters.iter().map(|r| r.depth as usize).sum();
        let mut fabric = Fabric {
            links: Links::new(&config.graph, config.is_bus, &config.sizes),
            nodes: config.nodes(),
            packets: Slab::default(),
            queue: Wheel::with_capacity(depth.min(1 << 16)),
            stats: FabricStats::default(),
            issued: 0,
            completed: 0,
            endpoints: endpoints?,
            requesters: requesters.collect(),
            coherence: Coherence::new(config),
            homes: config.homes.clone(),
            home_of: config.home_of.clone(),
            logical: config.logical.clone(),
            table: config.table.clone(),
            routing: config.routing,
            choices: 0,
            now: Ps::ZERO,
            is_begun: false,
            graph: config.graph.clone(),
        };
        fabric.answer_at_once();
        Ok(fabric)
    }

    /// Spares the events of endpoints that always take the same time.
    fn answer_at_once(&mut self) {
        if self.coherence.is_some() {
            return;
        }
        let leaving = self.graph.leaving();
        for (index, endpoint) in self.endpoints.iter_mut().enumerate() {
            let node = self.graph.requesters as usize + index;
            if let [back] = leaving[node][..]
                && endpoint.takes_the_same_time()
                && self.links.answer_at_once(back ^ 1, index as u32)
            {
                endpoint.is_constant = true;
            }
        }
    }

    /// Puts a memory from outside behind an endpoint of type `external`.
    ///
    /// # Panics
    /// If there is no such endpoint.
    pub fn attach(&mut self, endpoint: u32, memory: Box<dyn ExternalMemory>) {
        let endpoint = &mut self.endpoints[endpoint as usize];
        endpoint.memory = Memory::External(Some(memory));
        endpoint.is_constant = false;
    }

    /// Answers of memories from outside that could not be, such as a request that is done before
    /// it came: the nearest that can be was taken.
    pub fn refused(&self) -> u64 {
        self.endpoints.iter().map(Endpoint::refused).sum()
    }

    /// Gives a requester a source of its own, such as a trace.
    ///
    /// # Panics
    /// If there is no such requester.
    pub fn replay(&mut self, requester: u32, source: Box<dyn Source>) {
        self.requesters[requester as usize].replace(source);
    }

    /// Nodes and links.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The links' counters.
    pub fn links(&self) -> &Links {
        &self.links
    }

    /// What was counted.
    pub fn stats(&self) -> &FabricStats {
        &self.stats
    }

    /// Counters of each requester.
    pub fn requester_stats(&self) -> impl Iterator<Item = &RequesterStats> {
        self.requesters.iter().map(|requester| &requester.stats)
    }

    /// Accesses that a logical device served since the counting began.
    ///
    /// # Panics
    /// If there is no such endpoint or logical device.
    pub fn served(&self, endpoint: u32, logical: u8) -> u64 {
        self.endpoints[endpoint as usize].accesses[usize::from(logical)]
    }

    /// Requests that were issued and have not come back.
    pub fn in_flight(&self) -> u64 {
        self.issued - self.completed
    }

    /// The time of the last event.
    pub fn now(&self) -> Ps {
        self.now
    }

    /// When the next event is due.
    pub fn next_at(&self) -> Option<Ps> {
        self.queue.next_at()
    }

    /// Whether a requester has fewer requests under way than it can.
    ///
    /// # Panics
    /// If there is no such requester.
    pub fn has_room(&self, requester: u32) -> bool {
        !matches!(
            self.requesters[requester as usize].turn(self.now),
            Turn::Full
        )
    }

    /// Issues a request from outside at `at`.
    ///
    /// # Errors
    /// [`Refusal`]; nothing has changed then.
    pub fn send(
        &mut self,
        at: Ps,
        requester: u32,
        access: Access,
        tag: u64,
    ) -> Result<(), Refusal> {
        if at < self.now {
            return Err(Refusal::Past);
        }
        if matches!(self.requesters[requester as usize].turn(at), Turn::Full) {
            return Err(Refusal::Full);
        }
        if self.home(requester, access.addr).is_none() {
            return Err(Refusal::NoMemory);
        }
        self.now = at;
        self.issue(at, requester, access, Some(tag));
        Ok(())
    }

    /// Handles all events up to and including `until`, and tells of each request that came back.
    ///
    /// # Errors
    /// [`Deadlock`].
    pub fn advance(&mut self, until: Ps, done: &mut dyn FnMut(Completed)) -> Result<(), Deadlock> {
        self.begin_issuing();
        while self.queue.next_at().is_some_and(|next| next <= until) {
            self.step(done);
        }
        if self.queue.is_empty() && self.under_way() > 0 {
            return Err(self.deadlock());
        }
        self.now = self.now.max(until);
        Ok(())
    }

    /// Handles one event; false if there is none.
    #[inline]
    pub(super) fn step(&mut self, done: &mut dyn FnMut(Completed)) -> bool {
        let Some((now, event)) = self.queue.pop() else {
            return false;
        };
        assert!(now >= self.now, "an event in the past");
        self.now = now;
        self.stats.events += 1;
        match event {
            Event::Arrive { direction, packet } => self.arrive(now, direction, packet, done),
            Event::Send { direction, packet } => self.enqueue(now, direction, packet),
            Event::Access { packet } => self.access(now, packet),
            Event::Served { packet } => self.respond(now, packet),
            Event::Issue { requester } => {
                self.requesters[requester as usize].is_woken = false;
                self.issue_all(now, requester);
            }
            Event::Free { direction } => self.free(now, direction),
            Event::Credit { direction, channel } => self.credit(now, direction, channel),
            Event::Advance { endpoint } => self.advance_memory(now, endpoint),
            Event::Leave { packet } => self.leave(now, packet),
            Event::Agent { packet } => self.agent_takes(now, packet),
            Event::Hit { requester, access } => self.finish(now, requester, access, None, done),
        }
        true
    }

    /// Lets every requester issue for the first time, if it has not yet.
    pub fn begin_issuing(&mut self) {
        if std::mem::replace(&mut self.is_begun, true) {
            return;
        }
        for requester in 0..self.requesters.len() as u32 {
            if !self.requesters[requester as usize].is_dry() {
                self.wake(self.now, requester);
            }
        }
    }

    fn wake(&mut self, at: Ps, requester: u32) {
        let is_woken = &mut self.requesters[requester as usize].is_woken;
        if !std::mem::replace(is_woken, true) {
            self.queue.push(at, Event::Issue { requester });
        }
    }

    /// Issues what a requester can issue now.
    pub(super) fn issue_all(&mut self, now: Ps, requester: u32) {
        loop {
            let state = &mut self.requesters[requester as usize];
            match state.turn(now) {
                Turn::Full => return,
                Turn::At(at) => {
                    if !state.is_dry() {
                        self.wake(at, requester);
                    }
                    return;
                }
                Turn::Now => match state.take() {
                    Some(access) => self.issue(now, requester, access, None),
                    None => return,
                },
            }
        }
    }

    #[inline]
    fn home(&self, requester: u32, addr: u64) -> Option<sluice_cxl::Home> {
        self.homes[self.home_of[requester as usize] as usize].home(addr)
    }

    #[inline]
    fn issue(&mut self, now: Ps, requester: u32, access: Access, tag: Option<u64>) {
        let home = self.home(requester, access.addr);
        let home = home.expect("a source asks for addresses of the footprint");
        let device = self.logical[usize::from(home.device)];
        let state = &mut self.requesters[requester as usize];
        let tag = tag.unwrap_or(state.stats.issued);
        state.issued(now);
        self.issued += 1;
        if let Some(coherence) = &self.coherence {
            let line = coherence.line(device.endpoint, device.base + home.dpa);
            return self.issue_coherent(now, requester, access, tag, line);
        }
        let mut parts = Parts::default();
        parts[Part::Requester] = state.process;
        parts[Part::Cache] = state.cache_access;
        let ready = Ps(now.0 + state.process.0 + state.cache_access.0);
        let packet = self.packets.add(Packet {
            addr: device.base + home.dpa,
            tag,
            issued: now,
            parts,
            ready,
            held: NONE,
            next: NONE,
            from: requester as u16,
            to: self.graph.requesters as u16 + device.endpoint,
            channel: if access.is_write {
                Channel::RwD
            } else {
                Channel::Req
            },
            held_channel: Channel::Req,
            is_write: access.is_write,
            hops: 0,
            logical: device.id,
            message: NONE,
        });
        self.forward(ready, requester, packet);
    }

    /// A response has come to its requester.
    pub(super) fn complete(
        &mut self,
        now: Ps,
        requester: u32,
        number: u32,
        done: &mut dyn FnMut(Completed),
    ) {
        let packet = self.packets[number];
        self.packets.remove(number);
        self.completed += 1;
        let completed = Completed {
            tag: packet.tag,
            requester,
            at: now,
            latency: Ps(now.0 - packet.issued.0),
            is_write: packet.is_write,
        };
        debug_assert_eq!(packet.parts.total(), completed.latency);
        self.count(&packet.parts, packet.hops, packet.addr, &completed);
        self.requesters[requester as usize].completed();
        done(completed);
        self.issue_all(now, requester);
    }

    pub(super) fn count(&mut self, parts: &Parts, hops: u8, addr: u64, completed: &Completed) {
        let stats = &mut self.stats;
        stats.reads += u64::from(!completed.is_write);
        stats.writes += u64::from(completed.is_write);
        stats.latency.record(completed.latency);
        let hops = usize::from(hops);
        if stats.hops.len() <= hops {
            stats.hops.resize(hops + 1, HopStats::default());
        }
        stats.hops[hops].count += 1;
        stats.hops[hops].parts += *parts;
        let word = completed.at.0 ^ (u64::from(completed.requester) << 48) ^ addr;
        stats.hash = (stats.hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        let requester = &mut self.requesters[completed.requester as usize].stats;
        requester.completed += 1;
        requester.latency += u128::from(completed.latency.0);
    }

    /// Begins to count anew; requests under way go on.
    pub fn begin(&mut self) {
        self.links.begin(self.now);
        self.stats = FabricStats {
            from: self.now,
            until: self.now,
            ..FabricStats::default()
        };
        for requester in &mut self.requesters {
            requester.stats.completed = 0;
            requester.stats.latency = 0;
        }
        for endpoint in &mut self.endpoints {
            endpoint.begin();
        }
        if let Some(coherence) = &mut self.coherence {
            coherence.begin(self.now);
        }
    }

    /// Ends the counting now; it goes on if the fabric does.
    pub fn end(&mut self) {
        self.stats.until = self.now;
    }
}
