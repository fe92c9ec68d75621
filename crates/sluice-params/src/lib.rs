//! Parameters: what can be set, and what was set.
//!
//! A table of [`params!`] declares parameters: the key of each, its kind of value with unit and
//! range, its default, meaning and source, and the field that has its value once the text is read.
//! A parameter with a few named values is an enum that [`choices!`] declares. [`RawConfig`] holds
//! one value for each parameter of a list, each valid for its own parameter; whether all of them
//! can be together is for the list's owner to check.
#![forbid(unsafe_code)]

mod choice;
mod error;
mod kind;
mod param;
mod raw;
mod table;
mod typed;
mod unknown;

pub use choice::{Registered, registry};
pub use error::{ConfigError, nearest};
pub use kind::{Choice, Kind, TIME, Value};
pub use param::{Param, count, in_order};
pub use raw::RawConfig;
pub use typed::{Amount, Declared, OrPath, Typed};
pub use unknown::{keys_with, unknown_key};
