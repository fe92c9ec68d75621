//! What hosts are told of their requests, beside what every requester is.

use super::ids::{PacketId, RequesterId};
use super::packet::Packet;
use super::parts::Part;
use sluice_host::Reply;
use sluice_units::Ps;

/// A host's request that has come back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub at: Ps,
    pub requester: RequesterId,
    /// What the host calls it.
    pub tag: u32,
    pub reply: Reply,
}

/// Answers to hosts.
#[derive(Default)]
pub(super) struct Answers {
    /// Those that have come since last asked.
    come: Vec<Answer>,
    /// By packet: where the time in its device went.
    replies: Vec<Option<Reply>>,
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
        self.come.push(Answer {
            at,
            requester,
            tag: packet.tag as u32,
            reply,
        });
    }

    /// The next one that has come.
    #[inline]
    pub fn take(&mut self) -> Option<Answer> {
        // One event brings one answer at most.
        self.come.pop()
    }
}
