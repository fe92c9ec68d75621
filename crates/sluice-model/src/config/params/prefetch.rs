//! Parameters: prefetching.

use super::Param;
use crate::config::value::Kind;
use crate::prefetch::{PICKS_MAX, PREFETCHES};

fn prefetches() -> Vec<&'static str> {
    PREFETCHES.iter().map(|entry| entry.info.name).collect()
}

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
        kind: Kind::Count {
            min: 0,
            max: PICKS_MAX as u64,
        },
        default: "0",
        meaning: "pages that one miss brings in besides its own",
        source: "Cylon Table 2: 0 to 8",
    },
];
