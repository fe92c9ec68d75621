//! A host from outside at a requester, such as a simulator of processors: its caches are its own.
//!
//! It asks for lines and gives them up, and learns what has come and what snoops have taken.

use super::answers::HostEvent;
use super::fabric::{Fabric, Refusal};
use super::ids::RequesterId;
use sluice_host::{Ask, AskFor, Peer};

impl Fabric {
    /// Whether no request of a requester's is under way.
    ///
    /// # Panics
    /// If there is no such requester.
    pub fn is_idle(&self, requester: RequesterId) -> bool {
        self.engine().requesters[requester].is_idle()
    }

    /// A host takes its place at a requester, with caches that are empty. From now on the requester
    /// sends what [`Fabric::ask`] is asked for, and nothing else.
    ///
    /// # Panics
    /// If there is no such requester, or it has requests under way.
    pub fn take_host(&mut self, requester: RequesterId, peer: &Peer) {
        let engine = self.engine_mut();
        assert!(engine.requesters[requester].is_idle(), "requests under way");
        engine.requesters[requester].take_host();
        engine.seat_peer(requester, peer);
    }

    /// A host asks for a line now, or gives one up. On memory that is not coherent nothing is sent
    /// for a clean line that goes ([`AskFor::Drop`]): nobody keeps count of it.
    ///
    /// The caller keeps to what [`Peer::misses`] says. Its lines are as many as [`Peer::lines`]
    /// says: of more, those used longest ago go, as by a snoop.
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

    /// The next thing that a host from outside learns, in the order of time.
    pub fn take_event(&mut self) -> Option<HostEvent> {
        self.engine_mut().answers.take()
    }
}
