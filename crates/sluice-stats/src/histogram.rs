//! A latency histogram in integers.

use sluice_units::{ALL_BUCKETS, Ps, bucket_middle, bucket_of};

/// Counts of latencies in nanoseconds. Exact below 256 ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    /// In picoseconds.
    sum: u128,
    min: Ps,
    max: Ps,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            counts: vec![0; ALL_BUCKETS],
            count: 0,
            sum: 0,
            min: Ps::MAX,
            max: Ps::ZERO,
        }
    }
}

impl Histogram {
    /// Counts one latency.
    pub fn record(&mut self, latency: Ps) {
        self.record_n(latency, 1);
    }

    /// Counts the same latency `count` times.
    pub fn record_n(&mut self, latency: Ps, count: u64) {
        self.counts[bucket_of(latency.as_ns())] += count;
        self.count += count;
        self.sum += u128::from(latency.0) * u128::from(count);
        self.min = self.min.min(latency);
        self.max = self.max.max(latency);
    }

    /// How many latencies were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of all latencies, in picoseconds.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The mean, rounded down to a picosecond; zero if nothing was counted.
    pub fn mean(&self) -> Ps {
        let mean = self.sum.checked_div(u128::from(self.count)).unwrap_or(0);
        Ps(u64::try_from(mean).unwrap_or(u64::MAX))
    }

    /// The least latency; zero if nothing was counted.
    pub fn min(&self) -> Ps {
        if self.count == 0 { Ps::ZERO } else { self.min }
    }

    /// The greatest latency; zero if nothing was counted.
    pub fn max(&self) -> Ps {
        self.max
    }

    /// The latency that `per_million` millionths of all are not above: 990,000 for p99.
    ///
    /// The middle of its bucket, within the extremes; zero if nothing was counted.
    pub fn percentile(&self, per_million: u64) -> Ps {
        let wanted = (u128::from(self.count) * u128::from(per_million))
            .div_ceil(1_000_000)
            .max(1);
        let mut seen = 0u128;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += u128::from(*count);
            if seen >= wanted {
                return Ps::from_ns(bucket_middle(bucket)).clamp(self.min, self.max);
            }
        }
        Ps::ZERO
    }

    /// The buckets that hold something: (their middle in nanoseconds, count), in order.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        let counts = self.counts.iter().enumerate();
        counts
            .filter(|(_, count)| **count > 0)
            .map(|(bucket, count)| (bucket_middle(bucket), *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_values() {
        let mut histogram = Histogram::default();
        (1..=100).for_each(|ns| histogram.record(Ps::from_ns(ns)));
        let at = |per_million| histogram.percentile(per_million).as_ns();
        assert_eq!([at(0), at(10_000), at(10_001), at(500_000)], [1, 1, 2, 50]);
        assert_eq!([at(990_000), at(999_000), at(1_000_000)], [99, 100, 100]);
        assert_eq!(histogram.mean(), Ps(50_500));
        assert_eq!(
            (histogram.min(), histogram.max()),
            (Ps::from_ns(1), Ps::from_ns(100))
        );
    }

    #[test]
    fn nothing_counted_is_zero() {
        let histogram = Histogram::default();
        assert_eq!(histogram.percentile(500_000), Ps::ZERO);
        assert_eq!((histogram.mean(), histogram.min()), (Ps::ZERO, Ps::ZERO));
    }
}
