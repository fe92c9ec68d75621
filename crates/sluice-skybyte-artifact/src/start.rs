//! What the warm-up of the artifact's runs leaves in DRAM, and the compaction that a measurement
//! begins with.

use sluice_host::{Before, RunLength};
use sluice_params::{Kind, RawConfig, choices};
use sluice_units::{Bytes, Ratio};

sluice_params::params! {
    /// What was there before.
    pub(super) struct StartParams {
        start_size: Option<Bytes> {
            key: "host.start_size",
            kind: Kind::Or("all", &Kind::Size),
            default: "all",
            meaning: "with host.start = full, how much of the program was used before. What host \
                      memory has no room for is in the device's cache, and the rest in flash",
            source: "assumed: all. In SkyByte's artifact the warm-up of tpcc leaves 1 GiB in the 2 \
                     GiB of host memory, and the device's cache empty",
        }
        start_written: Option<Ratio> {
            key: "host.start_written",
            kind: Kind::Or("none", &Kind::Share { max_percent: 100 }),
            default: "100%",
            meaning: "with host.start = others, the share of those pages whose contents flash does \
                      not have: they go back at the cost of migration.demotion, and leave the \
                      device's cache as written",
            source: "assumed: all. In SkyByte's artifact 97 % of the pages that radix's warm-up \
                     leaves in the device's cache are written, and 82 % of srad's",
        }
        start_spread: u64 {
            key: "host.start_spread",
            kind: Kind::Count { min: 1, max: 64 },
            default: "1",
            meaning: "with host.start = others, those in the device's cache are drawn from so many \
                      times as many. Where few of them fall into a set, room is left: 1 leaves \
                      none",
            source: "assumed: 1. In SkyByte's artifact the pages of bfs-dense's warm-up are spread \
                     over 2^20, 8 times as many as the cache has, and leave 8 % of it empty",
        }
        rest: Rest {
            key: "host.rest",
            default: "no",
            meaning: "when the device gets the time to compact its write log and to work off its \
                      queues, which passes for nobody else",
            source: "SkyByte's artifact compacts at the beginning what a run before has logged, on \
                     flash that is idle otherwise; the paper does not say",
        }
    }
}

choices! {
    /// When the device comes to rest.
    enum Rest {
        Never = "no": "never",
        End = "end": "between warm-up and measurement",
        Before = "before": "as many instructions earlier as are measured, and the measurement \
                            begins with the compaction of what was logged since, so that it pays \
                            for as much as it logs",
    }
}

/// How a run begins.
#[derive(Clone, Debug)]
pub(super) struct Start {
    pub(super) before: Before,
    rest: Rest,
}

impl Start {
    pub(super) fn new(raw: &RawConfig) -> Start {
        let given = StartParams::new(raw);
        Start {
            before: Before {
                used: given.start_size.unwrap_or(Bytes(u64::MAX)),
                written: given.start_written.unwrap_or(Ratio::ZERO),
                spread: given.start_spread,
            },
            rest: given.rest,
        }
    }

    pub(super) fn rests_after(&self, length: &RunLength) -> Option<u64> {
        match self.rest {
            Rest::Never => None,
            Rest::End => Some(length.warmup),
            Rest::Before => Some(length.warmup.saturating_sub(length.measured)),
        }
    }

    /// What was logged since the rest is compacted in the measurement.
    pub(super) fn compacts_first(&self) -> bool {
        self.rest == Rest::Before
    }
}
