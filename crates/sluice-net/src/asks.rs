//! Requests of simulated hosts, in the engine.

use super::answers::Asked;
use super::coherence::{Finished, Issue};
use super::engine::{Done, Engine, Event, coherent};
use super::ids::{NodeId, RequesterId};
use super::packet::{Delay, Packet};
use super::requester::Target;
use sluice_cxl::Channel;
use sluice_host::{Ask, AskFor, Host, Peer, Performed};
use sluice_units::Ps;

impl Engine {
    /// A host takes its place at a requester.
    pub fn seat(&mut self, requester: RequesterId, host: &mut Host<'_>) {
        if let Some(coherence) = &self.coherence {
            host.share(coherence.is_checked());
            self.seat_peer(requester, &host.peer());
        }
    }

    /// A host with these caches takes its place at a requester of coherent memory.
    pub fn seat_peer(&mut self, requester: RequesterId, peer: &Peer) {
        let notifies = self.requesters[requester].notifies();
        if let Some(coherence) = &mut self.coherence {
            coherence.seat(requester, peer, notifies);
        }
    }

    /// Issues a host's request, which leaves it at [`Ask::at`].
    #[inline]
    pub fn ask(&mut self, requester: RequesterId, target: Target, base: u64, ask: &Ask) {
        if self.coherence.is_some() {
            if let AskFor::Write | AskFor::Drop = ask.what {
                return self.give_up(requester, target, ask);
            }
            let (ask, addr) = (*ask, base + ask.addr);
            let number = self.answers.keep(Asked { ask, target, addr });
            return self.queue.push(ask.at, Event::Ask { requester, number });
        }
        self.requesters[requester].issue(self.now);
        self.issued += 1;
        let channel = match ask.what {
            AskFor::Write => Channel::RwD,
            AskFor::Line | AskFor::Owned | AskFor::Drop => Channel::Req,
        };
        let from = requester.node();
        let to = NodeId(self.requesters.count() + target.endpoint.0);
        let (from_port, to_port) = (from.port_id(), to.port_id());
        let mut packet = Packet::new(from_port, to_port, channel, target.addr, ask.at);
        packet.tag = ask.tag.into();
        packet.logical = target.logical;
        packet.is_host = true;
        packet.delay = match ask.may_delay {
            true => Delay::May,
            false => Delay::Never,
        };
        let packet = self.packets.add(packet);
        self.answers.begin(packet);
        self.forward(ask.at, from, packet);
    }

    /// A host's request for coherent memory leaves it.
    pub fn ask_coherent(&mut self, now: Ps, requester: RequesterId, number: u32, done: Done) {
        let Asked { ask, target, addr } = self.answers.take_asked(number);
        let coherence = coherent(&mut self.coherence);
        let line = coherence.line(target.endpoint, target.addr);
        self.requesters[requester].issue(now);
        self.issued += 1;
        let issue = Issue {
            requester,
            tag: ask.tag.into(),
            addr,
            line,
            is_write: ask.what == AskFor::Owned,
        };
        let is_done = coherence.issue_host(&mut self.packets, now, &issue);
        self.act(now);
        if let Some(access) = is_done {
            let finished = coherent(&mut self.coherence).finish(now, requester, access, None);
            self.finish(now, requester, &finished, done);
            self.answer_host(now, requester, &finished);
        }
        self.tell_host(now, requester);
    }

    /// A host gives a line of coherent memory up. It is gone at once: what the host asked for
    /// before may come until the message leaves, and brings the line anew.
    fn give_up(&mut self, requester: RequesterId, target: Target, ask: &Ask) {
        let coherence = coherent(&mut self.coherence);
        let line = coherence.line(target.endpoint, target.addr);
        let tag = (ask.what == AskFor::Write).then_some(ask.tag);
        coherence.let_go(&mut self.packets, ask.at, requester, (line, tag));
        self.act(self.now);
        self.tell_host(self.now, requester);
    }

    /// A host has loaded or stored coherent memory, in an event of time `now`.
    pub fn performed(&mut self, requester: RequesterId, base: u64, done: Performed, now: Ps) {
        let target = self.addresses.find(requester, base + done.addr);
        if let (Some(target), Some(coherence)) = (target, &mut self.coherence) {
            let line = coherence.line(target.endpoint, target.addr);
            coherence.performed(requester, line, done, now);
        }
    }

    /// Hosts have done what they could with what has come.
    #[inline]
    pub fn settle(&mut self) {
        if let Some(coherence) = &mut self.coherence {
            coherence.settle(&self.packets);
        }
    }

    /// Answers a request for coherent memory, if a host asked.
    pub fn answer_host(&mut self, now: Ps, requester: RequesterId, finished: &Finished) {
        if self.requesters[requester].is_host() {
            self.answers.give_line(now, requester, finished);
        }
    }

    /// Lets a host know what has happened to its lines, if one is there.
    pub fn tell_host(&mut self, now: Ps, requester: RequesterId) {
        if self.requesters[requester].is_host() {
            let answers = &mut self.answers;
            let told = &mut |told| answers.tell(now, requester, told);
            coherent(&mut self.coherence).tell(requester, told);
        }
    }
}
