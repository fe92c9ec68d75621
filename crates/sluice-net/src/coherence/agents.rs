//! Beside the endpoints: the coherency agents (DCOH), and what they make of time.

use super::traffic::{Action, AgentId, Cargo, Journey, Traffic, is_request};
use super::{CoherenceSettings, CoherenceStats};
use crate::ids::{EndpointId, PacketId, RequesterId};
use crate::packet::{Packet, Slab};
use crate::parts::Part;
use sluice_cxl::Channel;
use sluice_cxl::coherence::{Dcoh, DcohAction, DcohSetup, Message, S2m, ToDevice, ToHost};
use sluice_units::{Ps, Table};

/// The agents, one for each endpoint or one for all.
pub(super) struct Agents {
    agents: Table<AgentId, Dcoh>,
    /// How long each has been short of trackers or entries, and since when it is.
    short: Table<AgentId, (Ps, Option<Ps>)>,
    /// Looking into the filter.
    lookup: Ps,
    /// What an agent wants; empty between two messages.
    wanted: Vec<DcohAction>,
    stats: CoherenceStats,
}

impl Agents {
    /// For requesters with `depth` requests in all.
    pub fn new(settings: &CoherenceSettings, depth: usize, traffic: &Traffic) -> Agents {
        let count = (settings.filter.agents)(traffic.lines.endpoints());
        let setup = DcohSetup {
            hosts: traffic.requesters(),
            entries: settings.entries,
            ways: settings.ways,
            trackers: settings.trackers,
            requests_max: 2 * depth,
            victim: settings.victim,
            blocks: settings.blocks,
        };
        Agents {
            agents: Table::from_fn(count, |_| Dcoh::new(&setup)),
            short: Table::filled(count, (Ps::ZERO, None)),
            lookup: settings.lookup,
            wanted: Vec::new(),
            stats: CoherenceStats::default(),
        }
    }

    fn agent_of(&self, endpoint: EndpointId) -> AgentId {
        AgentId(endpoint.0 % self.agents.count())
    }

    /// A message has come to its endpoint: through the controller if it wants memory, then to the
    /// agent, which takes it at the returned time.
    pub fn arrive(&self, traffic: &Traffic, now: Ps, packet: &mut Packet, controller: Ps) -> Ps {
        let Cargo::Up { message, .. } = traffic.cargo(packet) else {
            unreachable!("endpoints get messages of requesters");
        };
        let wants_memory = !matches!(
            message.what,
            ToDevice::Conflict | ToDevice::Response { .. } | ToDevice::CleanEvict
        );
        packet.parts[Part::Controller] = if wants_memory { controller } else { Ps::ZERO };
        packet.ready = now + packet.parts[Part::Controller];
        packet.ready + self.lookup
    }

    /// The agent of an endpoint takes a message.
    pub fn take(&mut self, traffic: &mut Traffic, packets: &mut Slab, now: Ps, id: PacketId) {
        let (packet, Cargo::Up { message, host_line }) = traffic.unload(packets, id) else {
            unreachable!("agents get messages of requesters");
        };
        if is_request(message.what) {
            *traffic.journey(RequesterId(message.peer), message.tag) = Journey {
                parts: packet.parts,
                at: packet.ready,
                hops: packet.hops,
                ends_without_data: !matches!(message.what, ToDevice::Read(_)),
                ..Journey::default()
            };
        } else if matches!(message.what, ToDevice::WriteBack(_)) {
            *traffic.journey(RequesterId(message.peer), message.tag) = Journey {
                gives_up: true,
                ..Journey::default()
            };
        }
        let agent = self.agent_of(traffic.endpoint(packet.to));
        // A filter of several devices has no other order of their lines than the hosts'.
        let is_shared = self.agents.count() < traffic.lines.endpoints();
        let index = if is_shared { host_line } else { message.line };
        self.agents[agent].receive(message, index, &mut self.wanted);
        self.act(traffic, packets, now, agent);
    }

