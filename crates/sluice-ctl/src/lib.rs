//! Commands for a device while it runs, on the host and in a guest.

mod command;
mod map;
mod range;
mod stats;
mod tell;

pub use command::{CtlCommand, CtlError, Outcome, Ranges, run};
pub use range::{Span, parse_span};
