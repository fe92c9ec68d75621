//! Latencies as a run tells them.

use serde::Serialize;
use sluice_abi::{BUCKETS, Hist};
use sluice_units::bucket_middle;
use std::sync::atomic::Ordering::Relaxed;

/// What is printed of a distribution, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Values.
    pub count: u64,
    /// Their mean, from the exact sum.
    pub mean: f64,
    /// Median, to within 0.4 % like the other percentiles.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// Largest value, exact.
    pub max: u64,
}

/// A copy of a histogram in shared memory.
#[derive(Clone, Debug)]
pub struct Latencies {
    counts: Vec<u64>,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies {
            counts: vec![0; BUCKETS],
            sum_ns: 0,
            min_ns: 0,
            max_ns: 0,
        }
    }
}

impl Latencies {
    /// Copies a histogram that may still be written.
    pub fn copy(hist: &Hist) -> Latencies {
        Latencies {
            counts: hist.buckets.iter().map(|b| b.load(Relaxed)).collect(),
            sum_ns: hist.sum_ns.load(Relaxed),
            min_ns: hist.min_ns.load(Relaxed),
            max_ns: hist.max_ns.load(Relaxed).max(hist.min_ns.load(Relaxed)),
        }
    }

    /// What was recorded after an earlier copy of the same histogram. Least and largest value are
    /// those of their buckets.
    pub fn since(&self, earlier: &Latencies) -> Latencies {
        let counts = self.counts.iter().zip(&earlier.counts);
        let counts: Vec<u64> = counts.map(|(now, then)| now - then).collect();
        let first = counts.iter().position(|n| *n > 0);
        let last = counts.iter().rposition(|n| *n > 0);
        Latencies {
            sum_ns: self.sum_ns - earlier.sum_ns,
            min_ns: first.map_or(0, bucket_middle),
            max_ns: last.map_or(0, bucket_middle),
            counts,
        }
    }

    /// Values recorded.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The value below or at which a share of the values lie, in parts per thousand.
    pub fn percentile(&self, per_mille: u64) -> u64 {
        let count = self.count();
        let rank = (count * per_mille).div_ceil(1_000).max(1);
        let mut seen = 0;
        for (bucket, n) in self.counts.iter().enumerate() {
            seen += n;
            if seen >= rank {
                return bucket_middle(bucket).clamp(self.min_ns, self.max_ns);
            }
        }
        0
    }

    /// Count, mean and percentiles.
    pub fn summary(&self) -> Summary {
        let count = self.count();
        if count == 0 {
            return Summary::default();
        }
        Summary {
            count,
            mean: self.sum_ns as f64 / count as f64,
            p50: self.percentile(500),
            p90: self.percentile(900),
            p99: self.percentile(990),
            p999: self.percentile(999),
            max: self.max_ns,
        }
    }

    /// Value in ns and count of every bucket that has any, in rising order.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let all = self.counts.iter().enumerate().filter(|(_, n)| **n > 0);
        all.map(|(bucket, n)| (bucket_middle(bucket), *n))
    }

    /// Count of one bucket.
    pub fn at(&self, bucket: usize) -> u64 {
        self.counts[bucket]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_values() {
        let hist = Hist {
            count: 0.into(),
            sum_ns: 0.into(),
            min_ns: 0.into(),
            max_ns: 0.into(),
            buckets: std::array::from_fn(|_| 0.into()),
        };
        let mut values: Vec<u64> = (0..5_000).map(|i| (i * 7919 % 5_000) * 37 + 11).collect();
        values.iter().for_each(|v| hist.record(*v));
        values.sort_unstable();
        let copy = Latencies::copy(&hist);
        for (per_mille, rank) in [(500, 2_499), (900, 4_499), (990, 4_949), (999, 4_994)] {
            let (ours, exact) = (copy.percentile(per_mille), values[rank]);
            assert!(
                ours.abs_diff(exact) * 200 <= exact,
                "p{per_mille}: {ours} against {exact}"
            );
        }
        let sum: u64 = values.iter().sum();
        assert_eq!(copy.summary().mean, sum as f64 / 5_000.0);
        assert_eq!(copy.summary().max, values[4_999]);
    }

    #[test]
    fn what_came_since_is_what_was_recorded_since() {
        let hist = |values: &[u64]| {
            let mut all = Latencies::default();
            for v in values {
                all.counts[sluice_units::bucket_of(*v)] += 1;
                all.sum_ns += v;
            }
            all
        };
        let (before, after) = (hist(&[100, 90_000]), hist(&[100, 200, 40_000, 90_000]));
        let since = after.since(&before).summary();
        assert_eq!((since.count, since.mean), (2, 20_100.0));
        assert!(since.max.abs_diff(40_000) < 200, "{since:?}");
        assert_eq!(after.since(&after).summary(), Summary::default());
    }

    #[test]
    fn nothing_recorded_is_all_zeros() {
        assert_eq!(Latencies::default().summary(), Summary::default());
    }
}
