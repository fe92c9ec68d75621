//! What hosts learn of their requests and their lines, beside what every requester does.

use super::coherence::{Finished, Told, WrittenBy};
use super::ids::{PacketId, RequesterId};
use super::packet::Packet;
use super::parts::Part;
use super::requester::Target;
use sluice_cxl::coherence::State;
use sluice_host::{Ask, Reply};
use sluice_model::Parts;
use sluice_units::{Ps, Table};
use std::collections::VecDeque;

/// Something that a host learns.
#[derive(Clone, Copy, Debug)]
pub struct HostEvent {
    /// When.
    pub at: Ps,
    /// The requester that the host is at.
    pub requester: RequesterId,
    /// What has happened.
    pub what: HostNews,
}

/// What has happened to a host's requests and lines.
#[derive(Clone, Copy, Debug)]
pub enum HostNews {
    /// A request of its, by what it calls it, has come back.
    Answer(u32, Reply),
    /// A snoop has left it so much of a line, by the requester's address.
    Snoop(u64, State),
}

/// A request of a host for coherent memory, whose time has not come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub ask: Ask,
    pub target: Target,
    /// By the requester's addresses.
    pub addr: u64,
}

/// Answers to hosts.
pub(super) struct Answers {
    /// Events that have come since the host last asked.
    come: VecDeque<HostEvent>,
    /// By packet: where the time in its device went.
    replies: Vec<Option<Reply>>,
    /// By requester and tag of its request for coherent memory: what its device said.
    of_lines: Table<RequesterId, Vec<Option<Reply>>>,
    asked: Vec<Option<Asked>>,
    free_asked: Vec<u32>,
}

impl Answers {
    /// No request of so many requesters.
    pub fn new(requesters: u32) -> Answers {
        Answers {
            come: VecDeque::new(),
            replies: Vec::new(),
            of_lines: Table::filled(requesters, Vec::new()),
            asked: Vec::new(),
            free_asked: Vec::new(),
        }
    }

    /// A host's request sets out.
    pub fn begin(&mut self, packet: PacketId) {
        if self.replies.len() <= packet.index() {
            self.replies.resize(packet.index() + 1, None);
        }
        self.replies[packet.index()] = None;
    }

    /// A device has served it.
    pub fn note(&mut self, packet: PacketId, reply: Reply) {
        self.replies[packet.index()] = Some(reply);
    }

    /// Memory has served what a host's request for a line needed of it.
    pub fn note_line(&mut self, packet: PacketId, requester: RequesterId, tag: u16) {
        let replies = &mut self.of_lines[requester];
        if replies.len() <= usize::from(tag) {
            replies.resize(usize::from(tag) + 1, None);
        }
        replies[usize::from(tag)] = self.replies[packet.index()];
    }

    /// It has come back. What a memory that is no device took is its DRAM's time.
    pub fn give(&mut self, at: Ps, requester: RequesterId, id: PacketId, packet: &Packet) {
        let reply = self.replies[id.index()].unwrap_or_else(|| {
            let mut reply = Reply::default();
            reply.parts.dram = packet.parts[Part::Memory];
            reply
        });
        self.push(at, requester, HostNews::Answer(packet.tag as u32, reply));
    }

    fn push(&mut self, at: Ps, requester: RequesterId, what: HostNews) {
        self.come.push_back(HostEvent {
            at,
            requester,
            what,
        });
    }

    /// A request for coherent memory has come back. What a device did before it was asked for is
    /// not of its time.
    pub fn give_line(&mut self, at: Ps, requester: RequesterId, finished: &Finished) {
        let replies = &self.of_lines[requester];
        let read_by = finished.read_by.map(usize::from);
        let noted = read_by.and_then(|tag| *replies.get(tag)?);
        let mut reply = noted.unwrap_or_else(|| {
            let mut reply = Reply::default();
            reply.parts.dram = finished.parts[Part::Memory];
            reply
        });
        if reply.parts.total() > finished.latency {
            reply.parts = Parts::default();
        }
        reply.served_by = reply.served_by.filter(|_| finished.read_by.is_some());
        reply.owned = finished.is_write;
        self.push(at, requester, HostNews::Answer(finished.tag as u32, reply));
    }

    /// Something has happened to a host's lines.
    pub fn tell(&mut self, at: Ps, requester: RequesterId, told: Told) {
        let what = match told {
            Told::Snoop { addr, keeps } => HostNews::Snoop(addr, keeps),
            Told::Written { tag, by } => {
                let replies = &self.of_lines[requester];
                let of = |by: &WrittenBy| *replies.get(usize::from(by.tag))?;
                let mut reply = Reply::default();
                match (by.as_ref().and_then(of), by) {
                    (Some(noted), _) => reply.parts = noted.parts,
                    (None, Some(by)) => reply.parts.dram = by.memory,
                    (None, None) => {}
                }
                // It was looked for nowhere.
                reply.served_by = None;
                HostNews::Answer(tag, reply)
            }
        };
        self.push(at, requester, what);
    }

    /// Keeps a request until its time has come.
    pub fn keep(&mut self, asked: Asked) -> u32 {
        let number = self.free_asked.pop().unwrap_or_else(|| {
            self.asked.push(None);
            self.asked.len() as u32 - 1
        });
        self.asked[number as usize] = Some(asked);
        number
    }

    /// Its time has come.
    pub fn take_asked(&mut self, number: u32) -> Asked {
        self.free_asked.push(number);
        self.asked[number as usize].take().expect("it was kept")
    }

    /// Whether one has come.
    pub fn has_come(&self) -> bool {
        !self.come.is_empty()
    }

    /// The next one that has come.
    #[inline]
    pub fn take(&mut self) -> Option<HostEvent> {
        self.come.pop_front()
    }
}
