//! CXL.mem: the messages, how they are packed into flits and how long that takes on a link, and
//! where an address lives.
//!
//! Section numbers are those of the CXL specification, revision 3.1.

mod codec;
mod error;
mod hdm;
mod home;
mod layout;
mod message;
mod opcode;

pub use codec::{decode, encode};
pub use error::MessageError;
pub use hdm::{GRANULARITIES, HdmDecoder, MAX_WAYS, WAYS};
pub use home::{DECODER_ALIGNMENT, Home, HomeAgent, HomeError, Window};
pub use layout::{Field, Layout, bits};
pub use message::{BiRsp, BiSnp, Drs, Line, Message, Meta, Ndr, Req, RwD, blocks};
pub use opcode::{
    BiRspOp, BiSnpOp, Channel, DevLoad, Direction, DrsOp, MetaField, MetaValue, NdrOp, ReqOp,
    RwdOp, SnpType,
};
