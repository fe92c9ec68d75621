//! A latency histogram of fixed size.

use sluice_stats::AtomicHistogram;
use sluice_units::buckets_below;

/// Buckets in all: values below 2^37 ns, 137 seconds; larger ones fall into the last.
pub const BUCKETS: usize = buckets_below(37);

/// Words of count, sum, least and largest value, ns, then a word for each bucket.
pub type Hist = AtomicHistogram<BUCKETS>;

const _: () = assert!(size_of::<Hist>() == (4 + BUCKETS) * 8);
