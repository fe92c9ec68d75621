//! Packets: the messages of CXL.mem, their sizes, and the slab they live in.

use super::ids::{DirectionId, PacketId, PortId};
use super::parts::{Part, Parts};
use sluice_cxl::{Channel, FlitMode, Packing, wire_bytes};
use sluice_units::{LINE_BYTES, Ps};

/// How many channels there are.
pub const CHANNELS: usize = Channel::ALL.len();

/// Kinds of packets: those of each channel, then [`EMPTY`].
pub(super) const KINDS: usize = CHANNELS + 1;

/// Packets of RwD that are as long as the others, without their data.
pub(super) const EMPTY: usize = CHANNELS;

/// Bytes of a packet of each channel on a link, all and payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Bytes on a link, by channel, headers included.
    pub bytes: [u32; CHANNELS],
    /// Bytes of data by channel.
    pub payload: [u32; CHANNELS],
}

impl Sizes {
    /// Data packets of `payload` and `data_header` bytes, others of `header` bytes.
    pub fn new(payload: u32, header: u32, data_header: u32) -> Sizes {
        Sizes {
            bytes: Channel::ALL.map(|channel| {
                if channel.has_data() {
                    payload + data_header
                } else {
                    header
                }
            }),
            payload: Channel::ALL.map(|channel| if channel.has_data() { payload } else { 0 }),
        }
    }

    /// The sizes of CXL's messages in full flits.
    pub fn of_flits(mode: FlitMode) -> Sizes {
        let line = LINE_BYTES as u32;
        Sizes {
            bytes: Channel::ALL.map(|channel| wire_bytes(mode, channel, Packing::Shared) as u32),
            payload: Channel::ALL.map(|channel| if channel.has_data() { line } else { 0 }),
        }
    }

    /// Bytes of packets of a kind on a link, all and payload.
    pub(super) fn of_kind(&self, kind: usize) -> [u32; 2] {
        match kind {
            EMPTY => [self.bytes[Channel::RwD as usize], 0],
            _ => [self.bytes[kind], self.payload[kind]],
        }
    }

    /// Data of a request: what its packet with data carries.
    pub fn payload_bytes(&self) -> u32 {
        self.payload[Channel::Drs as usize]
    }
}

/// Ends a queue of packets.
const NO_PACKET: PacketId = PacketId(u32::MAX);

/// No direction, of whose credits a packet would hold one.
const NO_DIRECTION: DirectionId = DirectionId(u32::MAX);

/// Nothing that coherence has to do with.
const NO_CARGO: u32 = u32::MAX;

/// Whether a request is answered with a long-delay message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delay {
    Never,
    /// If its device says that it will take long.
    May,
    Is,
}

/// A packet under way, with the history of the request that it belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    /// Address at the endpoint.
    pub addr: u64,
    /// What an outside sender calls the request.
    pub tag: u64,
    /// When the request was issued.
    pub issued: Ps,
    /// Where its time went.
    pub parts: Parts,
    /// When it was ready for the direction for which it waits.
    pub ready: Ps,
    /// The direction of whose credits it holds one, or [`NO_DIRECTION`].
    credit: DirectionId,
    /// The packet behind it in a queue, or among those that are free.
    next: PacketId,
    pub from: PortId,
    pub to: PortId,
    pub channel: Channel,
    /// The channel of the credit that it holds.
    credit_channel: Channel,
    pub is_write: bool,
    /// Whether nothing is where its channel has room for data.
    pub is_empty: bool,
    /// Whether a host issued it, which wants to know where its time in the device went.
    pub is_host: bool,
    /// Whether it is answered with a long-delay message.
    pub delay: Delay,
    /// The LD-ID of its logical device.
    pub logical: u8,
    /// Switches that the request went through.
    pub hops: u16,
    /// What it carries where memory is coherent, or [`NO_CARGO`].
    cargo: u32,
}

impl Packet {
    /// One that sets out at `ready`, with no time spent.
    #[inline]
    pub fn new(from: PortId, to: PortId, channel: Channel, addr: u64, ready: Ps) -> Packet {
        Packet {
            addr,
            tag: 0,
            issued: ready,
            parts: Parts::default(),
            ready,
            credit: NO_DIRECTION,
            next: NO_PACKET,
            from,
            to,
            channel,
            credit_channel: channel,
            is_write: channel == Channel::RwD,
            is_empty: false,
            is_host: false,
            delay: Delay::Never,
            logical: 0,
            hops: 0,
            cargo: NO_CARGO,
        }
    }

