//! Flits: the units in which a link carries messages.
//!
//! What the physical layer adds (protocol identifier, header, CRC, forward error correction) and
//! the link layer's credits and acknowledgements count in a flit's bytes, and are zero.

use super::error::MessageError;
use super::layout::Layout;
use super::opcode::{Channel, Direction};
use sluice_params::choices;

choices! {
    /// The kinds of flits (CXL 3.1, 4.2 and 4.3).
    #[derive(PartialOrd, Ord, Hash)]
    pub enum FlitMode {
        B68 = "68b": "68 bytes, in four slots of 16; the first begins with the flit's header",
        B256 = "256b": "256 bytes: a slot of 14 bytes and 14 of 16",
        B256LowLatency = "256b-lopt": "256 bytes, checked in half the time: the ninth slot has 12 \
                                       bytes",
        B256Pbr = "256b-pbr": "256 bytes, messages with the ports of their sender and receiver",
    }
}

impl FlitMode {
    /// How messages are laid out in its slots.
    pub const fn layout(self) -> Layout {
        match self {
            FlitMode::B68 => Layout::B68,
            FlitMode::B256 | FlitMode::B256LowLatency => Layout::B256,
            FlitMode::B256Pbr => Layout::Pbr,
        }
    }

    /// Bytes on the link.
    pub const fn bytes(self) -> u64 {
        match self {
            FlitMode::B68 => 68,
            _ => 256,
        }
    }

    /// How many slots of 16 bytes it has.
    pub const fn slots(self) -> usize {
        match self {
            FlitMode::B68 => 4,
            _ => MAX_SLOTS,
        }
    }

    /// What slot `index` is.
    pub(super) const fn kind(self, index: usize) -> SlotKind {
        match (self, index) {
            (FlitMode::B68, 0) => SlotKind::First68,
            (_, 0) => SlotKind::Header,
            (FlitMode::B256LowLatency, 8) => SlotKind::ShortHeader,
            _ => SlotKind::Generic,
        }
    }
}

/// The most slots of a flit.
pub const MAX_SLOTS: usize = 15;

/// The kinds of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotKind {
    /// 16 bytes; 32 bits of them are the header of a 68-byte flit.
    First68,
    /// 14 bytes, never data (H-slot).
    Header,
    /// 12 bytes, never data (HS-slot).
    ShortHeader,
    /// 16 bytes, also data (G-slot).
    Generic,
}

impl SlotKind {
    /// The bits of the slot.
    pub const fn bits(self) -> u32 {
        match self {
            SlotKind::First68 | SlotKind::Generic => 128,
            SlotKind::Header => 112,
            SlotKind::ShortHeader => 96,
        }
    }

    /// Whether it can carry data.
    pub const fn takes_data(self) -> bool {
        matches!(self, SlotKind::Generic)
    }
}

/// A flit: its slots, bit 0 of byte 0 lowest. Those that it does not have are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flit {
    /// What each slot holds, 16 bytes a slot; those that the flit does not have are 0.
    pub slots: [u128; MAX_SLOTS],
}

impl Flit {
    /// A flit of zeroes.
    pub const EMPTY: Flit = Flit {
        slots: [0; MAX_SLOTS],
    };
}

/// The header of a 68-byte flit: the lowest 32 bits of its first slot (CXL 3.1, Table 4-1).
///
/// Bits: type 0, acknowledgement 2, byte enables 3, size 4, slot formats 5 to 16 in threes,
/// credits 20 to 31.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header68 {
    /// A slot of byte enables ends the data that begins in this flit.
    pub enables: bool,
    /// The data that begins in this flit is a whole line.
    pub whole: bool,
    /// The formats of the four slots.
    pub formats: [u8; 4],
}

/// Bits of the header.
pub(super) const HEADER_BITS: u32 = 32;
/// What must be zero: the reserved bits.
const HEADER_RESERVED: u32 = 0b10 | 0b111 << 17;
/// Set in a control flit.
const HEADER_CONTROL: u32 = 1;

impl Header68 {
    pub fn encode(self) -> u128 {
        let flags = u32::from(self.enables) << 3 | u32::from(self.whole) << 4;
        let formats = self.formats.iter().enumerate();
        let formats = formats.map(|(slot, &format)| u32::from(format) << (5 + 3 * slot));
        (formats.sum::<u32>() | flags).into()
    }

    pub fn decode(slot: u128) -> Result<Header68, FlitError> {
        let bits = slot as u32;
        if bits & HEADER_CONTROL != 0 {
            return Err(FlitError::Control);
        }
        if bits & HEADER_RESERVED != 0 {
            return Err(FlitError::Reserved { slot: 0 });
        }
        Ok(Header68 {
            enables: bits >> 3 & 1 == 1,
            whole: bits >> 4 & 1 == 1,
            formats: [5, 8, 11, 14].map(|at| (bits >> at & 0b111) as u8),
        })
    }
}

/// Why 256 or 68 bytes are not a flit of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FlitError {
    /// It is of the link layer itself.
    #[error("a control flit: it carries no message")]
    Control,
    /// Bits that mean nothing are set.
    #[error("slot {slot}: reserved bits are set")]
    Reserved {
        /// The slot, from 0.
        slot: usize,
    },
    /// No format of CXL.mem in this direction has the code.
    #[error("slot {slot}: format {code} carries nothing of CXL.mem in this direction")]
    Format {
        /// The slot, from 0.
        slot: usize,
        /// The format's code in the header.
        code: u8,
    },
    /// Data where a header has to be, or the other way round.
    #[error(
        "slot {slot}: {}",
        if *expected { "data must follow its header" } else { "data without a header" }
    )]
    Data {
        /// The slot, from 0.
        slot: usize,
        /// Whether data was expected.
        expected: bool,
    },
    /// A place behind an empty one is used.
    #[error("slot {slot}: {channel} behind an empty place")]
    Loose {
        /// The slot, from 0.
        slot: usize,
        /// The channel of the message.
        channel: Channel,
    },
    /// What is there is no message.
    #[error("slot {slot}: {error}")]
    Message {
        /// The slot, from 0.
        slot: usize,
        /// What is wrong with the message.
        error: MessageError,
    },
    /// More messages of a channel than a receiver must take at once.
    #[error("slot {slot}: {channel} comes too often")]
    Rate {
        /// The slot, from 0.
        slot: usize,
        /// The channel of the message.
        channel: Channel,
    },
    /// A slot for several data headers with one, or with none in its first place, or a second
    /// slot with data headers in a 68-byte flit.
    #[error("slot {slot}: data headers stand where they must not")]
    DataHeaders {
        /// The slot, from 0.
        slot: usize,
    },
    /// The header of a 68-byte flit contradicts the data headers in it.
    #[error("the header's {field} contradicts the data headers of the flit")]
    Header {
        /// `Sz` or `BE`.
        field: &'static str,
    },
    /// A header of data while more than 16 slots of data are on their way.
    #[error("slot {slot}: a data header while more than 16 slots of data are to come")]
    Rollover {
        /// The slot, from 0.
        slot: usize,
    },
}

/// Why a message is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// The queue of its channel is full; take flits first.
    #[error("the queue of {channel} is full")]
    Full {
        /// The channel whose queue is full.
        channel: Channel,
    },
    /// It goes the other way.
    #[error("{channel} does not go {direction:?}")]
    Direction {
        /// The channel of the message.
        channel: Channel,
        /// The direction of the flits.
        direction: Direction,
    },
    /// Flits of this kind cannot carry it.
    #[error(transparent)]
    Message(#[from] MessageError),
}
