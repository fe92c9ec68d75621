//! Packets: the messages of CXL.mem, their sizes, and the slab they live in.

use super::parts::Parts;
use sluice_cxl::{Channel, FlitMode, Packing, wire_bytes};
use sluice_units::{LINE_BYTES, Ps};

/// How many channels there are.
pub const CHANNELS: usize = Channel::ALL.len();

/// Bytes of a packet of each channel on a link, all and payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// All bytes.
    pub bytes: [u32; CHANNELS],
    /// Of them data.
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

    /// Those of CXL's messages in full flits.
    pub fn of_flits(mode: FlitMode) -> Sizes {
        let line = LINE_BYTES as u32;
        Sizes {
            bytes: Channel::ALL.map(|channel| wire_bytes(mode, channel, Packing::Shared) as u32),
            payload: Channel::ALL.map(|channel| if channel.has_data() { line } else { 0 }),
        }
    }

    /// Data of a request: what its packet with data carries.
    pub fn payload_bytes(&self) -> u32 {
        self.payload[Channel::Drs as usize]
    }
}

/// No packet, no direction.
pub(super) const NONE: u32 = u32::MAX;

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
    /// The direction of whose credits it holds one, or [`NONE`].
    pub held: u32,
    /// The packet behind it in a queue, or among those that are free.
    pub next: u32,
    /// Edge ports.
    pub from: u16,
    pub to: u16,
    pub channel: Channel,
    /// The channel of the credit that it holds.
    pub held_channel: Channel,
    pub is_write: bool,
    /// The LD-ID of its logical device.
    pub logical: u8,
    /// Switches that the request went through.
    pub hops: u8,
    /// What it carries where memory is coherent, or [`NONE`].
    pub message: u32,
}

impl Packet {
    /// Whether it must not overtake others between the same two ends.
    pub fn is_ordered(&self) -> bool {
        self.message != NONE && self.channel == Channel::Ndr
    }
}

/// Packets that wait, first come, first served.
#[derive(Clone, Copy)]
pub(super) struct Queue {
    head: u32,
    tail: u32,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue {
            head: NONE,
            tail: NONE,
        }
    }
}

impl Queue {
    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }

    pub fn push(&mut self, packets: &mut Slab, packet: u32) {
        packets[packet].next = NONE;
        match self.tail {
            NONE => self.head = packet,
            tail => packets[tail].next = packet,
        }
        self.tail = packet;
    }

    pub fn pop(&mut self, packets: &Slab) -> Option<u32> {
        let first = self.head;
        if first == NONE {
            return None;
        }
        self.head = packets[first].next;
        if self.head == NONE {
            self.tail = NONE;
        }
        Some(first)
    }

    pub fn len(&self, packets: &Slab) -> usize {
        let (mut count, mut next) = (0, self.head);
        while next != NONE {
            count += 1;
            next = packets[next].next;
        }
        count
    }
}

/// Packets by number. Nothing is allocated while no more are under way than ever before.
#[derive(Default)]
pub(super) struct Slab {
    packets: Vec<Packet>,
    free: Option<u32>,
    live: usize,
}

impl Slab {
    pub fn add(&mut self, packet: Packet) -> u32 {
        self.live += 1;
        match self.free {
            Some(index) => {
                let next = self.packets[index as usize].next;
                self.free = (next != NONE).then_some(next);
                self.packets[index as usize] = packet;
                index
            }
            None => {
                self.packets.push(packet);
                (self.packets.len() - 1) as u32
            }
        }
    }

    pub fn remove(&mut self, index: u32) {
        self.live -= 1;
        self.packets[index as usize].next = self.free.unwrap_or(NONE);
        self.free = Some(index);
    }

    /// Packets under way.
    pub fn live(&self) -> usize {
        self.live
    }
}

impl std::ops::Index<u32> for Slab {
    type Output = Packet;

    #[inline]
    fn index(&self, index: u32) -> &Packet {
        &self.packets[index as usize]
    }
}

impl std::ops::IndexMut<u32> for Slab {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Packet {
        &mut self.packets[index as usize]
    }
}
