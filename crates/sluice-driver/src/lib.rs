//! Simulated requesters in front of the device model, in virtual time.
//!
//! [`run`] drives a device with one access stream for each requester. What the device sees of the
//! accesses is a choice: all of them, or only the misses, as it is when real programs run and
//! a mapped page is reached without a trap.
#![forbid(unsafe_code)]

mod closed_loop;
mod mmu;
mod optimum;
mod pages;
pub mod recording;

pub use closed_loop::{Access, Interval, Options, SimResult, Visibility, run};
pub use optimum::optimum;
pub use pages::replay;
