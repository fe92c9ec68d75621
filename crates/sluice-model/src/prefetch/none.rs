//! No prefetching.

use super::{Outcome, Picks, PolicyInfo, Prefetch};

/// Brings in nothing.
pub struct Off;

impl Prefetch for Off {
    const INFO: PolicyInfo = PolicyInfo {
        name: "none",
        meaning: "brings in only what is asked for",
        source: "Cylon section 5.4",
        uses_hits: false,
    };

    fn build(_degree: u32) -> Off {
        Off
    }

    fn access(&mut self, _lpn: u64, _outcome: Outcome, _picks: &mut Picks) {}
}
