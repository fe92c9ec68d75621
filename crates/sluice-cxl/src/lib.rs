//! The CXL.mem protocol: its messages in flits on a link, and device-managed coherence over them.
//!
//! Section numbers are those of the CXL specification, revision 3.1.
#![forbid(unsafe_code)]

mod codec;
pub mod coherence;
mod error;
mod flit;
mod hdm;
mod home;
mod layout;
mod link;
mod message;
mod opcode;
mod pack;
mod slot;
mod unpack;
mod weighted;

pub use codec::{decode, encode};
pub use error::MessageError;
pub use flit::{Flit, FlitError, FlitMode, MAX_SLOTS, PackError};
pub use hdm::{Arithmetic, GRANULARITIES, GRANULARITY_MIN, HdmDecoder, MAX_WAYS, WAYS};
pub use home::{DECODER_ALIGNMENT, Home, HomeAgent, HomeError, Window};
pub use layout::{Field, Layout, bits};
pub use link::{Cost, FlitLink, LANES, LinkError, Packing, RATES, cost, wire_bytes};
pub use message::{BiRsp, BiSnp, Drs, Line, Message, Meta, Ndr, Req, RwD, blocks};
pub use opcode::{
    BiRspOp, BiSnpOp, Channel, DevLoad, Direction, DrsOp, MetaField, MetaValue, NdrOp, ReqOp,
    RwdOp, SnpType,
};
pub use pack::Packer;
pub use unpack::Unpacker;
pub use weighted::{WEIGHTS, WeightedDecoder};
