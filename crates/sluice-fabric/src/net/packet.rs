//! Packets: the messages of CXL.mem, their sizes, and the slab they live in.

use super::parts::Parts;
use sluice_model::cxl::{Channel, FlitMode, Packing, wire_bytes};
use sluice_units::{LINE_BYTES, Ps};

/// What a packet carries: one of the six message classes of CXL.mem, each with its own credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// M2S Req: a request without data.
    Req,
    /// M2S RwD: a request with data.
    RwD,
    /// S2M NDR: a response without data.
    Ndr,
    /// S2M DRS: a response with data.
    Drs,
    /// S2M BISnp: a back-invalidate snoop.
    BiSnp,
    /// M2S BIRsp: its response.
    BiRsp,
}

/// How many classes there are.
pub const CLASSES: usize = 6;

impl Class {
    /// Every class, in order.
    pub const ALL: [Class; CLASSES] = [
        Class::Req,
        Class::RwD,
        Class::Ndr,
        Class::Drs,
        Class::BiSnp,
        Class::BiRsp,
    ];

    /// The name in the CXL specification.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Req => "Req",
            Class::RwD => "RwD",
            Class::Ndr => "NDR",
            Class::Drs => "DRS",
            Class::BiSnp => "BISnp",
            Class::BiRsp => "BIRsp",
        }
    }

    /// The class of a channel.
    pub const fn of(channel: Channel) -> Class {
        match channel {
            Channel::Req => Class::Req,
            Channel::RwD => Class::RwD,
            Channel::Ndr => Class::Ndr,
            Channel::Drs => Class::Drs,
            Channel::BiSnp => Class::BiSnp,
            Channel::BiRsp => Class::BiRsp,
        }
    }

    /// Whether it has data.
    pub const fn has_data(self) -> bool {
        matches!(self, Class::RwD | Class::Drs)
    }
}

/// Bytes of a packet of each class on a link, all and payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// All bytes.
    pub bytes: [u32; CLASSES],
    /// Of them data.
    pub payload: [u32; CLASSES],
}

impl Sizes {
    /// Data packets of `payload` and `data_header` bytes, others of `header` bytes.
    pub fn new(payload: u32, header: u32, data_header: u32) -> Sizes {
        Sizes {
            bytes: Class::ALL.map(|class| {
                if class.has_data() {
                    payload + data_header
                } else {
                    header
                }
            }),
            payload: Class::ALL.map(|class| if class.has_data() { payload } else { 0 }),
        }
    }

    /// Those of CXL's messages in full flits.
    pub fn of_flits(mode: FlitMode) -> Sizes {
        let channel = |class| match class {
            Class::Req => Channel::Req,
            Class::RwD => Channel::RwD,
            Class::Ndr => Channel::Ndr,
            Class::Drs => Channel::Drs,
            Class::BiSnp => Channel::BiSnp,
            Class::BiRsp => Channel::BiRsp,
        };
        let line = LINE_BYTES as u32;
        Sizes {
            bytes: Class::ALL.map(|class| wire_bytes(mode, channel(class), Packing::Shared) as u32),
            payload: Class::ALL.map(|class| if class.has_data() { line } else { 0 }),
        }
    }

    /// Data of a request: what its packet with data carries.
    pub fn payload_bytes(&self) -> u32 {
        self.payload[Class::Drs as usize]
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
    pub class: Class,
    /// The class of the credit that it holds.
    pub held_class: Class,
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
        self.message != NONE && self.class == Class::Ndr
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
