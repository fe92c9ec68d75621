//! Units of the device model: picoseconds, bytes, page numbers and what is kept for each, ratios,
//! seeded random streams.
//!
//! Everything here is an integer. Text with units (`40us`, `4.8GB`, `5%`) is read and written
//! with integer arithmetic, so a value survives a trip through text exactly.
#![forbid(unsafe_code)]

mod bandwidth;
mod bits;
mod buckets;
mod bytes;
mod count;
mod hash;
mod index;
mod page;
mod printable;
mod ratio;
mod rng;
mod text;
mod time;

pub use bandwidth::parse_bandwidth;
pub use bits::Bits;
pub use buckets::{
    ALL_BUCKETS, SUB_BUCKETS, bucket_floor, bucket_middle, bucket_of, buckets_below,
};
pub use bytes::{Bytes, round_bytes};
pub use count::parse_count;
pub use hash::Fnv;
pub use index::{IndexType, Links, Table};
pub use page::{LINE_BYTES, Lpn, PAGE_BYTES, PageLine, Ppn, Slot};
pub use printable::printable;
pub use ratio::Ratio;
pub use rng::{Rng, SPLITMIX_STEP, finish, seed_of, splitmix};
pub use text::ParseUnitError;
pub use time::{ClockEnd, Ps};
