//! A host from outside at a requester, such as a simulator of processors: its caches are its own.
//!
//! It asks for lines and gives them up, and learns what has come and what snoops have taken.

use super::answers::HostEvent;
use super::fabric::{Fabric, Refusal};
use super::ids::RequesterId;
use sluice_host::{Ask, AskFor, Peer};

impl Fabric {
    /// Whether a requester has sent anything since the start.
    ///
    /// # Panics
    /// If there is no such requester.
    pub fn has_sent(&self, requester: RequesterId) -> bool {
        self.engine().requesters[requester].stats().issued > 0
    }

    /// Requests of a requester's that are under way.
    ///
    /// # Panics
    /// If there is no such requester.
    pub fn outstanding(&self, requester: RequesterId) -> u64 {
        self.engine().requesters[requester].outstanding()
    }

    /// A host takes its place at a requester, with caches that are empty. From now on the requester
    /// sends what [`Fabric::ask`] is asked for, and nothing else.
    ///
    /// # Panics
    /// If there is no such requester, or it has sent requests: its cache may have their lines.
    pub fn take_host(&mut self, requester: RequesterId, peer: &Peer) {
        assert!(!self.has_sent(requester), "a requester that has sent");
        let engine = self.engine_mut();
        engine.requesters[requester].take_host();
        engine.seat_peer(requester, peer);
    }

    /// A host asks for a line now, or gives one up. On memory that is not coherent nothing is sent
    /// for a clean line that goes ([`AskFor::Drop`]): nobody keeps count of it.
    ///
    /// The caller keeps to what [`Peer::misses`] says. Its lines, those on their way among them,
    /// are as many as [`Peer::lines`] and [`Peer::misses`] together: of more, those used longest
    /// ago go, as by a snoop.
    ///
    /// # Errors
    /// [`Refusal::NoMemory`]; [`Refusal::Past`] if [`Ask::at`] is not now.
    ///
    /// # Panics
    /// If no host is at the requester.
    pub fn ask(&mut self, requester: RequesterId, ask: &Ask) -> Result<(), Refusal> {
        let engine = self.engine_mut();
        assert!(engine.requesters[requester].is_host(), "no host is there");
        if ask.at != engine.now {
            return Err(Refusal::Past);
        }
        let target = engine.addresses.find(requester, ask.addr);
        let target = target.ok_or(Refusal::NoMemory)?;
        if engine.coherence.is_some() || ask.what != AskFor::Drop {
            engine.ask(requester, target, 0, ask);
        }
        Ok(())
    }

    /// Whether a host from outside has something to learn now.
    pub fn has_news(&self) -> bool {
        self.engine().answers.has_come()
    }

    /// The next thing that a host from outside learns, in the order of time.
    pub fn take_event(&mut self) -> Option<HostEvent> {
        let engine = self.engine_mut();
        let event = engine.answers.take();
        if event.is_none() {
            engine.settle();
        }
        event
    }
}
