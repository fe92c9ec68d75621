//! Traces of memory accesses: the record, the file, its [`Writer`] and its [`Reader`].
//!
//! A file is compressed in blocks that stand alone, with an index for seeking. What is in it byte
//! by byte stands in `docs/trace-format.md`.

#![forbid(unsafe_code)]

mod access;
mod block;
mod column;
pub mod convert;
mod error;
pub mod filter;
pub mod footprint;
mod header;
mod index;
mod reader;
mod reuse;
mod writer;

pub use access::{Access, BLOCK_PIECE, KINDS, Kind};
pub use error::Error;
pub use header::{Header, Order, Space};
pub use reader::{Reader, Unfinished};
pub use reuse::Reuse;
pub use writer::{Summary, Writer};

/// Most accesses of one block.
pub const BLOCK_ACCESSES: usize = 1 << 16;

/// Most CPUs of one trace.
pub const CPUS_MAX: u32 = 1 << 16;
