//! What hosts are told of their requests and their lines, beside what every requester is.

use super::coherence::{Finished, Told};
use super::ids::{PacketId, RequesterId};
use super::packet::Packet;
use super::parts::Part;
use super::requester::Target;
use sluice_cxl::coherence::State;
use sluice_host::{Ask, Reply};
use sluice_units::Ps;
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
#[derive(Default)]
pub(super) struct Answers {
    /// Those that have come since last asked.
    come: VecDeque<HostEvent>,
    /// By packet: where the time in its device went.
    replies: Vec<Option<Reply>>,
    asked: Vec<Option<Asked>>,
    free_asked: Vec<u32>,
}

impl Answers {
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

    /// A request for coherent memory has come back.
    pub fn give_line(&mut self, at: Ps, requester: RequesterId, finished: &Finished) {
        let mut reply = Reply {
            owned: finished.is_write,
            ..Reply::default()
        };
        reply.parts.dram = finished.parts[Part::Memory];
        self.push(at, requester, HostNews::Answer(finished.tag as u32, reply));
    }

    /// Something has happened to a host's lines.
    pub fn tell(&mut self, at: Ps, requester: RequesterId, told: Told) {
        let what = match told {
            Told::Snoop { addr, keeps } => HostNews::Snoop(addr, keeps),
            Told::Written { tag } => HostNews::Answer(tag, Reply::default()),
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

    /// The next one that has come.
    #[inline]
    pub fn take(&mut self) -> Option<HostEvent> {
        self.come.pop_front()
    }
}
