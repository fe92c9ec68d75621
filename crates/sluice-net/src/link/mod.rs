//! Links: their directions, the wires that carry them, credits and arbitration.
//!
//! What leaves a node after a constant time leaves in the order in which it came, so the wires are
//! reserved as soon as the packet is in the node ([`Links::offer`]). Where that does not hold
//! (half-duplex links, and such with credits), one more event reserves them at their time
//! ([`Links::send`]). Each step says what is due, and when; the engine brings it about.

mod arbiter;
mod credits;
mod stuck;

use super::gaps::Gaps;
use super::graph::{Graph, HalfDuplex, NodeKind};
use super::ids::{DirectionId, EndpointId, NodeId, PacketId, SwitchId};
use super::packet::{Credit, KINDS, Packet, Sizes, Slab};
use super::parts::Part;
use arbiter::Arbiter;
use credits::Credits;
use sluice_cxl::Channel;
use sluice_units::{Ps, Table, index_type};

index_type! {
    /// Which wires.
    struct WiresId;
    /// Which receiver's credits.
    struct CreditsId;
    /// Which arbiter.
    struct ArbiterId;
}

/// One direction of a link.
struct Direction {
    /// The node at its end.
    to: NodeId,
    /// What carries it.
    wires: WiresId,
    /// Which part of a request's time waiting for it is.
    waiting: Part,
    /// What the ports at its ends add, each.
    port: Ps,
    /// From the last bit sent to the last received.
    latency: Ps,
    /// Bytes of a packet on it.
    bytes: [u32; KINDS],
    /// Time of a packet on it.
    serialisation: [Ps; KINDS],
    /// Credits of the receiver at its end; none if they have no limit.
    credits: Option<CreditsId>,
    /// Whether packets that come later can be ready earlier, so that the wires have to be reserved
    /// at the time at which a packet is ready: two nodes share them, or some wait for credits.
    is_contended: bool,
    /// The endpoint at its end, if a packet's arrival there needs no event: see
    /// [`Links::answer_at_once`].
    answers: Option<EndpointId>,
    /// Packets that it has sent, by kind, and how many of them are reserved and still to come.
    sent: [u64; KINDS],
    to_come: [u64; KINDS],
    /// Packets that have arrived.
    received: u64,
    /// `sent` when the counting began, without what was to come.
    before: [u64; KINDS],
    /// Longest wait of a packet for it.
    wait_max: Ps,
}

impl Direction {
    /// A packet arrives at `at`: it is to come unless it is on the wires at `now`, or was.
    fn note_to_come(&mut self, now: Ps, at: Ps, kind: usize) {
        let way = self.serialisation[kind] + self.latency + self.port;
        self.to_come[kind] += u64::from(at - way >= now);
    }
}

/// The wires: of one direction, or of both if the link is half duplex.
struct Wires {
    /// When they are free.
    free: Ps,
    /// Time that they were busy or are reserved, by the end that sends.
    busy: [Ps; 2],
    /// The end that sent last: of half-duplex wires, nothing of the other one's is to come.
    side: usize,
    gaps: Gaps,
    /// What turning round took since the counting began.
    turning: Ps,
    /// None if the wires have one direction.
    arbiter: Option<ArbiterId>,
}

/// A packet that is on its way over a link.
pub(super) struct Sent {
    pub packet: PacketId,
    /// The credit of the link before, which its sender knows of at that time.
    pub credit: Option<(Ps, Credit)>,
    pub arrival: Arrival,
}

/// The end of a packet's way over a link.
pub(super) enum Arrival {
    /// At the end of a direction.
    Node(Ps, DirectionId),
    /// At an endpoint that takes it at once, though its time has not come.
    Endpoint(Ps, EndpointId),
}

/// What becomes of a packet that wants to leave its node.
pub(super) enum Offer {
    /// It has left its node.
    Sent(Sent),
    /// It is to be sent at that time.
    Later(Ps),
}

/// What follows from a packet that was sent, from a credit or from free wires, in this order.
#[derive(Default)]
pub(super) struct Moves {
    pub sent: Option<Sent>,
    /// When the wires of a direction are to be given to a packet that waits.
    pub free: Option<(Ps, DirectionId)>,
}

/// What a direction carried while it was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Packets that it has carried.
    pub packets: u64,
    /// Bytes, with headers and what fills up the link's width.
    pub bytes: u64,
    /// Bytes of data.
    pub payload: u64,
}

