//! Simulated requesters in front of the device model, in virtual time.
//!
//! [`run`] drives a device with one access stream for each requester. What the device sees of the
//! accesses is a choice: all of them, or only the misses, as it is when real programs run and
//! a mapped page is reached without a trap. [`traffic()`] has threads that keep several accesses
//! under way, for bandwidth, and [`files()`] threads that reach the same data as a file. [`Bulk`]
//! is asked by arrays of accesses.
#![forbid(unsafe_code)]

mod block_cache;
mod bulk;
mod closed_loop;
mod files;
mod mmu;
mod optimum;
mod page_cache;
mod pages;
mod readahead;
pub mod recording;
mod threads;
mod traffic;
mod work;

pub use bulk::{Accesses, Blocks, Bulk};
pub use closed_loop::{Access, Asked, BlockAccess, Interval, Options, SimResult, Visibility, run};
pub use files::{Door, FileTraffic, HostCosts, files};
pub use optimum::optimum;
pub use page_cache::{Advice, PageCache, Pages};
pub use pages::replay;
pub use readahead::Limits;
pub use traffic::{TrafficResult, traffic};
pub use work::{Start, Store, Traffic, Walk};
