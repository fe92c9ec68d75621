//! Prefetching.

use super::take::{choice, count, impossible, named};
use crate::config::error::ConfigError;
use crate::config::raw::RawConfig;
use crate::prefetch::{PREFETCHES, PrefetchEntry};

/// The prefetcher's checked values.
#[derive(Clone, Debug)]
pub struct PrefetchSettings {
    /// The prefetcher.
    pub policy: &'static PrefetchEntry,
    /// Its degree.
    pub degree: u32,
}

impl PrefetchSettings {
    pub(super) fn new(raw: &RawConfig) -> Result<PrefetchSettings, ConfigError> {
        Ok(PrefetchSettings {
            policy: named(raw, "prefetch.policy", PREFETCHES, |entry| entry.info.name),
            degree: degree(raw)?,
        })
    }
}

fn degree(raw: &RawConfig) -> Result<u32, ConfigError> {
    let degree = count(raw, "prefetch.degree");
    if degree == 0 && choice(raw, "prefetch.policy") != "none" {
        let message = "a prefetcher of degree 0 does nothing; give it a degree of 1 at least, \
                       or set prefetch.policy = none";
        let keys = ["prefetch.policy", "prefetch.degree"];
        return Err(impossible(raw, &keys, message.to_owned()));
    }
    Ok(degree as u32)
}