    /// Which of the [`KINDS`] it is.
    #[inline]
    pub fn kind(&self) -> usize {
        self.channel as usize + usize::from(self.is_empty) * (EMPTY - Channel::RwD as usize)
    }

    /// Puts a message of coherence into it, by its number.
    #[inline]
    pub fn set_cargo(&mut self, cargo: u32) {
        self.cargo = cargo;
    }

    /// The number of its message.
    #[inline]
    pub fn cargo(&self) -> u32 {
        debug_assert_ne!(self.cargo, NO_CARGO);
        self.cargo
    }

    /// The credit that it holds.
    #[inline]
    pub fn credit(&self) -> Option<Credit> {
        (self.credit != NO_DIRECTION).then_some(Credit {
            direction: self.credit,
            channel: self.credit_channel,
        })
    }

    /// Gives the credit that it holds for one of `direction` or for none.
    #[inline]
    pub fn change_credit(&mut self, direction: Option<DirectionId>) -> Option<Credit> {
        let held = self.credit();
        self.credit = direction.unwrap_or(NO_DIRECTION);
        self.credit_channel = self.channel;
        held
    }

    /// Makes a request that its memory has served at `now` the response to it.
    #[inline]
    pub fn answer(&mut self, now: Ps) {
        self.parts[Part::Memory] = Ps(now.0 - self.ready.0);
        (self.from, self.to) = (self.to, self.from);
        self.channel = if self.is_write || self.delay == Delay::Is {
            Channel::Ndr
        } else {
            Channel::Drs
        };
    }

    /// Whether it must not overtake others between the same two ends.
    pub fn is_ordered(&self) -> bool {
        self.cargo != NO_CARGO && self.channel == Channel::Ndr
    }
}

/// Room of a receiver for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Credit {
    /// The direction that leads to it.
    pub direction: DirectionId,
    /// The channel of the packet.
    pub channel: Channel,
}

/// Packets that wait, first come, first served.
#[derive(Clone, Copy)]
pub(super) struct Queue {
    head: PacketId,
    tail: PacketId,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue {
            head: NO_PACKET,
            tail: NO_PACKET,
        }
    }
}

impl Queue {
    pub fn is_empty(&self) -> bool {
        self.head == NO_PACKET
    }

    pub fn push(&mut self, packets: &mut Slab, packet: PacketId) {
        packets[packet].next = NO_PACKET;
        match self.tail {
            NO_PACKET => self.head = packet,
            tail => packets[tail].next = packet,
        }
        self.tail = packet;
    }

    pub fn pop(&mut self, packets: &Slab) -> Option<PacketId> {
        let first = self.head;
        if first == NO_PACKET {
            return None;
        }
        self.head = packets[first].next;
        if self.head == NO_PACKET {
            self.tail = NO_PACKET;
        }
        Some(first)
    }

    pub fn iter(self, packets: &Slab) -> impl Iterator<Item = PacketId> {
        let there = |id| (id != NO_PACKET).then_some(id);
        std::iter::successors(there(self.head), move |id| there(packets[*id].next))
    }
}

/// Packets by number. Nothing is allocated while no more are under way than ever before.
#[derive(Default)]
pub(super) struct Slab {
    packets: Vec<Packet>,
    free: Option<PacketId>,
    live: usize,
}

impl Slab {
    #[inline]
    pub fn add(&mut self, packet: Packet) -> PacketId {
        self.live += 1;
        match self.free {
            Some(id) => {
                let next = self[id].next;
                self.free = (next != NO_PACKET).then_some(next);
                self[id] = packet;
                id
            }
            None => {
                self.packets.push(packet);
                PacketId(self.packets.len() as u32 - 1)
            }
        }
    }

    /// Takes a packet out, which can be read until another one is added.
    #[inline]
    pub fn remove(&mut self, id: PacketId) -> &Packet {
        self.live -= 1;
        let next = self.free.replace(id).unwrap_or(NO_PACKET);
        let packet = &mut self[id];
        packet.next = next;
        packet
    }

    /// Packets under way.
    pub fn live(&self) -> usize {
        self.live
    }
}

impl std::ops::Index<PacketId> for Slab {
    type Output = Packet;

    #[inline]
    fn index(&self, id: PacketId) -> &Packet {
        &self.packets[id.index()]
    }
}

impl std::ops::IndexMut<PacketId> for Slab {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.packets[id.index()]
    }
}
