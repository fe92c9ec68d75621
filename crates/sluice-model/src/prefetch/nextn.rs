//! Next-N prefetching.

use super::{Outcome, Picks, PolicyInfo, Prefetch};

/// Brings in the N pages that follow a missed one. A first use of a prefetched page asks for
/// nothing, so a sequential scan misses every N + 1 pages.
pub struct NextN {
    degree: u32,
}

impl Prefetch for NextN {
    const INFO: PolicyInfo = PolicyInfo {
        name: "nextn",
        meaning: "on a miss, also brings in the prefetch.degree pages that follow",
        source: "Cylon section 5.6, Table 2",
        uses_hits: false,
    };

    fn build(degree: u32) -> NextN {
        NextN { degree }
    }

    fn access(&mut self, lpn: u64, outcome: Outcome, picks: &mut Picks) {
        if outcome == Outcome::Miss {
            (1..=u64::from(self.degree)).for_each(|step| picks.push(lpn + step));
        }
    }
}
