//! A histogram that is read while it is written.

use crate::histogram::{Histogram, bucket_at};
use crate::summary::Summary;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sluice_units::{bucket_middle, bucket_of};

/// Counts of latencies by buckets of nanoseconds, in memory that threads or processes share, or
/// that must be there before there is a heap. All zeros when empty, so that a `static` one costs
/// no space in a file.
///
/// One thread at a time may write, for no instruction is locked: that would cost a trap more than
/// its model does. Any number may read.
#[repr(C)]
#[derive(Debug)]
pub struct AtomicHistogram<const BUCKETS: usize> {
    count: AtomicU64,
    sum_ns: AtomicU64,
    /// Nothing while `count` is 0.
    min_ns: AtomicU64,
    max_ns: AtomicU64,
    counts: [AtomicU64; BUCKETS],
}

impl<const BUCKETS: usize> Default for AtomicHistogram<BUCKETS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const BUCKETS: usize> AtomicHistogram<BUCKETS> {
    /// An empty histogram, usable as the initial value of a `static`.
    pub const fn new() -> Self {
        Self {
            count: AtomicU64::new(0),
            sum_ns: AtomicU64::new(0),
            min_ns: AtomicU64::new(0),
            max_ns: AtomicU64::new(0),
            counts: [const { AtomicU64::new(0) }; BUCKETS],
        }
    }

    /// Counts one latency. What is above the last bucket falls into it.
    #[inline]
    pub fn record(&self, ns: u64) {
        self.widen(ns, ns);
        add(&self.sum_ns, ns);
        add(&self.counts[bucket_of(ns).min(BUCKETS - 1)], 1);
        add(&self.count, 1);
    }

    #[inline]
    fn widen(&self, min_ns: u64, max_ns: u64) {
        if self.count() == 0 || min_ns < self.min_ns.load(Relaxed) {
            self.min_ns.store(min_ns, Relaxed);
        }
        if max_ns > self.max_ns.load(Relaxed) {
            self.max_ns.store(max_ns, Relaxed);
        }
    }

    /// Adds every count of `other` to this one.
    pub fn merge(&self, other: &Self) {
        if other.count() == 0 {
            return;
        }
        self.widen(other.min_ns.load(Relaxed), other.max_ns.load(Relaxed));
        for (mine, theirs) in self.counts.iter().zip(&other.counts) {
            let count = theirs.load(Relaxed);
            if count > 0 {
                add(mine, count);
            }
        }
        add(&self.sum_ns, other.sum_ns.load(Relaxed));
        add(&self.count, other.count());
    }

    /// Empties the histogram.
    pub fn clear(&self) {
        let head = [&self.count, &self.sum_ns, &self.min_ns, &self.max_ns];
        head.into_iter()
            .chain(&self.counts)
            .for_each(|cell| cell.store(0, Relaxed));
    }

    /// Latencies counted so far.
    pub fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// A copy, of something that may still be written.
    pub fn read(&self) -> Histogram {
        Histogram::counted(
            self.counts(),
            self.sum_ns.load(Relaxed),
            self.min_ns.load(Relaxed),
            self.max_ns.load(Relaxed),
        )
    }

    /// The figures, without an allocation. A percentile is the middle of its bucket even where that
    /// is below the least latency; those of a copy lie within both extremes.
    pub fn summary(&self) -> Summary<u64> {
        let (count, max) = (self.count(), self.max_ns.load(Relaxed));
        let mean = self.sum_ns.load(Relaxed) as f64 / count.max(1) as f64;
        Summary::new(count, mean, max, |per_million| {
            let bucket = bucket_at(self.counts(), count, per_million);
            bucket.map_or(0, |bucket| bucket_middle(bucket).min(max))
        })
    }

    /// The share of the latencies in buckets wholly below `ns`; exact if a bucket begins there.
    pub fn share_below(&self, ns: u64) -> f64 {
        let below: u64 = self.counts().take(bucket_of(ns)).sum();
        below as f64 / self.count().max(1) as f64
    }

    /// The buckets that hold something: (their middle in nanoseconds, count), in order.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        let counts = self.counts().enumerate();
        counts
            .filter(|(_, count)| *count > 0)
            .map(|(bucket, count)| (bucket_middle(bucket), count))
    }

    fn counts(&self) -> impl Iterator<Item = u64> {
        self.counts.iter().map(|count| count.load(Relaxed))
    }
}

fn add(cell: &AtomicU64, n: u64) {
    cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sluice_units::{bucket_floor, buckets_below};

    type Atomic = AtomicHistogram<{ buckets_below(40) }>;
    const NS_PER_US: u64 = 1_000;

    fn filled(values: &[u64]) -> Box<Atomic> {
        let histogram = Box::new(Atomic::new());
        values.iter().for_each(|ns| histogram.record(*ns));
        histogram
    }

    #[test]
    fn one_microsecond_is_an_edge() {
        assert_eq!(bucket_floor(bucket_of(NS_PER_US)), NS_PER_US);
        let histogram = filled(&[999, 999, 999, 1_000]);
        assert!((histogram.share_below(NS_PER_US) - 0.75).abs() < 1e-12);
    }

    #[test]
    fn empty_is_all_zero() {
        let histogram = Atomic::new();
        assert_eq!(histogram.summary(), Summary::default());
        assert_eq!(histogram.read(), Histogram::default());
    }

    #[test]
    fn huge_values_keep_an_exact_maximum() {
        let histogram = filled(&[1 << 50]);
        assert_eq!(histogram.summary().max, 1 << 50);
        assert_eq!(histogram.read().summary_in_ns().max, 1 << 50);
        assert_eq!(histogram.buckets().count(), 1);
    }

    #[test]
    fn what_was_cleared_is_as_if_it_had_never_been_written() {
        let histogram = filled(&[5, 70_000]);
        histogram.clear();
        assert_eq!(histogram.read(), Histogram::default());
        histogram.record(40);
        assert_eq!(histogram.read(), filled(&[40]).read());
    }

    /// Only the copy knows that no latency is below 1,001 ns.
    #[test]
    fn percentiles_of_a_copy_lie_within_both_extremes() {
        let histogram = filled(&[1_007, 1_007]);
        let middle = bucket_middle(bucket_of(1_007));
        assert!(middle < 1_007);
        assert_eq!(histogram.summary().p50, middle);
        assert_eq!(histogram.read().summary_in_ns().p50, 1_007);
    }

    proptest! {
        #[test]
        fn percentiles_match_a_sorted_vector(
            values in prop::collection::vec(0_u64..50_000_000, 1..800),
        ) {
            let histogram = filled(&values);
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let exact = |per_mille: usize| {
                sorted[(sorted.len() * per_mille).div_ceil(1_000).max(1) - 1]
            };
            for summary in [histogram.summary(), histogram.read().summary_in_ns()] {
                let ours = [summary.p50, summary.p90, summary.p99, summary.p999];
                for (ours, exact) in ours.into_iter().zip([500, 900, 990, 999].map(exact)) {
                    prop_assert!(ours.abs_diff(exact) <= exact / 256 + 1, "{ours} for {exact}");
                }
                let sum: u64 = values.iter().sum();
                prop_assert_eq!(summary.mean, sum as f64 / values.len() as f64);
                prop_assert_eq!(Some(&summary.max), sorted.last());
            }
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
            prop_assert_eq!(merged.read(), direct.read());
            prop_assert_eq!(merged.summary(), direct.summary());
        }
    }
}
