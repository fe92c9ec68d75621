//! A latency histogram in integers: 128 buckets to each octave, so at most 0.8 % too low.

use sluice_units::Ps;

const SUB_BITS: u32 = 7;
const SUB: u64 = 1 << SUB_BITS;
const BUCKETS: usize = ((64 - SUB_BITS + 1) as usize) << SUB_BITS;

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
            counts: vec![0; BUCKETS],
            count: 0,
            sum: 0,
            min: Ps::MAX,
            max: Ps::ZERO,
        }
    }
}

fn bucket_of(ns: u64) -> usize {
    let octave = ns.max(SUB).ilog2() - SUB_BITS;
    ((u64::from(octave) << SUB_BITS) + (ns >> octave)) as usize
}

/// The least number of nanoseconds that falls into a bucket.
fn floor_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let octave = (bucket >> SUB_BITS).saturating_sub(1);
    (bucket - (octave << SUB_BITS)) << octave
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
    /// Rounded down to its bucket's least value; zero if nothing was counted.
    pub fn percentile(&self, per_million: u64) -> Ps {
        let wanted = (u128::from(self.count) * u128::from(per_million))
            .div_ceil(1_000_000)
            .max(1);
        let mut seen = 0u128;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += u128::from(*count);
            if seen >= wanted {
                return Ps::from_ns(floor_of(bucket));
            }
        }
        Ps::ZERO
    }

    /// The buckets that hold something: (least nanoseconds, count), in order.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        let counts = self.counts.iter().enumerate();
        counts
            .filter(|(_, count)| **count > 0)
            .map(|(bucket, count)| (floor_of(bucket), *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_the_bucket_that_says_so() {
        let near = |x: u64| [x.saturating_sub(1), x, x.saturating_add(1)];
        for ns in (0..64)
            .map(|shift| 1u64 << shift)
            .flat_map(near)
            .chain(0..2_000)
        {
            let bucket = bucket_of(ns);
            let floor = floor_of(bucket);
            assert!(floor <= ns, "{ns} in a bucket from {floor}");
            assert!(
                u128::from(ns - floor) * 128 <= u128::from(ns),
                "{ns} and {floor}"
            );
            if bucket + 1 < BUCKETS {
                assert!(floor_of(bucket + 1) > ns, "{ns} belongs in the next bucket");
            }
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

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
