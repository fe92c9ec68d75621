//! The device as a disk of a guest: virtio-blk, served by vhost-user.
//!
//! QEMU connects to a socket and hands over the guest's memory and its queue of requests. A thread
//! takes each request, moves its bytes between the guest and the device's memory, and asks the
//! device when it is done ([`Door`]). The guest hears of the end at that time. The same bytes are
//! the guest's memory window: what one of them writes the other reads.

#![forbid(unsafe_code)]

mod backend;
mod disk;
mod door;
mod error;
mod figures;
mod guest;
mod intake;
mod power;
mod request;
mod server;
mod vring;
mod worker;

pub use disk::Disk;
pub use door::{Door, DoorError, RingDoor};
pub use error::Error;
pub use figures::{Figures, Latency};
pub use power::Power;
pub use server::{Listening, Serving};

/// Bytes of a block: a page of the device.
pub const BLOCK: u64 = sluice_region::PAGE as u64;

/// Nanoseconds of `CLOCK_MONOTONIC`, the clock of the device.
fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
