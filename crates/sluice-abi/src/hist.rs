//! A log-linear latency histogram of fixed size.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Buckets per power of two: values are kept to within 1/128 (0.8 %).
pub const SUB_BUCKETS: usize = 128;
const SUB_BITS: u32 = SUB_BUCKETS.trailing_zeros();
/// Powers of two covered above the linear part; larger values fall into the last bucket.
const OCTAVES: usize = 30;
/// Buckets in all: values up to 2^37 ns, 137 seconds.
pub const BUCKETS: usize = SUB_BUCKETS * (OCTAVES + 1);

/// The bucket a value in nanoseconds falls into.
pub fn bucket_of(value_ns: u64) -> usize {
    if value_ns < SUB_BUCKETS as u64 {
        return value_ns as usize;
    }
    let octave = 63 - value_ns.leading_zeros() - SUB_BITS;
    let within = (value_ns >> octave) as usize - SUB_BUCKETS;
    ((octave as usize + 1) * SUB_BUCKETS + within).min(BUCKETS - 1)
}

/// The middle of a bucket, in nanoseconds.
pub fn bucket_value(bucket: usize) -> u64 {
    if bucket < SUB_BUCKETS {
        return bucket as u64;
    }
    let octave = (bucket / SUB_BUCKETS - 1) as u32;
    let low = ((bucket % SUB_BUCKETS + SUB_BUCKETS) as u64) << octave;
    low + ((1u64 << octave) >> 1)
}

/// Counts per bucket, with exact sum and maximum.
#[repr(C)]
#[derive(Debug)]
pub struct Hist {
    /// Values recorded.
    pub count: AtomicU64,
    /// Sum of all values, ns.
    pub sum_ns: AtomicU64,
    /// Largest value, ns.
    pub max_ns: AtomicU64,
    /// Count of each bucket.
    pub buckets: [AtomicU64; BUCKETS],
}

impl Hist {
    /// Records one value. One writer at a time: locked instructions would cost a trap more than
    /// its model does.
    pub fn record(&self, value_ns: u64) {
        let add = |field: &AtomicU64, n: u64| field.store(field.load(Relaxed) + n, Relaxed);
        add(&self.buckets[bucket_of(value_ns)], 1);
        add(&self.count, 1);
        add(&self.sum_ns, value_ns);
        self.max_ns.store(self.max_ns.load(Relaxed).max(value_ns), Relaxed);
    }

    /// Sets everything back to zero.
    pub fn clear(&self) {
        for field in [&self.count, &self.sum_ns, &self.max_ns].into_iter().chain(&self.buckets) {
            field.store(0, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_within_its_buckets_precision() {
        for shift in 0..37 {
            for offset in [0u64, 1, 3, 77] {
                let value = (1u64 << shift) + offset;
                let back = bucket_value(bucket_of(value));
                let error = back.abs_diff(value);
                assert!(error * 2 * SUB_BUCKETS as u64 <= value.max(256), "{value} -> {back}");
            }
        }
    }

    #[test]
    fn buckets_rise_with_values_and_end_in_the_last_one() {
        let mut last = 0;
        for value in 0..100_000u64 {
            let bucket = bucket_of(value);
            assert!(bucket == last || bucket == last + 1, "gap before {value}");
            last = bucket;
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
        assert!(bucket_of((1 << 37) - 1) == BUCKETS - 1);
        assert!(bucket_of(1 << 36) < BUCKETS - 1);
    }
}
