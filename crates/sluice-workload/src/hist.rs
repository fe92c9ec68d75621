//! Log-linear latency histograms that can live in static memory.
//!
//! 128 sub-buckets an octave bound the relative error of a bucket's midpoint to 1/256.
//! A histogram is all zero bits when empty, so a `static` one costs no file space and
//! no heap: recording never touches memory that an emulated device might hold.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::Serialize;
use sluice_units::{bucket_middle, bucket_of, buckets_below};

/// Values of 2^40 ns (18 minutes) and more share the last bucket; `max` stays exact.
const BUCKETS: usize = buckets_below(40);
const NS_PER_US: u64 = 1_000;

/// A histogram of nanosecond latencies.
///
/// [`Histogram::record`] may have one writer at a time; any number may read.
pub struct Histogram {
    counts: [AtomicU64; BUCKETS],
    count: AtomicU64,
    sum: AtomicU64,
    max: AtomicU64,
}

/// The figures reported of one histogram, all latencies in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Values recorded.
    pub count: u64,
    /// Exact arithmetic mean.
    pub mean: f64,
    /// Median (midpoint of its bucket, as are the other percentiles).
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// Exact largest value.
    pub max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram, usable as the initial value of a `static`.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            counts: [const { AtomicU64::new(0) }; BUCKETS],
            count: AtomicU64::new(0),
            sum: AtomicU64::new(0),
            max: AtomicU64::new(0),
        }
    }

    /// Counts one latency. One writer at a time: plain loads and stores, no locked bus.
    #[inline]
    pub fn record(&self, ns: u64) {
        add(&self.counts[bucket_of(ns).min(BUCKETS - 1)], 1);
        add(&self.count, 1);
        add(&self.sum, ns);
        if ns > self.max.load(Relaxed) {
            self.max.store(ns, Relaxed);
        }
    }

    /// Adds every count of `other` to this one. One writer at a time, as for `record`.
    pub fn merge(&self, other: &Self) {
        for (mine, theirs) in self.counts.iter().zip(&other.counts) {
            let n = theirs.load(Relaxed);
            if n > 0 {
                add(mine, n);
            }
        }
        add(&self.count, other.count.load(Relaxed));
        add(&self.sum, other.sum.load(Relaxed));
        let max = self.max.load(Relaxed).max(other.max.load(Relaxed));
        self.max.store(max, Relaxed);
    }

    /// Empties the histogram.
    pub fn clear(&self) {
        for bucket in &self.counts {
            bucket.store(0, Relaxed);
        }
        self.count.store(0, Relaxed);
        self.sum.store(0, Relaxed);
        self.max.store(0, Relaxed);
    }

    /// Values recorded so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// The smallest bucket at or below which `per_10_000 / 10_000` of the values
    /// lie (nearest rank), as the bucket's midpoint and never above the exact maximum.
    /// Zero when empty.
    #[must_use]
    pub fn percentile(&self, per_10_000: u64) -> u64 {
        let count = u128::from(self.count());
        let rank = (count * u128::from(per_10_000)).div_ceil(10_000).max(1);
        let mut seen = 0_u128;
        for (index, bucket) in self.counts.iter().enumerate() {
            seen += u128::from(bucket.load(Relaxed));
            if seen >= rank {
                return bucket_middle(index).min(self.max.load(Relaxed));
            }
        }
        0
    }

    /// The reported figures.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let count = self.count();
        Summary {
            count,
            mean: self.sum.load(Relaxed) as f64 / count.max(1) as f64,
            p50: self.percentile(5_000),
            p90: self.percentile(9_000),
            p99: self.percentile(9_900),
            p999: self.percentile(9_990),
            max: self.max.load(Relaxed),
        }
    }

    /// Share of the values below one microsecond, 0 to 1 (exact: 1000 is a bucket's edge).
    #[must_use]
    pub fn below_1us(&self) -> f64 {
        let below: u64 = self.counts[..bucket_of(NS_PER_US)]
            .iter()
            .map(|c| c.load(Relaxed))
            .sum();
        below as f64 / self.count().max(1) as f64
    }

    /// Non-empty buckets as `(midpoint in ns, count)`, in rising order.
    #[must_use]
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        let counts = self.counts.iter().map(|c| c.load(Relaxed)).enumerate();
        counts
            .filter(|(_, n)| *n > 0)
            .map(|(index, n)| (bucket_middle(index), n))
            .collect()
    }
}

fn add(cell: &AtomicU64, n: u64) {
    cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sluice_units::bucket_floor;

    fn filled(values: &[u64]) -> Box<Histogram> {
        let hist = Box::new(Histogram::new());
        values.iter().for_each(|v| hist.record(*v));
        hist
    }

    #[test]
    fn one_microsecond_is_an_edge() {
        assert_eq!(bucket_floor(bucket_of(NS_PER_US)), NS_PER_US);
        let hist = filled(&[999, 999, 999, 1_000]);
        assert!((hist.below_1us() - 0.75).abs() < 1e-12);
    }

    #[test]
    fn empty_is_all_zero() {
        let summary = Histogram::new().summary();
        assert_eq!(
            (summary.count, summary.p50, summary.p999, summary.max),
            (0, 0, 0, 0)
        );
        assert_eq!(summary.mean.to_bits(), 0);
    }

    #[test]
    fn huge_values_keep_an_exact_maximum() {
        let hist = filled(&[1 << 50]);
        assert_eq!(hist.summary().max, 1 << 50);
        assert_eq!(hist.buckets().len(), 1);
    }

    proptest! {
        #[test]
        fn percentiles_match_a_sorted_vector(
            values in prop::collection::vec(0_u64..50_000_000, 1..800),
            per_10_000 in 1_u64..=10_000,
        ) {
            let hist = filled(&values);
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let rank = (sorted.len() as u64 * per_10_000).div_ceil(10_000).max(1) as usize;
            let exact = sorted[rank - 1];
            let got = hist.percentile(per_10_000);
            prop_assert!(got.abs_diff(exact) <= exact / 256 + 1, "{got} for {exact}");
        }

        #[test]
        fn merging_is_recording_both(
            left in prop::collection::vec(0_u64..5_000_000, 0..200),
            right in prop::collection::vec(0_u64..5_000_000, 0..200),
        ) {
            let merged = filled(&left);
            merged.merge(&filled(&right));
            let both: Vec<u64> = left.iter().chain(&right).copied().collect();
            let direct = filled(&both);
            prop_assert_eq!(merged.summary(), direct.summary());
            prop_assert_eq!(merged.buckets(), direct.buckets());
            let sum: u64 = both.iter().sum();
            let mean = sum as f64 / both.len().max(1) as f64;
            prop_assert!((merged.summary().mean - mean).abs() < 1e-6);
        }
    }
}
