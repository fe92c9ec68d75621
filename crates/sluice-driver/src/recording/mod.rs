//! What a program asks memory for, recorded behind its caches, and given to a fabric's requesters.

mod record;
mod spread;

pub use record::{FitsCaches, Recorded, Recorder, Recording};
pub use spread::{SPREADS, Spread, SpreadInfo};
