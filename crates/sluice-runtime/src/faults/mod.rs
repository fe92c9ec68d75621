//! How a fault reaches the engine, and how its thread waits.

pub mod active;
pub mod entry;
pub mod handler;
pub mod pace;
pub mod signal;
#[cfg(any(target_arch = "aarch64", test))]
pub mod syndrome;
pub mod woken;
