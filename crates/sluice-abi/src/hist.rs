//! A latency histogram of fixed size.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sluice_units::{bucket_of, buckets_below};

/// Buckets in all: values below 2^37 ns, 137 seconds; larger ones fall into the last.
pub const BUCKETS: usize = buckets_below(37);

/// Counts per bucket (`sluice_units::bucket_of`), with exact sum and extremes.
#[repr(C)]
#[derive(Debug)]
pub struct Hist {
    /// Values recorded.
    pub count: AtomicU64,
    /// Sum of all values, ns.
    pub sum_ns: AtomicU64,
    /// Least value, ns; nothing while `count` is 0.
    pub min_ns: AtomicU64,
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
        let least = match self.count.load(Relaxed) {
            0 => value_ns,
            _ => value_ns.min(self.min_ns.load(Relaxed)),
        };
        self.min_ns.store(least, Relaxed);
        self.max_ns
            .store(self.max_ns.load(Relaxed).max(value_ns), Relaxed);
        add(&self.sum_ns, value_ns);
        add(&self.buckets[bucket_of(value_ns).min(BUCKETS - 1)], 1);
        add(&self.count, 1);
    }
}
