//! At an endpoint: the agent before the memory.

use super::host::is_request;
use super::{Cargo, Coherence, Journey};
use crate::engine::{Event, Fabric};
use crate::packet::{NONE, Packet};
use crate::parts::{Part, Parts};
use sluice_cxl::Channel;
use sluice_cxl::dcoh::{Deed, S2m, ToDevice, ToHost};
use sluice_units::Ps;

impl Fabric {
    /// A message has come to its endpoint: through the controller if it wants memory, then to the
    /// agent.
    pub(crate) fn serve_coherent(&mut self, now: Ps, number: u32, id: u32) {
        let controller = self.endpoints[number as usize].controller;
        let coherence = self.coherence.as_mut().expect("a coherent fabric");
        let packet = &mut self.packets[id];
        let is_plain = match coherence.cargo[packet.message as usize] {
            Cargo::Up(message) => !matches!(
                message.what,
                ToDevice::Conflict | ToDevice::Response { .. } | ToDevice::CleanEvict
            ),
            _ => unreachable!("endpoints get messages of requesters"),
        };
        packet.parts[Part::Controller] = if is_plain { controller } else { Ps::ZERO };
        let to_agent = now + packet.parts[Part::Controller];
        packet.ready = to_agent;
        self.queue
            .push(to_agent + coherence.lookup, Event::Agent { packet: id });
    }

    /// The agent takes a message.
    pub(crate) fn agent_takes(&mut self, now: Ps, id: u32) {
        let mut coherence = self.coherence.take().expect("a coherent fabric");
        let c = &mut *coherence;
        let packet = self.packets[id];
        self.packets.remove(id);
        let Cargo::Up(message) = c.unload(packet.message) else {
            unreachable!("agents get messages of requesters");
        };
        if is_request(message.what) {
            *c.hosts[message.peer as usize].journey(message.tag) = Journey {
                parts: packet.parts,
                at: packet.ready,
                hops: packet.hops,
                ends_without_data: !matches!(message.what, ToDevice::Read(_)),
            };
        }
        let agent = c.agent_of(u32::from(packet.to) - self.graph.requesters);
        c.agents[agent as usize].receive(message, &mut c.deeds);
        self.act(c, now, agent);
        self.coherence = Some(coherence);
    }

    /// Memory has served what an agent wanted.
    pub(crate) fn served_coherent(&mut self, now: Ps, id: u32) {
        let mut coherence = self.coherence.take().expect("a coherent fabric");
        let c = &mut *coherence;
        let packet = self.packets[id];
        self.packets.remove(id);
        match c.unload(packet.message) {
            Cargo::Read { agent, tracker } => {
                let line = c.line(packet.to - self.graph.requesters as u16, packet.addr);
                let (host, tag) = (u32::from(packet.from), packet.tag as u16);
                let journey = c.hosts[host as usize].journey(tag);
                journey.parts[Part::Memory] = now - packet.ready;
                let data = c.stored(line);
                c.agents[agent as usize].data(tracker, data, &mut c.deeds);
                self.act(c, now, agent);
            }
            Cargo::Write { then: Some(said) } => {
                if c.carries(&said) {
                    let journey = c.hosts[said.peer as usize].journey(said.tag);
                    journey.parts[Part::Memory] = now - packet.ready;
                }
                self.say(c, now, said);
            }
            Cargo::Write { then: None } => (),
            Cargo::Up(_) | Cargo::Down { .. } => unreachable!("memory gets no messages"),
        }
        self.coherence = Some(coherence);
    }

    /// Does what an agent wants.
    fn act(&mut self, c: &mut Coherence, now: Ps, agent: u32) {
        let mut deeds = std::mem::take(&mut c.deeds);
        let mut deeds_left = deeds.drain(..).peekable();
        while let Some(deed) = deeds_left.next() {
            match deed {
                Deed::Send(message) => {
                    if message.what != ToHost::Data && c.carries(&message) {
                        c.delay(now, message.peer, message.tag);
                    }
                    self.say(c, now, message);
                }
                Deed::Read {
                    tracker,
                    host,
                    tag,
                    line,
                } => {
                    c.delay(now, host, tag);
                    let cargo = Cargo::Read { agent, tracker };
                    self.ask_memory(c, now, line, cargo, (host, tag));
                }
                Deed::Write { line, data } => {
                    c.store(line, data);
                    // Completed when memory has it.
                    let then = match deeds_left.next_if(|deed| is_done(deed, line)) {
                        Some(Deed::Send(said)) => Some(said),
                        _ => None,
                    };
                    if let Some(said) = then.filter(|said| c.carries(said)) {
                        c.delay(now, said.peer, said.tag);
                        c.stored_plainly(line, data);
                    }
                    self.ask_memory(c, now, line, Cargo::Write { then }, (0, 0));
                }
            }
        }
        drop(deeds_left);
        c.deeds = deeds;
        c.note_shortage(now, agent as usize);
    }

