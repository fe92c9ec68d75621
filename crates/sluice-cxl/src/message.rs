//! The messages of CXL.mem (CXL 3.1, 3.3.5 to 3.3.10).
//!
//! A field that a flit of some kind does not have is zero there: LD-ID under port-based routing,
//! SPID and DPID without it, CKID in 68-byte flits. Addresses are bytes below 2^52.

use super::opcode::{
    BiRspOp, BiSnpOp, Channel, DevLoad, DrsOp, MetaField, MetaValue, NdrOp, ReqOp, RwdOp, SnpType,
};
use sluice_units::LINE_BYTES;

/// The data of a message: one line.
pub type Line = [u8; LINE_BYTES as usize];

/// MetaField and MetaValue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Meta {
    /// What the value is about.
    pub field: MetaField,
    /// What the metadata says of the line.
    pub value: MetaValue,
}

impl Meta {
    /// Says nothing of the line's metadata.
    pub const NONE: Meta = Meta {
        field: MetaField::NoOp,
        value: MetaValue::Invalid,
    };

    /// The host will hold the line so.
    pub const fn state(value: MetaValue) -> Meta {
        let field = MetaField::Meta0State;
        Meta { field, value }
    }
}

/// M2S Req: a request without data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Req {
    /// What to do.
    pub opcode: ReqOp,
    /// What the device does to its own copies.
    pub snp: SnpType,
    /// What the host will hold.
    pub meta: Meta,
    /// Names the request in its responses.
    pub tag: u16,
    /// The line's address; in 68-byte flits a multiple of 32, the half that is wanted first.
    pub addr: u64,
    /// Traffic class, 2 bits.
    pub tc: u8,
    /// Context key, 13 bits.
    pub ckid: u16,
    /// Logical device, 4 bits.
    pub ld_id: u8,
    /// Port of the sender, 12 bits.
    pub spid: u16,
    /// Port of the receiver, 12 bits.
    pub dpid: u16,
}

/// M2S RwD: a request with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RwD {
    /// What to do.
    pub opcode: RwdOp,
    /// What the device does to its own copies.
    pub snp: SnpType,
    /// What the host will hold.
    pub meta: Meta,
    /// Names the request in its responses.
    pub tag: u16,
    /// The line's address.
    pub addr: u64,
    /// The data is known to be wrong.
    pub poison: bool,
    /// Traffic class, 2 bits.
    pub tc: u8,
    /// Context key, 13 bits.
    pub ckid: u16,
    /// Logical device, 4 bits.
    pub ld_id: u8,
    /// Port of the sender, 12 bits.
    pub spid: u16,
    /// Port of the receiver, 12 bits.
    pub dpid: u16,
    /// The bytes that are written, bit by byte, in messages whose opcode writes a part of a line.
    pub enables: Option<u64>,
    /// The data; zero where the opcode reserves it.
    pub data: Line,
}

/// M2S BIRsp: the response to a back-invalidate snoop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BiRsp {
    /// What is left in the host.
    pub opcode: BiRspOp,
    /// The device that snooped, 12 bits.
    pub bi_id: u16,
    /// The snoop's tag, 12 bits.
    pub bi_tag: u16,
    /// Address\[7:6\]: the line of a block that is answered line by line.
    pub low_addr: u8,
    /// Port of the sender, 12 bits.
    pub spid: u16,
    /// Port of the receiver, 12 bits.
    pub dpid: u16,
}

/// S2M NDR: a response without data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ndr {
    /// What it says.
    pub opcode: NdrOp,
    /// The metadata that was stored.
    pub meta: Meta,
    /// The request's tag.
    pub tag: u16,
    /// How busy the device is.
    pub load: DevLoad,
    /// Logical device, 4 bits.
    pub ld_id: u8,
    /// Port of the receiver, 12 bits.
    pub dpid: u16,
}

/// S2M DRS: a response with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Drs {
    /// What it says.
    pub opcode: DrsOp,
    /// The metadata that was stored.
    pub meta: Meta,
    /// The request's tag.
    pub tag: u16,
    /// The data is known to be wrong.
    pub poison: bool,
    /// How busy the device is.
    pub load: DevLoad,
    /// Logical device, 4 bits.
    pub ld_id: u8,
    /// Port of the receiver, 12 bits.
    pub dpid: u16,
    /// The 64 bytes that are written.
    pub data: Line,
}

