//! Latencies, and what they are made of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sluice_abi::{Counter, part_counters};
use sluice_model::Stats;
use sluice_stats::{Histogram, Summary, share};

const PS_PER_NS: f64 = 1_000.0;

/// Figures of a distribution, ns: `null` of no values.
#[derive(JsonSchema)]
#[schemars(remote = "Summary", rename = "Summary_of_{Ns}")]
#[expect(dead_code, reason = "only its schema is used")]
// The schema of `Summary`, whose crate has nothing to do with schemas.
pub(crate) struct SummarySchema<Ns> {
    /// Values.
    count: u64,
    /// Mean. Live it is exact.
    mean: Option<f64>,
    /// Median, to within 0.4 % or 1 ns like the other percentiles.
    p50: Option<Ns>,
    /// 90th percentile.
    p90: Option<Ns>,
    /// 99th percentile.
    p99: Option<Ns>,
    /// 99.9th percentile.
    p999: Option<Ns>,
    /// Largest value, exact.
    max: Option<Ns>,
}

/// Latencies of a program's waits for pages that were not there: of its misses, and of traps on a
/// page for which a prefetch or another thread had sent. Each counts when it ends, and misses
/// (`cache.misses`) when they begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MissLatency {
    /// What the model asked for, ns.
    #[schemars(with = "SummarySchema<u64>")]
    pub modelled: Summary<u64>,
    /// What the program waited, ns: from the fault as the runtime sees it to the call that maps the
    /// page, plus `host.entry_ns` and `host.exit_ns`. The same waits as `modelled`.
    #[schemars(with = "SummarySchema<u64>")]
    pub achieved: Summary<u64>,
}

/// Latencies of the accesses of a simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AccessLatency {
    /// What the model asked for, ns: of misses, and of accesses to a page on its way for an earlier
    /// miss or a prefetch. With `--hits misses`, of all accesses that trap.
    #[schemars(with = "SummarySchema<f64>")]
    pub modelled: Summary<f64>,
    /// Every access, hits too, ns.
    #[schemars(with = "SummarySchema<f64>")]
    pub accesses: Summary<f64>,
    /// Pairs of nanoseconds (the middle of a bucket) and count of the accesses, of each bucket that
    /// has any. Only with `--histogram`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Vec<(u64, u64)>>,
}

/// A distribution with its histogram.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Its figures, ns.
    #[serde(flatten)]
    #[schemars(with = "SummarySchema<f64>")]
    pub summary: Summary<f64>,
    /// Pairs of nanoseconds (the middle of a bucket) and count, of each bucket that has any.
    pub histogram: Vec<(u64, u64)>,
}

impl From<&Histogram> for Distribution {
    fn from(histogram: &Histogram) -> Distribution {
        Distribution {
            summary: histogram.summary(),
            histogram: histogram.buckets().collect(),
        }
    }
}

macro_rules! parts {
    ([] $($(#[$doc:meta])* $variant:ident: $name:ident as $key:ident;)+) => {
        /// The modelled time of an access that the device saw, by cause, on average, ns. The parts
        /// add up to the whole. `null` where there was no access.
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema,
        )]
        pub struct DeviceParts { $($(#[$doc])* pub $key: Option<f64>,)+ }

        impl DeviceParts {
            /// Of the accesses that a device counted.
            pub fn of_device(stats: &Stats) -> DeviceParts {
                let accesses = stats.accesses();
                DeviceParts { $($key: mean_ns(stats.parts.$key.0, accesses),)+ }
            }

            /// Of so many traps of a process.
            pub(crate) fn of(get: impl Fn(Counter) -> u64, traps: u64) -> DeviceParts {
                DeviceParts { $($key: mean_ns(get(Counter::$variant), traps),)+ }
            }

            /// The parts by name.
            pub fn named(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> {
                [$((stringify!($key), self.$key)),+].into_iter()
            }
        }
    };
}
part_counters! { [parts] }

fn mean_ns(sum_ps: u64, accesses: u64) -> Option<f64> {
    share(sum_ps, accesses).map(|ps| ps / PS_PER_NS)
}