/// All directions of all links.
pub struct Links {
    directions: Table<DirectionId, Direction>,
    wires: Table<WiresId, Wires>,
    credits: Table<CreditsId, Credits>,
    arbiters: Table<ArbiterId, Arbiter>,
    /// Bytes of data in a packet.
    payload: [u32; KINDS],
}

impl Links {
    /// The links of a graph; nobody waits in a switch that is no hop.
    pub(super) fn new(graph: &Graph, hops: &Table<SwitchId, bool>, sizes: &Sizes) -> Links {
        let mut directions = Vec::with_capacity(2 * graph.links.len());
        let (mut wires, mut credits, mut arbiters) = (Vec::new(), Vec::new(), Vec::new());
        let sizes_of: [_; KINDS] = std::array::from_fn(|kind| sizes.of_kind(kind));
        for id in graph.directions() {
            let settings = &graph.link(id.link()).settings;
            if id.side() == 0 || settings.half.is_none() {
                let arbiter = settings.half.map(|half: HalfDuplex| {
                    arbiters.push(Arbiter::new(half));
                    ArbiterId(arbiters.len() as u32 - 1)
                });
                wires.push(Wires {
                    free: Ps::ZERO,
                    busy: [Ps::ZERO; 2],
                    side: id.side(),
                    gaps: Gaps::default(),
                    turning: Ps::ZERO,
                    arbiter,
                });
            }
            let (from, to) = graph.direction(id);
            let bytes = sizes_of.map(|[bytes, _]| bytes.next_multiple_of(settings.width));
            directions.push(Direction {
                to,
                wires: WiresId(wires.len() as u32 - 1),
                waiting: match graph.kind(from) {
                    NodeKind::Switch(switch) if hops[switch] => Part::SwitchQueue,
                    _ => Part::LinkQueue,
                },
                port: settings.port_latency,
                latency: settings.latency,
                bytes,
                serialisation: bytes.map(|bytes| time(bytes, settings.bandwidth)),
                credits: settings.credits.map(|each| {
                    credits.push(Credits::new(each));
                    CreditsId(credits.len() as u32 - 1)
                }),
                is_contended: settings.half.is_some() || settings.credits.is_some(),
                answers: None,
                sent: [0; KINDS],
                to_come: [0; KINDS],
                received: 0,
                before: [0; KINDS],
                wait_max: Ps::ZERO,
            });
        }
        Links {
            directions: directions.into_iter().collect(),
            wires: wires.into_iter().collect(),
            credits: credits.into_iter().collect(),
            arbiters: arbiters.into_iter().collect(),
            payload: sizes_of.map(|[_, payload]| payload),
        }
    }

    /// Takes it that the endpoint at a direction's end answers every request after the same time,
    /// so that its responses leave in the order in which requests were sent there, and can be
    /// reserved at once. False if a direction of the link is contended.
    pub(super) fn answer_at_once(&mut self, id: DirectionId, endpoint: EndpointId) -> bool {
        let is_contended = |id| self.directions[id].is_contended;
        let can = !is_contended(id) && !is_contended(id.back());
        if can {
            self.directions[id].answers = Some(endpoint);
        }
        can
    }

    /// It is `now`, and a packet leaves its node at `ready` by a direction.
    #[inline]
    pub(super) fn offer(
        &mut self,
        packets: &mut Slab,
        [now, ready]: [Ps; 2],
        id: DirectionId,
        number: PacketId,
    ) -> Offer {
        let direction = &self.directions[id];
        let packet = &mut packets[number];
        packet.parts[Part::Port].0 += direction.port.0;
        let ready = Ps(ready.0 + direction.port.0);
        if direction.is_contended {
            return Offer::Later(ready);
        }
        packet.ready = ready;
        Offer::Sent(self.transmit(packets, [now, ready], id, number))
    }

    /// Sends a packet whose time to leave has come, once there is a credit for it and the wires are
    /// free.
    pub(super) fn send(
        &mut self,
        packets: &mut Slab,
        now: Ps,
        id: DirectionId,
        packet: PacketId,
    ) -> Moves {
        packets[packet].ready = now;
        if let Some(credits) = self.directions[id].credits
            && !self.credits[credits].take(packets, packet)
        {
            return Moves::default();
        }
        self.arbitrate(packets, now, id, packet)
    }