/// S2M BISnp: a back-invalidate snoop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BiSnp {
    /// What is wanted.
    pub opcode: BiSnpOp,
    /// The device that snoops, 12 bits.
    pub bi_id: u16,
    /// Names the snoop in its responses, 12 bits.
    pub bi_tag: u16,
    /// The address as sent: of the line, or with the block in Address\[7:6\]. [`BiSnp::first`]
    /// and [`BiSnp::lines`] read it, [`BiSnp::covering`] makes it.
    pub addr: u64,
    /// Port of the sender, 12 bits.
    pub spid: u16,
    /// Port of the receiver, 12 bits.
    pub dpid: u16,
}

/// Two lines in Address\[7:6\] of a block snoop: the lower half of 256 bytes.
const LOWER: u64 = 0b01;
/// The upper half.
const UPPER: u64 = 0b10;
/// All four lines.
const WHOLE: u64 = 0b11;
/// The bytes of the largest block.
const BLOCK: u64 = 4 * LINE_BYTES;

impl BiSnp {
    /// The opcode and address of the snoop that asks for exactly `lines` lines from `first` on,
    /// if there is one: CXL names single lines, and blocks of two or four that are aligned to
    /// their size (CXL 3.1, Table 3-48). Of three lines there is none, although ESF V-C allows
    /// them.
    ///
    /// `first` is a multiple of 64; `opcode` may be that of a line or of a block.
    pub fn covering(opcode: BiSnpOp, first: u64, lines: u8) -> Option<(BiSnpOp, u64)> {
        let block = first & !(BLOCK - 1);
        let bits = match (lines, (first - block) / LINE_BYTES) {
            (1, _) => return Some((opcode.of_line(), first)),
            (2, 0) => LOWER,
            (2, 2) => UPPER,
            (4, 0) => WHOLE,
            _ => return None,
        };
        Some((opcode.of_block(), block + bits * LINE_BYTES))
    }

    /// The address of the first line.
    pub fn first(&self) -> u64 {
        let block = self.addr & !(BLOCK - 1);
        match (self.opcode.is_block(), self.addr / LINE_BYTES % 4) {
            (false, _) => self.addr,
            (true, UPPER) => block + 2 * LINE_BYTES,
            (true, _) => block,
        }
    }

    /// How many lines: 1, 2 or 4.
    pub fn lines(&self) -> u8 {
        match (self.opcode.is_block(), self.addr / LINE_BYTES % 4) {
            (false, _) => 1,
            (true, WHOLE) => 4,
            (true, _) => 2,
        }
    }
}

/// The fewest snoops that cover `lines` adjacent lines from `first` on, each as its first address
/// and its number of lines: 1, 2 or 4.
pub fn blocks(first: u64, lines: u64) -> impl Iterator<Item = (u64, u8)> {
    let mut at = first / LINE_BYTES;
    let end = at + lines;
    std::iter::from_fn(move || {
        let left = end.checked_sub(at).filter(|&left| left > 0)?;
        let fits = |size: u64| left >= size && at.is_multiple_of(size);
        let size = if fits(4) {
            4
        } else if fits(2) {
            2
        } else {
            1
        };
        let start = at * LINE_BYTES;
        at += size;
        Some((start, size as u8))
    })
}

/// A message of any channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// A host's request without data (M2S Req).
    Req(Req),
    /// A host's request with data (M2S RwD).
    RwD(RwD),
    /// A host's answer to a back-invalidation (M2S BIRsp).
    BiRsp(BiRsp),
    /// A device's answer without data (S2M NDR).
    Ndr(Ndr),
    /// A device's answer with data (S2M DRS).
    Drs(Drs),
    /// A device's back-invalidation (S2M BISnp).
    BiSnp(BiSnp),
}

impl Message {
    /// The channel that carries it.
    pub const fn channel(&self) -> Channel {
        match self {
            Message::Req(_) => Channel::Req,
            Message::RwD(_) => Channel::RwD,
            Message::BiRsp(_) => Channel::BiRsp,
            Message::Ndr(_) => Channel::Ndr,
            Message::Drs(_) => Channel::Drs,
            Message::BiSnp(_) => Channel::BiSnp,
        }
    }

    /// The line that it carries, if it carries one.
    pub const fn data(&self) -> Option<&Line> {
        match self {
            Message::RwD(message) => Some(&message.data),
            Message::Drs(message) => Some(&message.data),
            _ => None,
        }
    }

    /// Its byte enables.
    pub const fn enables(&self) -> Option<u64> {
        match self {
            Message::RwD(message) => message.enables,
            _ => None,
        }
    }
}
