//! The control ring for those who may not open it: `sluice-guest serve` answers them over a Unix
//! socket, and [`ask`] is the other end.
//!
//! A client is believed nothing. It sends one message of bounded length in bounded time, which the
//! broker reads as words of a command; what a user may have at once is bounded too. So one that
//! stalls, dies or lies has spent its own connection, and nobody else's.

mod allow;
mod client;
mod error;
mod listen;
mod serve;
mod wire;

pub use allow::Allow;
pub use client::ask;
pub use error::BrokerError;
pub use listen::{Access, Listening};
pub use serve::{Limits, Serving};

/// Where the broker is by default.
pub const SOCKET: &str = "/run/sluice-guest.sock";
