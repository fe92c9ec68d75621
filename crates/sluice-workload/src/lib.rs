//! Plain programs and access generators that know nothing of the emulator.
//!
//! The programs measure and check memory or a server that they believe to be ordinary. The
//! access streams describe the same programs without running them.

mod access;
mod chase;
mod command;
mod error;
mod hist;
mod memory;
mod order;
mod plan;
mod report;
mod spec;
mod timer;
mod zipf;

pub use access::{Access, Stream};
pub use command::{WorkloadCommand, run};
pub use error::{BadValue, Error};
pub use spec::{Spec, SpecError, parse_spec};
