//! Parameters that can change while the device runs.

use super::DeviceError;
use super::observer::Observer;
use super::pipeline::Pipeline;
use crate::cache::{EVICTIONS, EvictionEntry};
use crate::config::DeviceConfig;
use crate::prefetch::PREFETCHES;
use sluice_params::Typed;
use sluice_units::Ps;

const POLICY: &str = "cache.policy";
const PREFETCHER: &str = "prefetch.policy";

/// What can change beside the parameters of eviction policies: keys, and with a star all keys that
/// begin so.
const TUNABLE: &[&str] = &[
    POLICY,
    "cache.pin_max",
    "cache.index_latency",
    "cache.hit_latency",
    "device.protocol_latency",
    "device.hint_threshold",
    "nand.read*",
    "nand.program",
    "nand.program_csb",
    "nand.program_msb",
    "nand.program_tsb",
    "nand.erase",
    "prefetch.*",
];

/// What can change while the device runs: keys, and with a star all keys that begin so.
pub fn tunable() -> Vec<String> {
    let policies = EVICTIONS.iter().filter(|entry| !entry.params.is_empty());
    let own = policies.map(|entry| format!("cache.{}_*", entry.info.name));
    let mut keys: Vec<String> = TUNABLE.iter().map(|key| (*key).to_owned()).collect();
    keys.splice(1..1, own);
    keys
}

/// Whether a parameter can change while the device runs.
pub fn is_tunable(key: &str) -> bool {
    let listed = TUNABLE.iter().any(|entry| match entry.strip_suffix('*') {
        Some(prefix) => key.starts_with(prefix),
        None => key == *entry,
    });
    listed || EVICTIONS.iter().any(|entry| is_own(entry, key))
}

/// Refuses a shared object as the value of a parameter: a guest writes the control ring too, and
/// could run code on its host.
///
/// # Errors
/// [`DeviceError::Object`].
pub fn check_object(key: &str, value: &str) -> Result<(), DeviceError> {
    let is_known = match key {
        POLICY => EVICTIONS.iter().any(|entry| entry.info.name == value),
        PREFETCHER => PREFETCHES.iter().any(|entry| entry.info.name == value),
        _ => return Ok(()),
    };
    match is_known {
        true => Ok(()),
        false => Err(DeviceError::Object {
            key: if key == POLICY { POLICY } else { PREFETCHER },
            path: value.to_owned(),
        }),
    }
}

/// Whether a parameter is an eviction policy's own.
fn is_own(policy: &EvictionEntry, key: &str) -> bool {
    policy.params.iter().any(|param| param.key == key)
}

/// A checked change of parameters.
pub(super) struct Change<'a> {
    pub config: DeviceConfig,
    /// The keys whose values differ from before.
    keys: Vec<&'a str>,
}

impl<'a> Change<'a> {
    /// The change of a device with this configuration to these values. No parameter gets a longer
    /// time than `longest`, but for `device.hint_threshold`, which nothing waits for.
    pub fn check(
        before: &DeviceConfig,
        pairs: &[(&'a str, &str)],
        longest: Ps,
    ) -> Result<Change<'a>, DeviceError> {
        // DRAM with banks has times of its own.
        let is_banked = before.dram.is_some() && before.memory.is_none();
        let mut raw = before.raw().clone();
        let mut keys = Vec::new();
        for (key, value) in pairs {
            let before = raw.get(key);
            raw.set(key, value)?;
            if raw.get(key) == before {
                continue;
            }
            check_object(key, value)?;
            if !is_tunable(key) || (is_banked && *key == "cache.hit_latency") {
                let (key, valid) = ((*key).to_owned(), tunable());
                return Err(DeviceError::Fixed { key, valid });
            }
            let time = raw.value(key).and_then(Ps::of);
            if time > Some(longest) && *key != "device.hint_threshold" {
                let (key, value) = ((*key).to_owned(), (*value).to_owned());
                return Err(DeviceError::TooLong {
                    key,
                    value,
                    longest,
                });
            }
            keys.push(*key);
        }
        let config = DeviceConfig::new(&raw)?;
        Ok(Change { config, keys })
    }

    /// Whether any parameter has another value than before.
    pub fn is_one(&self) -> bool {
        !self.keys.is_empty()
    }

    fn is_under(&self, prefix: &str) -> bool {
        self.keys.iter().any(|key| key.starts_with(prefix))
    }

    /// Gives each stage the settings that concern it. A new policy draws from `seed`.
    pub fn apply<O: Observer>(&self, pipeline: &mut Pipeline<O>, seed: u64) {
        let own = |key: &&str| is_own(self.config.cache.eviction, key);
        let is_external = pipeline.storage.cache.has_external_policy();
        if self.is_under("cache.policy") || self.keys.iter().any(own) && !is_external {
            pipeline.change_policy(&self.config, seed);
        }
        if self.is_under("prefetch.") {
            let stays = !self.is_under("prefetch.policy");
            pipeline.change_prefetcher(&self.config, stays);
        }
        if self.is_under("nand.") {
            pipeline.storage.back.retime(&self.config);
        }
        pipeline.retune(&self.config);
    }
}