    /// Memory has served what an agent wanted.
    pub fn served(&mut self, traffic: &mut Traffic, packets: &mut Slab, now: Ps, id: PacketId) {
        let (packet, cargo) = traffic.unload(packets, id);
        let memory = now - packet.ready;
        match cargo {
            Cargo::Read { agent, tracker } => {
                let requester = RequesterId(u32::from(packet.from.0));
                let endpoint = traffic.endpoint(packet.to);
                let line = traffic.lines.line(endpoint, packet.addr);
                let journey = traffic.journey(requester, packet.tag as u16);
                (journey.parts[Part::Memory], journey.from_memory) = (memory, true);
                let checked = traffic.checked.as_ref();
                let data = checked.map_or(0, |checked| checked.memory(line));
                self.agents[agent].data(tracker, data, &mut self.wanted);
                self.act(traffic, packets, now, agent);
            }
            Cargo::Write {
                then: Some(message),
            } => {
                let carries = carries(traffic, &message);
                let journey = traffic.journey(RequesterId(message.peer), message.tag);
                if carries {
                    journey.parts[Part::Memory] = memory;
                } else if journey.gives_up {
                    journey.written_in = memory;
                }
                self.send(traffic, packets, now, message);
            }
            Cargo::Write { then: None } => (),
            Cargo::Up { .. } | Cargo::Down { .. } => unreachable!("memory gets no messages"),
        }
    }

    /// Does what an agent wants.
    fn act(&mut self, traffic: &mut Traffic, packets: &mut Slab, now: Ps, agent: AgentId) {
        let mut wanted = std::mem::take(&mut self.wanted);
        let mut left = wanted.drain(..).peekable();
        while let Some(action) = left.next() {
            match action {
                DcohAction::Send(message) => {
                    if message.what != ToHost::Data && carries(traffic, &message) {
                        self.delay(traffic, now, RequesterId(message.peer), message.tag);
                    }
                    self.send(traffic, packets, now, message);
                }
                DcohAction::Read {
                    tracker,
                    host,
                    tag,
                    line,
                } => {
                    let requester = RequesterId(host);
                    self.delay(traffic, now, requester, tag);
                    let cargo = Cargo::Read { agent, tracker };
                    ask_memory(traffic, packets, now, line, cargo, Some((requester, tag)));
                }
                DcohAction::Write { line, data } => {
                    if let Some(checked) = &mut traffic.checked {
                        checked.write_memory(line, data);
                    }
                    // Completed when memory has it.
                    let then = match left.next_if(|action| completes(action, line)) {
                        Some(DcohAction::Send(message)) => Some(message),
                        _ => None,
                    };
                    self.write(traffic, packets, now, line, data, then);
                }
            }
        }
        drop(left);
        self.wanted = wanted;
        self.note_shortage(now, agent);
    }

    fn write(
        &mut self,
        traffic: &mut Traffic,
        packets: &mut Slab,
        now: Ps,
        line: u64,
        data: u64,
        then: Option<S2m>,
    ) {
        if let Some(message) = then.filter(|message| carries(traffic, message)) {
            self.delay(traffic, now, RequesterId(message.peer), message.tag);
            // A requester without a cache has stored.
            if let Some(checked) = &mut traffic.checked {
                checked.stored(line, data);
            }
        }
        let by = then.map(|message| (RequesterId(message.peer), message.tag));
        let by = by.filter(|(requester, tag)| traffic.journey(*requester, *tag).gives_up);
        ask_memory(traffic, packets, now, line, Cargo::Write { then }, by);
    }

