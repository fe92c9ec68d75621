//! Log-linear latency histograms that can live in static memory.
//!
//! A `static` one costs no file space and no heap: recording never touches memory that an emulated
//! device might hold.

use sluice_stats::AtomicHistogram;
use sluice_units::buckets_below;

/// Values of 2^40 ns (18 minutes) and more share the last bucket.
const BUCKETS: usize = buckets_below(40);

/// A histogram of nanosecond latencies.
pub type Histogram = AtomicHistogram<BUCKETS>;

/// The figures reported of one histogram.
pub type Summary = sluice_stats::Summary<u64>;
