//! The bits of a message: which field lies where, in flits of each kind.
//!
//! One table for each channel and kind of flit drives encoding, decoding and lengths. Fields are
//! listed from bit 0 up. Widths are those of CXL 3.1, Tables 3-34, 3-40, 3-44, 3-46, 3-49 and
//! 3-52; orders were compared with a public implementation in SystemVerilog for 68-byte and
//! 256-byte flits. Under port-based routing the fields are in the order of those tables, which have
//! SPID before DPID everywhere: Figure 4-67 shows that S2M DRS follows its table there, and the
//! lengths are Table 4-14's. The figures of the other five messages could not be looked up.

use super::opcode::Channel;
use std::fmt;

/// The three kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layout {
    /// Of 68-byte flits. Has no back-invalidation.
    B68,
    /// Of 256-byte flits, with hierarchy-based routing.
    B256,
    /// Of 256-byte flits, with port-based routing.
    Pbr,
}

impl Layout {
    /// What messages call it.
    pub const fn name(self) -> &'static str {
        match self {
            Layout::B68 => "68-byte flits",
            Layout::B256 => "256-byte flits",
            Layout::Pbr => "256-byte flits under port-based routing",
        }
    }
}

/// A field of some message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// Something is there.
    Valid,
    /// Which message of its channel it is.
    Opcode,
    /// What the device does to its own cached copies.
    SnpType,
    /// What the metadata is about.
    MetaField,
    /// The value of the metadata.
    MetaValue,
    /// The request's tag.
    Tag,
    /// Address\[5\]: which half of a line is critical.
    Half,
    /// Address\[51:6\]: which line it is about.
    Address,
    /// Whether the data is known to be wrong.
    Poison,
    /// A slot of byte enables follows the data (TRP, once BEP).
    Trailer,
    /// Which logical device of the endpoint is meant.
    LdId,
    /// Port of the sender.
    Spid,
    /// Port of the receiver.
    Dpid,
    /// The key under which the data is encrypted.
    Ckid,
    /// The traffic class, for quality of service.
    Tc,
    /// Load of the device.
    DevLoad,
    /// The device that snoops.
    BiId,
    /// The snoop's tag.
    BiTag,
    /// Address\[7:6\]: which line of a block of four.
    LowAddr,
    /// Bits that are sent as 0.
    Reserved,
}

/// How many there are.
pub(super) const FIELDS: usize = Field::Reserved as usize + 1;

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Field::Half => "Address[5]",
            Field::Address => "Address[51:6]",
            Field::LdId => "LD-ID",
            Field::Spid => "SPID",
            Field::Dpid => "DPID",
            Field::Ckid => "CKID",
            Field::Tc => "TC",
            Field::BiId => "BI-ID",
            Field::BiTag => "BITag",
            Field::LowAddr => "LowAddr",
            Field::Trailer => "TRP",
            Field::Reserved => "the reserved bits",
            other => return write!(f, "{other:?}"),
        })
    }
}

/// A field and its bits.
pub(super) type Part = (Field, u8);

/// The beginning of both requests.
const HEAD: [Part; 6] = [
    (Field::Valid, 1),
    (Field::Opcode, 4),
    (Field::SnpType, 3),
    (Field::MetaField, 2),
    (Field::MetaValue, 2),
    (Field::Tag, 16),
];

/// The beginning of both responses.
const BACK: [Part; 5] = [
    (Field::Valid, 1),
    (Field::Opcode, 3),
    (Field::MetaField, 2),
    (Field::MetaValue, 2),
    (Field::Tag, 16),
];

/// The beginning of a snoop and of its response.
const SNOOP: [Part; 2] = [(Field::Valid, 1), (Field::Opcode, 4)];

/// The fields of a message in order: its beginning and the rest; none if there is no such message.
pub(super) fn parts(channel: Channel, layout: Layout) -> (&'static [Part], &'static [Part]) {
    let rest = match layout {
        Layout::B68 => parts_b68(channel),
        Layout::B256 => parts_b256(channel),
        Layout::Pbr => parts_pbr(channel),
    };
    let head: &'static [Part] = match channel {
        Channel::Req | Channel::RwD => &HEAD,
        Channel::Ndr | Channel::Drs => &BACK,
        Channel::BiRsp | Channel::BiSnp => &SNOOP,
    };
    match rest.is_empty() {
        true => (&[], rest),
        false => (head, rest),
    }
}

fn parts_b68(channel: Channel) -> &'static [Part] {
    use Field::*;
    match channel {
        Channel::Req => &[(Half, 1), (Address, 46), (Tc, 2), (LdId, 4), (Reserved, 6)],
        Channel::RwD => &[
            (Address, 46),
            (Poison, 1),
            (Tc, 2),
            (LdId, 4),
            (Reserved, 6),
        ],
        Channel::BiRsp | Channel::BiSnp => &[],
        Channel::Ndr => &[(LdId, 4), (DevLoad, 2)],
        Channel::Drs => &[(Poison, 1), (LdId, 4), (DevLoad, 2), (Reserved, 9)],
    }
}

fn parts_b256(channel: Channel) -> &'static [Part] {
    use Field::*;
    match channel {
        Channel::Req => &[(Address, 46), (LdId, 4), (Ckid, 13), (Reserved, 7), (Tc, 2)],
        Channel::RwD => &[
            (Address, 46),
            (Poison, 1),
            (Trailer, 1),
            (LdId, 4),
            (Ckid, 13),
            (Reserved, 9),
            (Tc, 2),
        ],
        Channel::BiRsp => &[(BiId, 12), (BiTag, 12), (LowAddr, 2), (Reserved, 9)],
        Channel::BiSnp => &[(BiId, 12), (BiTag, 12), (Address, 46), (Reserved, 9)],
        Channel::Ndr => &[(LdId, 4), (DevLoad, 2), (Reserved, 10)],
        Channel::Drs => &[
            (Poison, 1),
            (DevLoad, 2),
            (LdId, 4),
            (Trailer, 1),
            (Reserved, 8),
        ],
    }
}

fn parts_pbr(channel: Channel) -> &'static [Part] {
    use Field::*;
    match channel {
        Channel::Req => &[
            (Address, 46),
            (Spid, 12),
            (Dpid, 12),
            (Ckid, 13),
            (Reserved, 7),
            (Tc, 2),
        ],
        Channel::RwD => &[
            (Address, 46),
            (Poison, 1),
            (Trailer, 1),
            (Spid, 12),
            (Dpid, 12),
            (Ckid, 13),
            (Reserved, 9),
            (Tc, 2),
        ],
        Channel::BiRsp => &[
            (BiTag, 12),
            (LowAddr, 2),
            (Spid, 12),
            (Dpid, 12),
            (Reserved, 9),
        ],
        Channel::BiSnp => &[
            (BiTag, 12),
            (Address, 46),
            (Spid, 12),
            (Dpid, 12),
            (Reserved, 9),
        ],
        Channel::Ndr => &[(DevLoad, 2), (Dpid, 12), (Reserved, 10)],
        Channel::Drs => &[
            (Poison, 1),
            (DevLoad, 2),
            (Dpid, 12),
            (Trailer, 1),
            (Reserved, 8),
        ],
    }
}

/// The bits of a message without its data; 0 where flits of this kind do not carry the channel.
pub fn bits(channel: Channel, layout: Layout) -> u32 {
    let (head, rest) = parts(channel, layout);
    head.iter()
        .chain(rest)
        .map(|&(_, width)| u32::from(width))
        .sum()
}
