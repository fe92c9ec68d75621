//! Commands for a device while it runs, on the host and in a guest.

pub mod broker;
mod command;
mod error;
mod map;
mod outcome;
mod powercut;
mod range;
mod stats;

pub use command::{CtlCommand, run};
pub use error::CtlError;
pub use outcome::Outcome;
pub use powercut::{PowerCutArgs, power_cut};
