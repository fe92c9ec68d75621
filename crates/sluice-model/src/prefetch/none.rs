//! The prefetcher of a device that brings in only what is asked for.

use super::{Picks, PolicyInfo, Prefetch, Reach, Seen};
use sluice_params::RawConfig;

/// Brings in nothing.
pub struct Off;

impl Prefetch for Off {
    const INFO: PolicyInfo = PolicyInfo {
        name: "none",
        meaning: "brings in only what is asked for",
        source: "Cylon section 5.4",
        uses_hits: false,
    };

    fn build(_given: &RawConfig) -> Off {
        Off
    }

    fn access(&mut self, _seen: Seen, _reach: Reach, _picks: &mut Picks) {}
}
