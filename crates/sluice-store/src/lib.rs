//! Persistent stores: what a device holds, in a file that outlives the program.
//!
//! What is in the file byte by byte stands in `docs/store-format.md`. [`Store`] writes it so that
//! what was flushed is there after any crash; [`check`] finds whether a file is whole; [`Keeper`]
//! moves pages between the device's memory and its store.

#![forbid(unsafe_code)]

mod check;
mod error;
mod file;
mod format;
mod keeper;
mod lock;
mod medium;
mod store;

pub use check::{Report, check, shape_of};
pub use error::Error;
pub use file::{create, is_to_be_made, open, open_to_look, set_aside};
pub use format::{NAME_BYTES, Shape, VERSION};
pub use keeper::{Keeper, Kept, LoadError, Pages};
pub use lock::lock;
pub use medium::Medium;
pub use store::Store;

/// Bytes of a page.
pub const PAGE: usize = sluice_region::PAGE;
