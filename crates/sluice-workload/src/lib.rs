//! Plain programs and access generators that know nothing of the emulator.
//!
//! The programs measure and check memory or a server that they believe to be ordinary. The
//! access streams describe the same programs without running them.

mod access;
mod chase;
mod command;
mod error;
mod hist;
mod kv;
mod memory;
mod order;
mod pattern;
mod plan;
mod redis;
mod report;
mod resp;
mod spec;
mod store;
mod timer;
mod value;
mod ycsb;
mod zipf;

pub use access::{Access, Stream};
pub use command::{WorkloadCommand, run};
pub use error::{BadValue, Error};
pub use spec::{Spec, SpecError, parse_spec};
