//! From node to node: routing, credits, wires.

use super::engine::{Completed, Event, Fabric};
use super::graph::NodeKind;
use super::packet::NONE;
use super::parts::Part;
use super::routing::{Flow, Load};
use sluice_cxl::Channel;
use sluice_units::Ps;

impl Fabric {
    /// Sends a packet on from a node that it leaves at `ready`.
    #[inline]
    pub(super) fn forward(&mut self, ready: Ps, node: u32, packet: u32) {
        let (from, to) = (self.packets[packet].from, self.packets[packet].to);
        let direction = match self.table.ways(node, to) {
            [only] => *only,
            [] => unreachable!("every requester reaches every endpoint"),
            // Coherence rests on the order of completions between two ends.
            ways if self.packets[packet].is_ordered() => ways[usize::from(from) % ways.len()],
            ways => {
                let flow = Flow {
                    from,
                    to,
                    sequence: self.choices,
                };
                self.choices += 1;
                let load = Load {
                    links: &self.links,
                    now: ready,
                };
                (self.routing.choose)(ways, flow, load)
            }
        };
        let port = self.links.directions[direction as usize].port;
        self.packets[packet].parts[Part::Port].0 += port.0;
        let ready = Ps(ready.0 + port.0);
        if self.links.is_contended(direction) {
            self.queue.push(ready, Event::Send { direction, packet });
        } else {
            self.enqueue(ready, direction, packet);
        }
    }

    /// Reserves the wires, once there is a credit.
    #[inline]
    pub(super) fn enqueue(&mut self, ready: Ps, direction: u32, packet: u32) {
        self.packets[packet].ready = ready;
        if let Some(credits) = self.links.directions[direction as usize].credits {
            let credits = &mut self.links.credits[credits as usize];
            if !credits.take(self.packets[packet].channel) {
                credits.wait(&mut self.packets, packet);
                return;
            }
        }
        self.arbitrate(ready, direction, packet);
    }

    /// Sends a packet that has its credit, or lets it wait for wires that others use.
    #[inline]
    fn arbitrate(&mut self, earliest: Ps, direction: u32, packet: u32) {
        match self.links.arbiter(direction) {
            None => self.transmit(earliest, direction, packet),
            Some((arbiter, _)) => {
                arbiter.wait(&mut self.packets, direction as usize % 2, packet);
                self.wake_link(earliest, direction);
            }
        }
    }

    /// Sees to it that somebody who waits for shared wires is served when they are free.
    fn wake_link(&mut self, now: Ps, direction: u32) {
        if let Some((arbiter, free)) = self.links.arbiter(direction)
            && arbiter.waiting() > 0
            && !std::mem::replace(&mut arbiter.is_woken, true)
        {
            let at = now.max(*free);
            self.queue.push(at, Event::Free { direction });
        }
    }

    pub(super) fn free(&mut self, now: Ps, direction: u32) {
        let Some((arbiter, _)) = self.links.arbiter(direction) else {
            return;
        };
        arbiter.is_woken = false;
        if let Some((packet, side, turnaround)) = arbiter.next(&self.packets) {
            let direction = direction - direction % 2 + side as u32;
            self.transmit(now + turnaround, direction, packet);
        }
        self.wake_link(now, direction);
    }

    /// Puts a packet that has its credit on the wires, not before `earliest`.
    #[inline]
    fn transmit(&mut self, earliest: Ps, direction: u32, number: u32) {
        let packet = &mut self.packets[number];
        let passage = self.links.reserve(direction, earliest, packet.channel);
        let link = &self.links.directions[direction as usize];
        let parts = &mut packet.parts;
        parts[link.waiting].0 += passage.start.0 - packet.ready.0;
        parts[Part::Serialisation].0 += passage.end.0 - passage.start.0;
        parts[Part::Propagation].0 += link.latency.0;
        parts[Part::Port].0 += link.port.0;
        let arrival = Ps(passage.arrival.0 + link.port.0);
        let (held, held_channel) = (packet.held, packet.held_channel);
        let answers = link.answers;
        packet.held = if link.credits.is_some() {
            direction
        } else {
            NONE
        };
        packet.held_channel = packet.channel;
        if held != NONE {
            self.give_back(passage.end, held, held_channel);
        }
        if let Some(endpoint) = answers {
            self.links.directions[direction as usize].received += 1;
            return self.serve(arrival, endpoint, number);
        }
        let event = Event::Arrive {
            direction,
            packet: number,
        };
        self.queue.push(arrival, event);
    }

    /// The room of a packet that leaves a node's buffer at `at` becomes known to its sender.
    fn give_back(&mut self, at: Ps, direction: u32, channel: Channel) {
        let known = at + self.links.directions[direction as usize].latency;
        self.queue.push(known, Event::Credit { direction, channel });
    }

    pub(super) fn credit(&mut self, now: Ps, direction: u32, channel: Channel) {
        let credits = self.links.directions[direction as usize].credits;
        let credits = credits.expect("a direction that gave a credit has some");
        let waiting = self.links.credits[credits as usize].give(&self.packets, channel);
        if let Some(packet) = waiting {
            self.arbitrate(now, direction, packet);
        }
    }

    pub(super) fn arrive(
        &mut self,
        now: Ps,
        direction: u32,
        number: u32,
        done: &mut dyn FnMut(Completed),
    ) {
        let link = &mut self.links.directions[direction as usize];
        link.received += 1;
        let to = link.to;
        let node = self.nodes[to as usize];
        if let NodeKind::Switch(_) = node.kind {
            let packet = &mut self.packets[number];
            packet.parts[Part::Switch].0 += node.latency.0;
            let is_request = matches!(packet.channel, Channel::Req | Channel::RwD);
            packet.hops += u8::from(is_request && !node.is_hub);
            self.forward(Ps(now.0 + node.latency.0), to, number);
            return;
        }
        let held = std::mem::replace(&mut self.packets[number].held, NONE);
        if held != NONE {
            let channel = self.packets[number].held_channel;
            self.give_back(now, held, channel);
        }
        match node.kind {
            NodeKind::Endpoint(endpoint) if self.coherence.is_some() => {
                self.serve_coherent(now, endpoint, number);
            }
            NodeKind::Endpoint(endpoint) => self.serve(now, endpoint, number),
            NodeKind::Requester(requester) if self.coherence.is_some() => {
                self.receive(now, requester, number, done);
            }
            NodeKind::Requester(requester) => self.complete(now, requester, number, done),
            NodeKind::Switch(_) => (),
        }
    }
}
