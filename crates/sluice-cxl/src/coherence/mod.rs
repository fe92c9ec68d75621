//! Device-managed coherence (HDM-DB): hosts' caches, the device's coherency agent (DCOH) with its
//! snoop filter, and what they say to each other.
//!
//! State machines without time or network: [`Cache`] and [`Dcoh`] take messages and give messages.
//! The carrier of messages decides how long that takes. The network of `net` is one; [`serial`] is
//! the carrier for which nothing takes time.
//!
//! CXL leaves the order of messages open but for completions (NDR) between one device and one
//! host. Everything here holds for any order that the
//! [`Channel`](crate::Channel)s allow: a test goes through all of them for two hosts
//! and two lines.

mod cache;
mod count;
mod dcoh;
mod filter;
mod heap;
mod index;
mod leave;
mod message;
mod monitor;
mod replacement;
mod room;
pub mod serial;
mod snoop;
mod victim;
mod view;
mod wire;

pub use cache::{Access, Cache, CacheOut, CacheSetup};
pub use count::{CacheCount, DcohCount};
pub use dcoh::{Dcoh, DcohAction, DcohSetup, TRACKERS_MAX};
pub use filter::{BLOCK_LINES_MAX, Blocks};
pub use message::{M2s, Message, S2m, Snoop, State, ToDevice, ToHost, Want};
pub use monitor::{Incoherence, Monitor};
pub use replacement::Replacement;
pub use victim::{Facts, Needs, Rank, VICTIMS, Victim};
