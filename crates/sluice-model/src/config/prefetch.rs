//! Prefetching.

use super::deref_to_given;
use crate::prefetch::{PICKS_MAX, PREFETCHES, PrefetchEntry, ThrottleParams};
use sluice_params::{ConfigError, Kind, OrPath, RawConfig, choices, registry};

sluice_params::params! {
    /// Prefetching.
    pub struct PrefetchParams {
        policy: OrPath<&'static PrefetchEntry> {
            key: "prefetch.policy",
            kind: Kind::ChoiceOrPath(registry::<PrefetchEntry>),
            default: "none",
            meaning: "which pages are brought in before they are asked for; docs/extending.md says \
                      how to write a prefetcher",
            source: "Cylon section 5.4: disabled unless stated otherwise",
        }
        degree: u32 {
            key: "prefetch.degree",
            kind: Kind::Count { min: 0, max: PICKS_MAX as u64 },
            default: "0",
            meaning: "pages that one access brings in at most besides its own",
            source: "Cylon Table 2: 0 to 8",
        }
        distance: u32 {
            key: "prefetch.distance",
            kind: Kind::Count { min: 1, max: 4_096 },
            default: "16",
            meaning: "how far ahead of its accesses a followed stream may run, in pages or strides",
            source: "Srinath et al., HPCA 2007, Table 1: the middle configuration",
        }
        streams: u32 {
            key: "prefetch.streams",
            kind: Kind::Count { min: 1, max: 256 },
            default: "64",
            meaning: "streams that the stride and stream prefetchers follow at once",
            source: "assumed: more than a few threads have",
        }
        sequential: u32 {
            key: "prefetch.sequential",
            kind: Kind::Count { min: 0, max: PICKS_MAX as u64 },
            default: "64",
            meaning: "pages ahead of an access that are on their way where the host has said that \
                      it accesses a range in order (madvise SEQUENTIAL), at most a quarter of the \
                      cache; whatever prefetch.policy is",
            source: "assumed: twice prefetch.sample, so that half of them are there when the next \
                     access is seen",
        }
        throttle: ThrottleRule {
            key: "prefetch.throttle",
            default: "none",
            meaning: "what turns the prefetcher up and down",
            source: "assumed: off, as in Cylon; Srinath et al., HPCA 2007, for feedback",
        }
        map: MapRule {
            key: "prefetch.map",
            default: "arrival",
            meaning: "when a host that maps pages maps a prefetched one",
            source: "Cylon 4.2: pages are mapped as they come in",
        }
        sample: u32 {
            key: "prefetch.sample",
            kind: Kind::Count { min: 1, max: PICKS_MAX as u64 },
            default: "32",
            meaning: "of so many prefetched pages one is not mapped on arrival; its first access \
                      stands for all of them",
            source: "assumed: a trap for 32 pages costs each of them a tenth of a microsecond",
        }
    }
}

choices! {
    /// When a host that maps pages maps a prefetched one.
    pub enum MapRule {
        Arrival = "arrival": "when it arrives, but for one in `prefetch.sample`",
        Touch = "touch": "when it is first accessed, which is a trap",
    }
}

choices! {
    /// What turns the prefetcher up and down.
    pub enum ThrottleRule {
        None = "none": "nothing",
        Feedback = "feedback": "accuracy, lateness and pollution decide how much of degree and \
                                distance is used",
    }
}

/// The prefetcher's checked values.
#[derive(Clone, Debug)]
pub struct PrefetchSettings {
    /// The parameters as they were given.
    pub given: PrefetchParams,
    /// The prefetcher; `none` if a shared object decides in its place.
    pub policy: &'static PrefetchEntry,
    /// The shared object that decides in its place.
    pub plugin: Option<String>,
    /// The throttle, if there is one.
    pub throttle: Option<ThrottleParams>,
}

deref_to_given!(PrefetchSettings, PrefetchParams);

impl PrefetchSettings {
    pub(super) fn new(raw: &RawConfig, device: u64) -> Result<PrefetchSettings, ConfigError> {
        let given = PrefetchParams::new(raw);
        let (policy, plugin) = match &given.policy {
            OrPath::Choice(entry) => (*entry, None),
            OrPath::Path(path) => (&PREFETCHES[0], Some(path.clone())),
        };
        for prefetcher in PREFETCHES {
            let is_chosen = prefetcher.info.name == policy.info.name;
            (prefetcher.check)(raw, is_chosen, device)?;
        }
        let is_one = plugin.is_some() || policy.info.name != "none";
        if given.degree == 0 && is_one {
            let message = "a prefetcher of degree 0 does nothing; give it a degree of 1 at least, \
                           or set prefetch.policy = none";
            return Err(raw.impossible(&["prefetch.policy", "prefetch.degree"], message));
        }
        let throttle = ThrottleParams::new(raw);
        if throttle.accuracy_low > throttle.accuracy_high {
            let keys = ["prefetch.accuracy_low", "prefetch.accuracy_high"];
            let message = "low accuracy cannot begin above high accuracy; swap the two";
            return Err(raw.impossible(&keys, message));
        }
        let throttle = match given.throttle {
            ThrottleRule::None => None,
            ThrottleRule::Feedback => Some(throttle),
        };
        Ok(PrefetchSettings {
            given,
            policy,
            plugin,
            throttle,
        })
    }
}
