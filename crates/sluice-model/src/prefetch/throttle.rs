//! Feedback throttle: how eager the prefetcher may be, from how its prefetches fare.
//!
//! Srinath et al., HPCA 2007, Tables 1 and 2. Their insertion policy, which
//! chooses the place of a prefetched page in an LRU stack, is not part of it: eviction policies
//! here have no such place in common.

use super::{Outcome, Reach};
use crate::stats::Stats;
use sluice_params::Kind;
use sluice_units::{Lpn, Ratio};

sluice_params::params! {
    /// The feedback throttle.
    pub struct ThrottleParams {
        interval: u32 {
            key: "prefetch.throttle_interval",
            kind: Kind::Count { min: 1, max: 1 << 30 },
            default: "8192",
            meaning: "evictions between two decisions of the throttle",
            source: "Srinath et al., HPCA 2007: 8192, half the blocks of their cache",
        }
        accuracy_high: Ratio {
            key: "prefetch.accuracy_high",
            kind: Kind::Share { max_percent: 100 },
            default: "75%",
            meaning: "used of issued prefetches from which accuracy is high",
            source: "Srinath et al., HPCA 2007: 75 %",
        }
        accuracy_low: Ratio {
            key: "prefetch.accuracy_low",
            kind: Kind::Share { max_percent: 100 },
            default: "40%",
            meaning: "used of issued prefetches below which accuracy is low",
            source: "Srinath et al., HPCA 2007: 40 %",
        }
        lateness: Ratio {
            key: "prefetch.lateness",
            kind: Kind::Share { max_percent: 100 },
            default: "1%",
            meaning: "late of used prefetches above which they are late",
            source: "Srinath et al., HPCA 2007: 1 %",
        }
        pollution: Ratio {
            key: "prefetch.pollution",
            kind: Kind::Share { max_percent: 100 },
            default: "0.5%",
            meaning: "misses on pages that a prefetch pushed out, of all, above which it pollutes",
            source: "Srinath et al., HPCA 2007: 0.5 %",
        }
        filter: u32 {
            key: "prefetch.throttle_filter",
            kind: Kind::Count { min: 1, max: 1 << 24 },
            default: "4096",
            meaning: "entries of the filter that remembers which pages a prefetch pushed out",
            source: "Srinath et al., HPCA 2007: 4096 bits",
        }
    }
}

/// Shares of the configured degree and distance at each level, in sixteenths: the paper's five
/// configurations (distance 4, 8, 16, 32, 64 and degree 1, 1, 2, 4, 4) relative to the last.
const LEVELS: [Reach; 5] = [
    Reach {
        degree: 4,
        distance: 1,
    },
    Reach {
        degree: 4,
        distance: 2,
    },
    Reach {
        degree: 8,
        distance: 4,
    },
    Reach {
        degree: 16,
        distance: 8,
    },
    Reach {
        degree: 16,
        distance: 16,
    },
];
const SHARES: u32 = 16;
/// The paper starts in the middle.
const FIRST_LEVEL: usize = 2;

/// What is counted over an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    issued: u64,
    used: u64,
    late: u64,
    misses: u64,
    pollution: u64,
}

impl Counts {
    /// Half of what was, half of what came: older intervals fade.
    fn fold(&mut self, new: &Counts) {
        let half = |old: &mut u64, new: u64| *old = (*old + new) / 2;
        half(&mut self.issued, new.issued);
        half(&mut self.used, new.used);
        half(&mut self.late, new.late);
        half(&mut self.misses, new.misses);
        half(&mut self.pollution, new.pollution);
    }
}

/// What an interval's end says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Raise,
    Keep,
    Lower,
}

/// The paper's Table 2.
fn verdict(counts: &Counts, given: &ThrottleParams) -> Verdict {
    let Some(accuracy) = Ratio::new(counts.used, counts.issued) else {
        return Verdict::Keep;
    };
    let above = |part: u64, whole: u64, limit: Ratio| {
        Ratio::new(part, whole).is_some_and(|share| share > limit)
    };
    let late = above(counts.late, counts.used, given.lateness);
    let pollutes = above(counts.pollution, counts.misses, given.pollution);
    let high = accuracy >= given.accuracy_high;
    let low = accuracy < given.accuracy_low;
    match (late, pollutes) {
        _ if low && (late || pollutes) => Verdict::Lower,
        (true, true) if !high => Verdict::Lower,
        (true, _) if !low => Verdict::Raise,
        (false, true) => Verdict::Lower,
        _ => Verdict::Keep,
    }
}