    /// Sends a packet that has its credit, or lets it wait for wires that others use.
    fn arbitrate(
        &mut self,
        packets: &mut Slab,
        now: Ps,
        id: DirectionId,
        packet: PacketId,
    ) -> Moves {
        match self.wires[self.directions[id].wires].arbiter {
            None => Moves {
                sent: Some(self.transmit(packets, [now, now], id, packet)),
                free: None,
            },
            Some(arbiter) => {
                self.arbiters[arbiter].wait(packets, id, packet);
                Moves {
                    sent: None,
                    free: self.wake(now, id),
                }
            }
        }
    }

    /// When somebody who waits for shared wires is to be given them, if no event will do so yet.
    fn wake(&mut self, now: Ps, id: DirectionId) -> Option<(Ps, DirectionId)> {
        let wires = &self.wires[self.directions[id].wires];
        let needs_event = self.arbiters[wires.arbiter?].needs_event();
        needs_event.then_some((now.max(wires.free), id))
    }

    /// The wires of a direction are free for the next packet.
    pub(super) fn free(&mut self, packets: &mut Slab, now: Ps, id: DirectionId) -> Moves {
        let Some(arbiter) = self.wires[self.directions[id].wires].arbiter else {
            return Moves::default();
        };
        let grant = self.arbiters[arbiter].grant(packets);
        let sent = grant.map(|grant| {
            let direction = id.link().directions()[grant.side];
            self.wires[self.directions[direction].wires].turning += grant.turnaround;
            let earliest = now + grant.turnaround;
            self.transmit(packets, [now, earliest], direction, grant.packet)
        });
        let free = self.wake(now, id);
        Moves { sent, free }
    }

    /// A credit has become known to its sender.
    pub(super) fn credit(&mut self, packets: &mut Slab, now: Ps, credit: Credit) -> Moves {
        let credits = self.directions[credit.direction].credits;
        let credits = credits.expect("a direction that gave a credit has some");
        match self.credits[credits].give(packets, credit.channel) {
            Some(packet) => self.arbitrate(packets, now, credit.direction, packet),
            None => Moves::default(),
        }
    }

    /// Puts a packet that has its credit on the wires, `now` or later, not before `earliest`. Those
    /// of a direction must come in the order in which they are ready.
    #[inline]
    fn transmit(
        &mut self,
        packets: &mut Slab,
        [now, earliest]: [Ps; 2],
        id: DirectionId,
        number: PacketId,
    ) -> Sent {
        let packet = &mut packets[number];
        let direction = &mut self.directions[id];
        let wires = &mut self.wires[direction.wires];
        let start = Ps(earliest.0.max(wires.free.0));
        let kind = packet.kind();
        let serialisation = direction.serialisation[kind];
        let end = Ps(start.0 + serialisation.0);
        wires.gaps.note(now, wires.free, start);
        wires.free = end;
        wires.busy[id.side()].0 += serialisation.0;
        wires.side = id.side();
        direction.sent[kind] += 1;
        direction.wait_max = Ps(direction.wait_max.0.max(start.0 - packet.ready.0));
        let parts = &mut packet.parts;
        parts[direction.waiting].0 += start.0 - packet.ready.0;
        parts[Part::Serialisation].0 += serialisation.0;
        parts[Part::Propagation].0 += direction.latency.0;
        parts[Part::Port].0 += direction.port.0;
        let at = Ps(end.0 + direction.latency.0 + direction.port.0);
        let arrival = match direction.answers {
            Some(endpoint) => {
                direction.received += 1;
                Arrival::Endpoint(at, endpoint)
            }
            None => Arrival::Node(at, id),
        };
        let held = packet.change_credit(direction.credits.map(|_| id));
        Sent {
            packet: number,
            credit: held.map(|credit| self.known(end, credit)),
            arrival,
        }
    }

    /// When the sender of a packet knows that it has left a buffer at `at`.
    fn known(&self, at: Ps, credit: Credit) -> (Ps, Credit) {
        (at + self.directions[credit.direction].latency, credit)
    }

    /// A packet has come to the end of a direction: the node there.
    #[inline]
    pub(super) fn arrived(&mut self, id: DirectionId) -> NodeId {
        let direction = &mut self.directions[id];
        direction.received += 1;
        direction.to
    }

    /// A packet ends at a node: the credit that it held, which its sender knows of at that time.
    #[inline]
    pub(super) fn leave(&self, packet: &mut Packet, now: Ps) -> Option<(Ps, Credit)> {
        let held = packet.change_credit(None);
        held.map(|credit| self.known(now, credit))
    }

