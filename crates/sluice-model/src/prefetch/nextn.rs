//! Next-N prefetching: a miss brings in the pages that follow it.

use super::{Outcome, Picks, PolicyInfo, Prefetch, Reach, Seen};
use sluice_params::RawConfig;

/// Brings in the N pages that follow a missed one. A first use of a prefetched page asks for
/// nothing, so a sequential scan misses every N + 1 pages.
pub struct NextN;

impl Prefetch for NextN {
    const INFO: PolicyInfo = PolicyInfo {
        name: "nextn",
        meaning: "on a miss, also brings in the prefetch.degree pages that follow",
        source: "Cylon section 5.6, Table 2",
        uses_hits: false,
    };

    fn build(_given: &RawConfig) -> NextN {
        NextN
    }

    fn access(&mut self, seen: Seen, reach: Reach, picks: &mut Picks) {
        if seen.outcome == Outcome::Miss {
            let lpn = u64::from(seen.lpn);
            (1..=u64::from(reach.degree)).for_each(|step| picks.push(lpn + step));
        }
    }
}
