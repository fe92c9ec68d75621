//! What is wrong with a message or its bits.

use super::layout::{Field, Layout};
use super::opcode::Channel;

/// Why a message cannot be sent, or bits are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// Flits of this kind do not carry the channel.
    #[error("{} do not carry {channel}", layout.name())]
    Channel {
        /// The channel that they do not carry.
        channel: Channel,
        /// The kind of flits.
        layout: Layout,
    },
    /// Flits of this kind do not have the opcode.
    #[error("{} do not carry {opcode}", layout.name())]
    Opcode {
        /// The opcode's name in the specification.
        opcode: &'static str,
        /// The kind of flits.
        layout: Layout,
    },
    /// A field has a value that means nothing.
    #[error("{channel}: {field} is {value:#x}, which is reserved")]
    Reserved {
        /// The channel of the message.
        channel: Channel,
        /// The field that has the value.
        field: Field,
        /// The value that was found.
        value: u64,
    },
    /// A value is too large for its field.
    #[error("{channel}: {field} is {value:#x}, in {} it has {width} bits", layout.name())]
    Width {
        /// The channel of the message.
        channel: Channel,
        /// The field that is too narrow.
        field: Field,
        /// The value that does not fit.
        value: u64,
        /// The bits there are: 0 if there is no such field.
        width: u8,
        /// The kind of flits.
        layout: Layout,
    },
    /// The address is no line's, or no half line's where halves have addresses.
    #[error("{channel}: address {addr:#x} is not a multiple of {multiple}")]
    Address {
        /// The channel of the message.
        channel: Channel,
        /// The address in bytes, of which some low bits are set.
        addr: u64,
        /// What it should be a multiple of.
        multiple: u64,
    },
    /// Byte enables without an opcode that has them, or the other way round.
    #[error("{opcode} {}", if *given { "has no byte enables" } else { "needs byte enables" })]
    Enables {
        /// The opcode's name in the specification.
        opcode: &'static str,
        /// Whether there are any.
        given: bool,
    },
    /// Data with an opcode that reserves it.
    #[error("{opcode} has no data: its 64 bytes are zero")]
    Data {
        /// The opcode's name in the specification.
        opcode: &'static str,
    },
    /// Extended metadata, which is not modelled.
    #[error("{channel}: extended metadata is not carried; MetaField is Meta0-State or No-Op")]
    Extended {
        /// The channel of the message.
        channel: Channel,
    },
    /// Bits without the valid bit.
    #[error("{channel}: the valid bit is off")]
    NotValid {
        /// The channel of the message.
        channel: Channel,
    },
}
