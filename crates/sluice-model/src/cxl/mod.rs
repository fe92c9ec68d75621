//! CXL.mem: where an address lives.
//!
//! Section numbers are those of the CXL specification, revision 3.1.

mod hdm;
mod home;

pub use hdm::{GRANULARITIES, HdmDecoder, MAX_WAYS, WAYS};
pub use home::{DECODER_ALIGNMENT, Home, HomeAgent, HomeError, Window};
