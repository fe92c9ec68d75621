//! Log-linear buckets of latencies, the same for every histogram of the project.

/// Buckets to each power of two: the least and the largest value of a bucket differ by less than
/// 1/128 (0.8 %), and its middle is within 0.4 % of either.
pub const SUB_BUCKETS: usize = 1 << SUB_BITS;
const SUB_BITS: u32 = 7;
/// Buckets that hold every `u64`.
pub const ALL_BUCKETS: usize = buckets_below(64);

/// Buckets for the values below two to the power of `bits`, of which there are more than 7.
pub const fn buckets_below(bits: u32) -> usize {
    (bits - SUB_BITS + 1) as usize * SUB_BUCKETS
}

/// The bucket that a value in nanoseconds falls into. Exact below 256 ns.
#[inline]
pub const fn bucket_of(ns: u64) -> usize {
    if ns < SUB_BUCKETS as u64 {
        return ns as usize;
    }
    let octave = ns.ilog2() - SUB_BITS;
    ((octave as usize) << SUB_BITS) + (ns >> octave) as usize
}

/// The least value of a bucket, ns.
pub const fn bucket_floor(bucket: usize) -> u64 {
    let octave = (bucket >> SUB_BITS).saturating_sub(1);
    ((bucket - (octave << SUB_BITS)) as u64) << octave
}

/// The middle of a bucket, ns.
pub const fn bucket_middle(bucket: usize) -> u64 {
    let octave = (bucket >> SUB_BITS).saturating_sub(1);
    bucket_floor(bucket) + ((1u64 << octave) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bucket_and_near_its_middle() {
        let near = |x: u64| [x.saturating_sub(1), x, x.saturating_add(1)];
        for ns in (0..64).flat_map(|bits| near(1u64 << bits)).chain(0..5_000) {
            let bucket = bucket_of(ns);
            assert!(bucket_floor(bucket) <= ns);
            assert!(bucket + 1 == ALL_BUCKETS || bucket_floor(bucket + 1) > ns);
            let error = u128::from(bucket_middle(bucket).abs_diff(ns));
            assert!(
                error * 256 <= u128::from(ns.max(256)),
                "{ns} in bucket {bucket}"
            );
        }
        assert_eq!(bucket_of(u64::MAX), ALL_BUCKETS - 1);
    }

    #[test]
    fn a_table_for_few_bits_ends_where_the_next_power_of_two_begins() {
        for bits in [8, 37, 40, 63] {
            assert_eq!(bucket_of(1u64 << bits), buckets_below(bits));
            assert_eq!(bucket_of((1u64 << bits) - 1), buckets_below(bits) - 1);
        }
    }
}
