//! What is printed of a distribution.

use serde::{Deserialize, Serialize};

/// Figures of a distribution, ns: fractions of one in a simulation, whole ones in a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary<Ns> {
    /// Values.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Median, to within 0.4 % or 1 ns like the other percentiles.
    pub p50: Ns,
    /// 90th percentile.
    pub p90: Ns,
    /// 99th percentile.
    pub p99: Ns,
    /// 99.9th percentile.
    pub p999: Ns,
    /// Largest value, exact.
    pub max: Ns,
}

impl<Ns> Summary<Ns> {
    /// With percentiles as `at` has them, in millionths.
    pub(crate) fn new(count: u64, mean: f64, max: Ns, at: impl Fn(u64) -> Ns) -> Summary<Ns> {
        Summary {
            count,
            mean,
            p50: at(500_000),
            p90: at(900_000),
            p99: at(990_000),
            p999: at(999_000),
            max,
        }
    }
}