/// Decides how eager the prefetcher may be.
pub(super) struct Throttle {
    given: ThrottleParams,
    full: Reach,
    level: usize,
    counts: Counts,
    folded: Counts,
    evictions: u32,
    /// A bit for each hash of a page that a prefetch pushed out.
    pushed_out: Vec<bool>,
}

impl Throttle {
    pub fn new(given: ThrottleParams, full: Reach) -> Throttle {
        Throttle {
            full,
            level: FIRST_LEVEL,
            counts: Counts::default(),
            folded: Counts::default(),
            evictions: 0,
            pushed_out: vec![false; given.filter as usize],
            given,
        }
    }

    /// How eager the prefetcher may be now.
    pub fn reach(&self) -> Reach {
        let share = |whole: u32, share: u32| (whole * share).div_ceil(SHARES);
        let level = LEVELS[self.level];
        Reach {
            degree: share(self.full.degree, level.degree),
            distance: share(self.full.distance, level.distance),
        }
    }

    fn hash(&self, lpn: Lpn) -> usize {
        let (number, len) = (u64::from(lpn), self.pushed_out.len() as u64);
        ((number ^ (number / len)) % len) as usize
    }

    pub fn seen(&mut self, lpn: Lpn, outcome: Outcome) {
        match outcome {
            Outcome::Miss => {
                self.counts.misses += 1;
                let hash = self.hash(lpn);
                self.counts.pollution += u64::from(self.pushed_out[hash]);
            }
            Outcome::FirstUse => self.counts.used += 1,
            Outcome::LateUse => {
                self.counts.used += 1;
                self.counts.late += 1;
            }
        }
    }

    pub fn prefetched(&mut self, lpn: Lpn) {
        self.counts.issued += 1;
        let hash = self.hash(lpn);
        self.pushed_out[hash] = false;
    }

    /// A page left to make room. It counts as pushed out if it had been demanded since it came, and
    /// a prefetch took its place. Ends the interval if it was the last of it.
    pub fn evicted(&mut self, lpn: Lpn, demanded: bool, for_prefetch: bool, stats: &mut Stats) {
        if demanded && for_prefetch {
            let hash = self.hash(lpn);
            self.pushed_out[hash] = true;
        }
        self.evictions += 1;
        if self.evictions == self.given.interval {
            self.evictions = 0;
            self.end_interval(stats);
        }
    }

    fn end_interval(&mut self, stats: &mut Stats) {
        self.folded.fold(&self.counts);
        self.counts = Counts::default();
        let before = self.level;
        match verdict(&self.folded, &self.given) {
            Verdict::Raise => self.level = (before + 1).min(LEVELS.len() - 1),
            Verdict::Lower => self.level = before.saturating_sub(1),
            Verdict::Keep => (),
        }
        stats.prefetch_raised += u64::from(self.level > before);
        stats.prefetch_lowered += u64::from(self.level < before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIVEN: ThrottleParams = ThrottleParams {
        interval: 8,
        accuracy_high: Ratio::percent(75),
        accuracy_low: Ratio::percent(40),
        lateness: Ratio::percent(1),
        pollution: Ratio::percent(1),
        filter: 64,
    };

    /// Table 2 of the paper, row by row, at the thresholds' own values and next to them.
    #[test]
    fn the_twelve_cases_of_the_paper() {
        let (raise, keep, lower) = (Verdict::Raise, Verdict::Keep, Verdict::Lower);
        for (used, cases) in [
            (750, [raise, raise, keep, lower]),
            (749, [raise, lower, keep, lower]),
            (400, [raise, lower, keep, lower]),
            (399, [lower, lower, keep, lower]),
        ] {
            let situations = [(true, false), (true, true), (false, false), (false, true)];
            for ((late, pollutes), expected) in situations.into_iter().zip(cases) {
                let counts = Counts {
                    issued: 1_000,
                    used,
                    late: used / 100 + u64::from(late),
                    misses: 1_000,
                    pollution: 10 + u64::from(pollutes),
                };
                let found = verdict(&counts, &GIVEN);
                assert_eq!(
                    found, expected,
                    "used {used}, late {late}, pollutes {pollutes}"
                );
            }
        }
        assert_eq!(
            verdict(&Counts::default(), &GIVEN),
            keep,
            "nothing prefetched"
        );
    }

    #[test]
    fn older_intervals_fade() {
        let mut folded = Counts::default();
        for expected in [50, 75, 87] {
            folded.fold(&Counts {
                used: 100,
                ..Counts::default()
            });
            assert_eq!(folded.used, expected);
        }
    }
}
