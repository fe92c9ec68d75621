//! What the runtime measures, samples and records.

pub mod costs;
pub mod hit;
pub mod profile;
pub mod record;
pub mod sample;
pub mod stats;
pub mod timed;
pub mod watch;
