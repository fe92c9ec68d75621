//! Parameters: prefetching.

use super::Param;
use crate::config::value::Kind;
use crate::prefetch::{PICKS_MAX, PREFETCHES};

fn prefetches() -> Vec<&'static str> {
    PREFETCHES.iter().map(|entry| entry.info.name).collect()
}

fn throttles() -> Vec<&'static str> {
    vec!["none", "feedback"]
}

const fn count(min: u64, max: u64) -> Kind {
    Kind::Count { min, max }
}

const SHARE: Kind = Kind::Share { max_percent: 100 };
const MICHAUD: &str = "Michaud, HPCA 2016, Table 2";

pub(super) const PARAMS: &[Param] = &[
    Param {
        key: "prefetch.policy",
        kind: Kind::Choice(prefetches),
        default: "none",
        meaning: "which pages are brought in before they are asked for",
        source: "Cylon section 5.4: disabled unless stated otherwise",
    },
    Param {
        key: "prefetch.degree",
        kind: count(0, PICKS_MAX as u64),
        default: "0",
        meaning: "pages that one access brings in at most besides its own",
        source: "Cylon Table 2: 0 to 8",
    },
    Param {
        key: "prefetch.distance",
        kind: count(1, 4_096),
        default: "16",
        meaning: "how far ahead of its accesses a followed stream may run, in pages or strides",
        source: "Srinath et al., HPCA 2007, Table 1: the middle configuration",
    },
    Param {
        key: "prefetch.streams",
        kind: count(1, 256),
        default: "64",
        meaning: "streams that the stride and stream prefetchers follow at once",
        source: "assumed: more than a few threads have",
    },
    Param {
        key: "prefetch.stream_window",
        kind: count(1, 4_096),
        default: "16",
        meaning: "pages around a stream within which an access belongs to it",
        source: "Srinath et al., HPCA 2007: 16 blocks",
    },
    Param {
        key: "prefetch.stride_max",
        kind: count(1, 65_536),
        default: "256",
        meaning: "the longest stride that is looked for, in pages",
        source: "assumed: 1 MiB",
    },
    Param {
        key: "prefetch.bo_offset_max",
        kind: count(1, 4_096),
        default: "256",
        meaning: "the longest offset that best-offset tries; it tries 2^i 3^j 5^k",
        source: "Michaud, HPCA 2016",
    },
    Param {
        key: "prefetch.bo_recent",
        kind: count(1, 65_536),
        default: "256",
        meaning: "entries of best-offset's table of recent requests",
        source: MICHAUD,
    },
    Param {
        key: "prefetch.bo_score_max",
        kind: count(1, 65_535),
        default: "31",
        meaning: "the score at which best-offset ends a learning phase",
        source: MICHAUD,
    },
    Param {
        key: "prefetch.bo_score_bad",
        kind: count(0, 65_535),
        default: "1",
        meaning: "the score up to which best-offset's winner is not used",
        source: MICHAUD,
    },
    Param {
        key: "prefetch.bo_round_max",
        kind: count(1, 65_535),
        default: "100",
        meaning: "rounds through all offsets after which best-offset ends a learning phase",
        source: MICHAUD,
    },
    Param {
        key: "prefetch.markov_pages",
        kind: count(4, 1 << 28),
        default: "65536",
        meaning: "pages whose followers the Markov prefetcher remembers; its table of 4 bytes for \
                  each and for each follower takes at most a 16th of the device, between 16 MiB \
                  and 1 GiB",
        source: "assumed: 1.3 MB of controller memory; Joseph and Grunwald had 1 MB",
    },
    Param {
        key: "prefetch.markov_followers",
        kind: count(1, PICKS_MAX as u64),
        default: "4",
        meaning: "followers that the Markov prefetcher remembers of a page",
        source: "Joseph and Grunwald, ISCA 1997: four",
    },
    Param {
        key: "prefetch.throttle",
        kind: Kind::Choice(throttles),
        default: "none",
        meaning: "feedback: accuracy, lateness and pollution decide how much of degree and \
                  distance is used",
        source: "assumed: off, as in Cylon; Srinath et al., HPCA 2007, for feedback",
    },
    Param {
        key: "prefetch.throttle_interval",
        kind: count(1, 1 << 30),
        default: "8192",
        meaning: "evictions between two decisions of the throttle",
        source: "Srinath et al., HPCA 2007: 8192, half the blocks of their cache",
    },
    Param {
        key: "prefetch.accuracy_high",
        kind: SHARE,
        default: "75%",
        meaning: "used of issued prefetches from which accuracy is high",
        source: "Srinath et al., HPCA 2007: 75 %",
    },
    Param {
        key: "prefetch.accuracy_low",
        kind: SHARE,
        default: "40%",
        meaning: "used of issued prefetches below which accuracy is low",
        source: "Srinath et al., HPCA 2007: 40 %",
    },
    Param {
        key: "prefetch.lateness",
        kind: SHARE,
        default: "1%",
        meaning: "late of used prefetches above which they are late",
        source: "Srinath et al., HPCA 2007: 1 %",
    },
    Param {
        key: "prefetch.pollution",
        kind: SHARE,
        default: "0.5%",
        meaning: "misses on pages that a prefetch pushed out, of all, above which it pollutes",
        source: "Srinath et al., HPCA 2007: 0.5 %",
    },
    Param {
        key: "prefetch.throttle_filter",
        kind: count(1, 1 << 24),
        default: "4096",
        meaning: "entries of the filter that remembers which pages a prefetch pushed out",
        source: "Srinath et al., HPCA 2007: 4096 bits",
    },
];