    /// How long a packet would wait at `now`.
    pub(super) fn backlog(&self, id: DirectionId, now: Ps) -> Ps {
        let direction = &self.directions[id];
        let wires = &self.wires[direction.wires];
        let waiting = wires
            .arbiter
            .map_or(0, |arbiter| self.arbiters[arbiter].waiting());
        let line = direction.serialisation[Channel::Drs as usize];
        let wait = wires.free - now + line * u64::from(waiting);
        let credits = direction.credits.map(|credits| &self.credits[credits]);
        // A packet that waits for credits waits longer than any behind a queue of packets.
        match credits {
            Some(credits) if credits.is_waited_for() => Ps(u64::MAX / 2),
            _ => wait,
        }
    }

    /// What is to come is noted anew.
    pub(super) fn forget_to_come(&mut self) {
        for direction in self.directions.values_mut() {
            direction.to_come = [0; KINDS];
        }
    }

    /// It is `now`, and a packet arrives at `at` over a direction. Returns the endpoint that
    /// answered it at once, if one did, and when its memory serves the request.
    pub(super) fn note_to_come(
        &mut self,
        now: Ps,
        at: Ps,
        id: DirectionId,
        packet: &Packet,
    ) -> Option<(EndpointId, Ps)> {
        let direction = &mut self.directions[id];
        direction.note_to_come(now, at, packet.kind());
        let port = direction.port;
        let there = &mut self.directions[id.back()];
        let endpoint = there.answers?;
        // It was ready after a constant time, and has not been since for another direction.
        let served_at = packet.ready - port - packet.parts[Part::Memory];
        let kind = match packet.is_write {
            true => Channel::RwD as usize,
            false => Channel::Req as usize,
        };
        there.note_to_come(now, served_at - packet.parts[Part::Controller], kind);
        Some((endpoint, served_at))
    }

    /// Begins to count.
    pub(super) fn begin(&mut self, now: Ps) {
        for wires in self.wires.values_mut() {
            let reserved = wires.gaps.reserved(now, wires.free);
            wires.busy = [Ps::ZERO; 2];
            wires.busy[wires.side] = reserved;
            wires.turning = Ps::ZERO;
        }
        for direction in self.directions.values_mut() {
            for kind in 0..KINDS {
                direction.before[kind] = direction.sent[kind] - direction.to_come[kind];
            }
            direction.wait_max = Ps::ZERO;
        }
    }

    /// How long the wires of a direction carried its packets until `now`.
    pub fn busy(&self, id: DirectionId, now: Ps) -> Ps {
        let wires = &self.wires[self.directions[id].wires];
        match id.side() == wires.side {
            true => wires.busy[id.side()] - wires.gaps.reserved(now, wires.free),
            false => wires.busy[id.side()],
        }
    }

    /// How long they could carry nothing else of that direction: packets of the other one on
    /// half-duplex wires, and turning these round, count too.
    pub fn taken(&self, id: DirectionId, now: Ps) -> Ps {
        let wires = &self.wires[self.directions[id].wires];
        let other = match wires.arbiter {
            Some(_) => self.busy(id.back(), now),
            None => Ps::ZERO,
        };
        self.busy(id, now) + other + wires.turning
    }

    /// The longest wait of a packet for a direction since the counting began.
    pub fn wait_max(&self, id: DirectionId) -> Ps {
        self.directions[id].wait_max
    }

    /// What a direction carried since the counting began, with what is on its wires when it ends.
    pub fn carried(&self, id: DirectionId) -> Carried {
        let direction = &self.directions[id];
        let mut carried = Carried::default();
        for kind in 0..KINDS {
            let begun = direction.sent[kind] - direction.to_come[kind];
            let packets = begun - direction.before[kind];
            carried.packets += packets;
            carried.bytes += packets * u64::from(direction.bytes[kind]);
            carried.payload += packets * u64::from(self.payload[kind]);
        }
        carried
    }

    /// Packets that were sent and have arrived, over all channels, since the start.
    pub(super) fn sent_and_received(&self, id: DirectionId) -> (u64, u64) {
        let direction = &self.directions[id];
        (direction.sent.iter().sum(), direction.received)
    }
}

/// Time of so many bytes, rounded up to a picosecond.
fn time(bytes: u32, bandwidth: Option<u64>) -> Ps {
    bandwidth.map_or(Ps::ZERO, |mb_s| {
        Ps((u64::from(bytes) * 1_000_000).div_ceil(mb_s))
    })
}