    /// Sends an agent's message from the endpoint of its line.
    fn send(&mut self, traffic: &mut Traffic, packets: &mut Slab, now: Ps, message: S2m) {
        let (endpoint, addr) = traffic.lines.find(message.line);
        let requester = RequesterId(message.peer);
        let carries = carries(traffic, &message);
        let from = traffic.port_id(endpoint);
        let to = requester.node().port_id();
        let mut packet = Packet::new(from, to, message.what.channel(), addr, now);
        if carries {
            let journey = traffic.journey(requester, message.tag);
            (packet.parts, packet.hops) = (journey.parts, journey.hops);
        }
        let message = Message {
            peer: self.agent_of(endpoint).0,
            ..message
        };
        let packet = traffic.load(packets, packet, Cargo::Down { message, carries });
        traffic.actions.push(Action::Send { packet });
    }

    /// A request goes on that came to the agent some time ago.
    fn delay(&mut self, traffic: &mut Traffic, now: Ps, requester: RequesterId, tag: u16) {
        let journey = traffic.journey(requester, tag);
        let waited = now - journey.at;
        journey.parts[Part::Snoop] = waited;
        self.stats.served += 1;
        self.stats.waited += waited;
        self.stats.delayed += u64::from(waited > self.lookup);
    }

    /// Keeps the time that an agent is short of trackers or entries.
    fn note_shortage(&mut self, now: Ps, agent: AgentId) {
        let (sum, since) = &mut self.short[agent];
        match (*since, self.agents[agent].is_short()) {
            (None, true) => *since = Some(now),
            (Some(before), false) => {
                *sum += now - before;
                *since = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }

    /// How long each agent was short of trackers or entries since the counting began.
    pub fn shortages(&self, until: Ps) -> impl Iterator<Item = Ps> {
        let short = self.short.values().iter();
        short.map(move |(sum, since)| *sum + since.map_or(Ps::ZERO, |since| until - since))
    }

    /// Begins to count.
    pub fn begin(&mut self, now: Ps) {
        for (sum, since) in self.short.values_mut() {
            *sum = Ps::ZERO;
            *since = since.map(|_| now);
        }
        self.stats = CoherenceStats::default();
        let agents = self.agents.values_mut().iter_mut();
        agents.for_each(Dcoh::reset_count);
    }

    /// What was counted here.
    pub fn stats(&self) -> CoherenceStats {
        let mut stats = self.stats;
        for agent in self.agents.values() {
            stats.agents += *agent.count();
        }
        stats
    }
}

/// An agent's access to a line in memory, which goes over no link. `request`: the requester that
/// asked for it, and its tag.
fn ask_memory(
    traffic: &mut Traffic,
    packets: &mut Slab,
    now: Ps,
    line: u64,
    cargo: Cargo,
    by: Option<(RequesterId, u16)>,
) {
    let (endpoint, addr) = traffic.lines.find(line);
    let channel = match cargo {
        Cargo::Write { .. } => Channel::RwD,
        Cargo::Read { .. } | Cargo::Up { .. } | Cargo::Down { .. } => Channel::Req,
    };
    let (requester, tag) = by.unwrap_or((RequesterId(0), 0));
    let from = requester.node().port_id();
    let mut packet = Packet::new(from, traffic.port_id(endpoint), channel, addr, now);
    packet.tag = u64::from(tag);
    // A host hears where the time went.
    packet.is_host = by.is_some();
    packet.logical = traffic.lines.logical(endpoint, addr);
    let packet = traffic.load(packets, packet, cargo);
    traffic.actions.push(Action::Serve { endpoint, packet });
}

/// Whether it completes a request for the line.
fn completes(action: &DcohAction, line: u64) -> bool {
    match action {
        DcohAction::Send(message) => {
            matches!(message.what, ToHost::Done(_)) && message.line == line
        }
        DcohAction::Read { .. } | DcohAction::Write { .. } => false,
    }
}

/// Whether the request that this answers is done with it, so that it has the request's parts.
fn carries(traffic: &mut Traffic, message: &S2m) -> bool {
    match message.what {
        ToHost::Data => true,
        ToHost::Done(_) => {
            let requester = RequesterId(message.peer);
            traffic.journey(requester, message.tag).ends_without_data
        }
        ToHost::ConflictAck | ToHost::Snoop { .. } => false,
    }
}