    fn ask_memory(&mut self, c: &mut Coherence, now: Ps, line: u64, cargo: Cargo, of: (u32, u16)) {
        let (endpoint, addr) = c.place(line);
        let is_write = matches!(cargo, Cargo::Write { .. });
        let node = (self.graph.requesters + endpoint) as u16;
        let logical = (addr / c.logical_bytes[endpoint as usize]) as u8;
        let packet = Packet {
            addr,
            tag: u64::from(of.1),
            issued: now,
            parts: Parts::default(),
            ready: now,
            held: NONE,
            next: NONE,
            from: of.0 as u16,
            to: node,
            channel: if is_write { Channel::RwD } else { Channel::Req },
            held_channel: Channel::Req,
            is_write,
            hops: 0,
            logical,
            message: c.load(cargo),
        };
        let id = self.packets.add(packet);
        match self.endpoints[endpoint as usize].turn(now, logical) {
            None => self.access(now, id),
            Some(turn) => self.queue.push(turn, Event::Access { packet: id }),
        }
    }

    /// Sends what an agent has to say from the endpoint of its line.
    fn say(&mut self, c: &mut Coherence, now: Ps, message: S2m) {
        let (endpoint, addr) = c.place(message.line);
        let agent = c.agent_of(endpoint);
        let carries = c.carries(&message);
        let host = &mut c.hosts[message.peer as usize];
        let (parts, hops) = match carries {
            true => {
                let journey = host.journey(message.tag);
                (journey.parts, journey.hops)
            }
            false => (Parts::default(), 0),
        };
        let channel = message.what.channel();
        let to = message.peer as u16;
        let message = S2m {
            peer: agent,
            ..message
        };
        let from = self.graph.requesters + endpoint;
        let packet = self.packets.add(Packet {
            addr,
            tag: 0,
            issued: now,
            parts,
            ready: now,
            held: NONE,
            next: NONE,
            from: from as u16,
            to,
            channel,
            held_channel: channel,
            is_write: false,
            hops,
            logical: 0,
            message: c.load(Cargo::Down { message, carries }),
        });
        self.forward(now, from, packet);
    }
}

/// Whether it completes a request for the line.
fn is_done(deed: &Deed, line: u64) -> bool {
    let Deed::Send(said) = deed else { return false };
    matches!(said.what, ToHost::Done(_)) && said.line == line
}

impl Coherence {
    /// Whether the request that this answers is done with it, so that it has the request's parts.
    fn carries(&mut self, message: &S2m) -> bool {
        match message.what {
            ToHost::Data => true,
            ToHost::Done(_) => {
                let host = &mut self.hosts[message.peer as usize];
                host.journey(message.tag).ends_without_data
            }
            ToHost::ConflictAck | ToHost::Snoop { .. } => false,
        }
    }

    /// A request goes on that came to the agent some time ago.
    fn delay(&mut self, now: Ps, host: u32, tag: u16) {
        let journey = self.hosts[host as usize].journey(tag);
        let waited = now - journey.at;
        journey.parts[Part::Snoop] = waited;
        self.stats.served += 1;
        self.stats.waited += waited;
        self.stats.delayed += u64::from(waited > self.lookup);
    }

    /// Keeps the time that an agent is short of trackers or entries.
    fn note_shortage(&mut self, now: Ps, agent: usize) {
        let (sum, since) = &mut self.short[agent];
        match (*since, self.agents[agent].is_short()) {
            (None, true) => *since = Some(now),
            (Some(before), false) => {
                *sum += now - before;
                *since = None;
            }
            _ => {}
        }
    }

    /// What memory has, for those who check.
    fn stored(&self, line: u64) -> u64 {
        let checked = self.monitor.as_ref();
        let data = checked.and_then(|checked| checked.memory.get(&line));
        data.copied().unwrap_or(0)
    }

    /// A requester without a cache has stored.
    fn stored_plainly(&mut self, line: u64, data: u64) {
        if let Some(checked) = &mut self.monitor {
            checked.monitor.stored(line, data);
        }
    }

    fn store(&mut self, line: u64, data: u64) {
        if let Some(checked) = &mut self.monitor {
            checked.memory.insert(line, data);
        }
    }
}
