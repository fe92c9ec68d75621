//! The distribution of a latency, in integers.

use crate::Summary;
use sluice_units::{ALL_BUCKETS, Ps, bucket_middle, bucket_of};

/// Counts of latencies by buckets of nanoseconds, with exact sum and extremes in picoseconds.
/// Exact below 256 ns.
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
    /// One that was counted elsewhere, in nanoseconds: its buckets from the lowest on, the sum and
    /// the extremes.
    pub(crate) fn counted(
        counts: impl Iterator<Item = u64>,
        sum_ns: u64,
        min_ns: u64,
        max_ns: u64,
    ) -> Histogram {
        let mut histogram = Histogram::default();
        for (bucket, count) in histogram.counts.iter_mut().zip(counts) {
            *bucket = count;
            histogram.count += count;
        }
        if histogram.count > 0 {
            histogram.sum = u128::from(sum_ns) * PS_PER_NS;
            histogram.min = Ps::from_ns(min_ns);
            // The writer may be between the two.
            histogram.max = Ps::from_ns(max_ns.max(min_ns));
        }
        histogram
    }

    /// Counts one latency.
    pub fn record(&mut self, latency: Ps) {
        self.record_n(latency, 1);
    }

    /// Counts `count` equal latencies.
    pub fn record_n(&mut self, latency: Ps, count: u64) {
        self.counts[bucket_of(latency.as_ns())] += count;
        self.count += count;
        self.sum += u128::from(latency.0) * u128::from(count);
        self.min = self.min.min(latency);
        self.max = self.max.max(latency);
    }

    /// What was counted after `earlier`, an earlier state of this histogram. An extreme that is new
    /// is exact. Of another, its bucket is known: it is the middle, as far as the mean and the
    /// extremes of all allow.
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let counts = self.counts.iter().zip(&earlier.counts);
        let counts: Vec<u64> = counts.map(|(now, then)| now - then).collect();
        let middle = |bucket| Ps::from_ns(bucket_middle(bucket));
        let first = counts.iter().position(|count| *count > 0);
        let last = counts.iter().rposition(|count| *count > 0);
        let mut since = Histogram {
            count: self.count - earlier.count,
            sum: self.sum - earlier.sum,
            min: first.map_or(Ps::MAX, middle),
            max: last.map_or(Ps::ZERO, middle),
            counts,
        };
        if since.count > 0 {
            let mean = since.mean();
            since.min = match self.min < earlier.min {
                true => self.min,
                false => since.min.min(mean).max(self.min),
            };
            since.max = match self.max > earlier.max {
                true => self.max,
                false => since.max.max(mean).min(self.max),
            };
        }
        since
    }

    /// Counts all that another one has counted.
    pub fn add(&mut self, other: &Histogram) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
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
        match bucket_at(self.counts.iter().copied(), self.count, per_million) {
            Some(bucket) => Ps::from_ns(bucket_middle(bucket)).clamp(self.min, self.max),
            None => Ps::ZERO,
        }
    }

    /// The figures that a simulation prints: to the picosecond, the mean rounded down to one.
    pub fn summary(&self) -> Summary<f64> {
        let ns = |time: Ps| time.0 as f64 / PS_PER_NS as f64;
        Summary::new(self.count, ns(self.mean()), ns(self.max()), |per_million| {
            ns(self.percentile(per_million))
        })
    }

    /// The figures that a measurement prints, for which a nanosecond is the unit of the clock:
    /// whole ones, and the mean from the exact sum.
    pub fn summary_in_ns(&self) -> Summary<u64> {
        let sum_ns = (self.sum / PS_PER_NS) as f64;
        let mean = sum_ns / self.count.max(1) as f64;
        Summary::new(self.count, mean, self.max().as_ns(), |per_million| {
            self.percentile(per_million).as_ns()
        })
    }

    /// How many latencies fell into a bucket (`sluice_units::bucket_of`).
    pub fn at(&self, bucket: usize) -> u64 {
        self.counts[bucket]
    }

    /// The buckets that hold something: (their middle in nanoseconds, count), in order.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        let counts = self.counts.iter().enumerate();
        counts
            .filter(|(_, count)| **count > 0)
            .map(|(bucket, count)| (bucket_middle(bucket), *count))
    }
}

const PS_PER_NS: u128 = 1_000;

/// The bucket in which the latency lies that `per_million` millionths of all are not above
/// (nearest rank); none if nothing was counted.
pub(crate) fn bucket_at(
    counts: impl Iterator<Item = u64>,
    count: u64,
    per_million: u64,
) -> Option<usize> {
    let wanted = (u128::from(count) * u128::from(per_million))
        .div_ceil(1_000_000)
        .max(1);
    let mut seen = 0u128;
    let mut buckets = counts.enumerate();
    buckets.find_map(|(bucket, count)| {
        seen += u128::from(count);
        (seen >= wanted).then_some(bucket)
    })
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
    fn a_sum_is_as_if_one_had_counted_all() {
        let mut parts = [Histogram::default(), Histogram::default()];
        let mut whole = Histogram::default();
        for ns in [3, 70_000, 1, 9_999_999, 70_000] {
            parts[ns as usize % 2].record(Ps::from_ns(ns));
            whole.record(Ps::from_ns(ns));
        }
        let [mut sum, other] = parts;
        sum.add(&other);
        assert_eq!(sum, whole);
        sum.add(&Histogram::default());
        assert_eq!(sum, whole);
    }

    #[test]
    fn nothing_counted_is_zero() {
        let histogram = Histogram::default();
        assert_eq!(histogram.percentile(500_000), Ps::ZERO);
        assert_eq!((histogram.mean(), histogram.min()), (Ps::ZERO, Ps::ZERO));
        assert_eq!(histogram.summary(), Summary::default());
        assert_eq!(histogram.summary_in_ns(), Summary::default());
    }

    /// A simulation rounds its mean to a picosecond, a measurement does not.
    #[test]
    fn each_summary_has_its_own_rounding() {
        let mut histogram = Histogram::default();
        for ps in [1_000, 1_000, 2_500] {
            histogram.record(Ps(ps));
        }
        let (simulated, measured) = (histogram.summary(), histogram.summary_in_ns());
        assert_eq!((simulated.mean, simulated.max), (1.5, 2.5));
        assert_eq!((measured.mean, measured.max), (4.0 / 3.0, 2));
        assert_eq!((simulated.count, measured.count), (3, 3));
    }

    #[test]
    fn what_came_since_is_what_was_recorded_since() {
        let histogram = |values: &[u64]| {
            let mut all = Histogram::default();
            values.iter().for_each(|ns| all.record(Ps::from_ns(*ns)));
            all
        };
        let before = histogram(&[100, 90_000]);
        let after = histogram(&[100, 200, 40_000, 90_000]);
        let since = after.since(&before).summary_in_ns();
        assert_eq!((since.count, since.mean), (2, 20_100.0));
        assert!(since.max.abs_diff(40_000) < 200, "{since:?}");
        let after = histogram(&[100, 90_000, 90_001, 7, 123_456]).since(&before);
        let ends = [after.min(), after.max()];
        assert_eq!(
            ends,
            [Ps::from_ns(7), Ps::from_ns(123_456)],
            "new ones are exact"
        );
        assert_eq!(after.since(&after).summary_in_ns(), Summary::default());
    }
}
