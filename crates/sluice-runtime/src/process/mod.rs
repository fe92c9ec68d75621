//! What the runtime finds of its process: descriptors, limits, filters, folders.

pub mod descriptors;
pub mod filter;
pub mod folder;
pub mod limits;
pub mod loaded;
pub mod real_time;
pub mod root;
pub mod sent;
pub mod tasks;
pub mod witness;
