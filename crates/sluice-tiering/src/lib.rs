//! Which pages of a device belong in host memory.
//!
//! The simulated host and the live runtime ask the same rules: when a page is hot enough to come
//! in ([`Heat`], [`Refaults`]), and which page leaves for it ([`Ages`]). How pages move is theirs.
#![forbid(unsafe_code)]

mod ages;
mod heat;
mod refaults;

pub use ages::{Ages, Frames};
pub use heat::Heat;
pub use refaults::Refaults;
