//! What is printed of a distribution.

use serde::{Deserialize, Serialize};

/// Figures of a distribution, ns: fractions of one in a simulation, whole ones in a measurement.
///
/// Of no values all others are zeros here, and nothing where they are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written<Ns>", into = "Written<Ns>")]
#[serde(bound(
    serialize = "Ns: Copy + Serialize",
    deserialize = "Ns: Default + Deserialize<'de>"
))]
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

/// A summary as it is written.
#[derive(Serialize, Deserialize)]
struct Written<Ns> {
    count: u64,
    mean: Option<f64>,
    p50: Option<Ns>,
    p90: Option<Ns>,
    p99: Option<Ns>,
    p999: Option<Ns>,
    max: Option<Ns>,
}

impl<Ns> From<Summary<Ns>> for Written<Ns> {
    fn from(of: Summary<Ns>) -> Written<Ns> {
        let is_any = of.count > 0;
        Written {
            count: of.count,
            mean: is_any.then_some(of.mean),
            p50: is_any.then_some(of.p50),
            p90: is_any.then_some(of.p90),
            p99: is_any.then_some(of.p99),
            p999: is_any.then_some(of.p999),
            max: is_any.then_some(of.max),
        }
    }
}

impl<Ns: Default> From<Written<Ns>> for Summary<Ns> {
    fn from(of: Written<Ns>) -> Summary<Ns> {
        let ns = Option::unwrap_or_default;
        Summary {
            count: of.count,
            mean: of.mean.unwrap_or_default(),
            p50: ns(of.p50),
            p90: ns(of.p90),
            p99: ns(of.p99),
            p999: ns(of.p999),
            max: ns(of.max),
        }
    }
}
