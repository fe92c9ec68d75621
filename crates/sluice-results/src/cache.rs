//! What a device's cache did.

use crate::counts::{counts, of_process, of_stats};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sluice_abi::cache_counters;
use sluice_model::Stats;
use sluice_stats::share;

cache_counters! { [counts] {
    /// Counters of a device's cache.
    CacheCounts
} }
cache_counters! { [of_stats] CacheCounts, Stats; }
cache_counters! { [of_process] CacheCounts; }

/// What a device's cache did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// Hits that the device knows of. `hits_are` says which these are. An access to a page on its
    /// way is one (`served.merge` of a simulation): it does not go to flash itself.
    pub hits: u64,
    /// Which hits the device knows of, in words.
    pub hits_are: String,
    /// Accesses that went to flash.
    pub misses: u64,
    /// Misses of Belady's optimum on all accesses: no policy has fewer without prefetching. `null`
    /// without `sluice sim --bound`, which alone keeps every access, and of 2^32 accesses or more.
    pub optimum_misses: Option<u64>,
    /// hits ÷ (hits + misses), of those that the device knows.
    pub hit_ratio: Option<f64>,
    /// hits ÷ (hits + misses) without `first_misses`, which no larger cache and no other policy
    /// avoids.
    pub reuse_hit_ratio: Option<f64>,
    /// The hit ratio by sampling (`sluice run --sample-hits`). `null` without samples, and in a
    /// simulation, which has no need of them.
    pub sampled: Option<Sampled>,
    /// Counters.
    #[serde(flatten)]
    pub counts: CacheCounts,
    /// prefetch_used ÷ prefetch_issued. `null` if more were used than issued, as right after a
    /// warm-up.
    pub prefetch_accuracy: Option<f64>,
    /// prefetch_used ÷ (prefetch_used + misses): would-be misses that a prefetch took away.
    pub prefetch_coverage: Option<f64>,
    /// (prefetch_used − prefetch_late) ÷ prefetch_used.
    pub prefetch_timeliness: Option<f64>,
}

impl Cache {
    /// Of lookups that the device knows, and its counters.
    pub fn new(hits: u64, hits_are: &str, misses: u64, counts: CacheCounts) -> Cache {
        let (issued, used) = (counts.prefetch_issued, counts.prefetch_used);
        Cache {
            hits,
            hits_are: hits_are.to_owned(),
            misses,
            optimum_misses: None,
            hit_ratio: share(hits, hits + misses),
            reuse_hit_ratio: share(hits, hits + misses.saturating_sub(counts.first_misses)),
            sampled: None,
            counts,
            prefetch_accuracy: share(used, issued).filter(|_| used <= issued),
            prefetch_coverage: share(used, used + misses),
            prefetch_timeliness: share(used.saturating_sub(counts.prefetch_late), used),
        }
    }
}

/// The hit ratio by sampling: of the distinct pages that a program uses within a window, the share
/// that was in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sampled {
    /// Of the distinct pages used within a window, the share that was cached.
    pub hit_ratio: Option<f64>,
    /// That share without first misses of a page.
    pub reuse_hit_ratio: Option<f64>,
    /// Mean window, s.
    pub window_s: f64,
    /// Cached pages that were taken away to see whether they are used.
    pub pages: u64,
    /// Of the pages taken away, those that were touched within their window.
    pub touched: u64,
    /// Estimate of the cached pages used within a window: share touched × mapped pages, and the
    /// inactive pages that were used.
    pub cached_pages_used_per_window: f64,
    /// Misses in as long a time as a window. `null` before the first trap.
    pub misses_per_window: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_used_than_issued_is_no_accuracy() {
        let of = |issued, used| {
            let counts = CacheCounts {
                prefetch_issued: issued,
                prefetch_used: used,
                ..CacheCounts::default()
            };
            Cache::new(0, "", 0, counts).prefetch_accuracy
        };
        assert_eq!(of(4, 3), Some(0.75));
        assert_eq!(of(4, 4), Some(1.0));
        // Of pages that were issued before counting began.
        assert_eq!(of(48, 73), None);
        assert_eq!(of(0, 0), None);
    }
}
