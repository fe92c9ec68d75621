//! Streams of accesses, by one line of text such as `chase:size=64MiB,stride=4096`.
//!
//! They are the accesses of programs that need no host: a stream is that of the program without
//! running it.
#![forbid(unsafe_code)]

pub mod access;
mod error;
mod length;
pub mod order;
pub mod plan;
mod spec;
pub mod ycsb;
pub mod zipf;

pub use access::{Access, Stream};
pub use error::BadValue;
pub use spec::{Keys, PATTERNS, Spec, SpecError, parse_spec, size};
