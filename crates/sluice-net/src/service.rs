//! At an endpoint: the controller, the memory, the response.

use super::endpoint::{Answer, Memory, MemoryRequest};
use super::engine::{Event, Fabric};
use super::parts::Part;
use sluice_cxl::Channel;
use sluice_units::Ps;

impl Fabric {
    /// A request has come to its endpoint.
    pub(super) fn serve(&mut self, now: Ps, number: u32, id: u32) {
        let endpoint = &mut self.endpoints[number as usize];
        let packet = &mut self.packets[id];
        let at = Ps(now.0 + endpoint.controller.0);
        packet.parts[Part::Controller] = endpoint.controller;
        packet.ready = at;
        // Arrivals come in order, so the memory sees them in order without an event of their own,
        // unless the logical devices' shares let them pass each other. A memory that is advanced
        // in between must not see time go back.
        match endpoint.turn(at, packet.logical) {
            None if endpoint.is_advanced() => self.queue.push(at, Event::Access { packet: id }),
            None => self.access(at, id),
            Some(turn) => self.queue.push(turn, Event::Access { packet: id }),
        }
    }

    /// A memory takes a request.
    pub(super) fn access(&mut self, at: Ps, id: u32) {
        let packet = &self.packets[id];
        let number = u32::from(packet.to) - self.graph.requesters;
        let request = MemoryRequest {
            id,
            addr: packet.addr,
            is_write: packet.is_write,
        };
        let logical = packet.logical;
        match self.endpoints[number as usize].access(at, request, logical) {
            Answer::At(done_at) if self.endpoints[number as usize].is_constant => {
                return self.respond(done_at, id);
            }
            Answer::At(done_at) => self.queue.push(done_at, Event::Served { packet: id }),
            Answer::Later => (),
        }
        self.wake_memory(at, number);
    }

    /// Sees to it that a memory from outside is advanced when it wants to be.
    #[inline]
    fn wake_memory(&mut self, not_before: Ps, number: u32) {
        let endpoint = &mut self.endpoints[number as usize];
        let Some(next) = endpoint.next_at() else {
            return;
        };
        let next = next.max(not_before);
        if next < endpoint.woken_at {
            endpoint.woken_at = next;
            self.queue.push(next, Event::Advance { endpoint: number });
        }
    }

    pub(super) fn advance_memory(&mut self, now: Ps, number: u32) {
        let endpoint = &mut self.endpoints[number as usize];
        let Memory::External(Some(memory)) = &mut endpoint.memory else {
            return;
        };
        let queue = &mut self.queue;
        memory.advance(now, &mut |packet| queue.push(now, Event::Served { packet }));
        if endpoint.woken_at <= now {
            endpoint.woken_at = Ps::MAX;
        }
        // A model that asks for the same time again would hold up the clock.
        self.wake_memory(now + Ps(1), number);
    }

    /// The memory has done its part: the response goes back.
    #[inline]
    pub(super) fn respond(&mut self, now: Ps, number: u32) {
        if self.coherence.is_some() {
            return self.served_coherent(now, number);
        }
        let packet = &mut self.packets[number];
        packet.parts[Part::Memory] = Ps(now.0 - packet.ready.0);
        let node = packet.to;
        (packet.from, packet.to) = (packet.to, packet.from);
        packet.channel = if packet.is_write {
            Channel::Ndr
        } else {
            Channel::Drs
        };
        self.forward(now, u32::from(node), number);
    }
}
