//! Parameters that can change while the device runs.

use super::engine::Engine;
use super::observer::Observer;
use crate::config::{ConfigError, DeviceConfig};
use sluice_units::Ps;

/// What can change: keys, and with a star all keys that begin so.
pub const TUNABLE: &[&str] = &[
    "cache.policy",
    "cache.s3fifo_*",
    "cache.clock_*",
    "cache.twoq_*",
    "cache.slru_*",
    "cache.lfru_*",
    "cache.lirs_*",
    "cache.wtinylfu_*",
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

/// Whether a parameter can change while the device runs.
pub fn is_tunable(key: &str) -> bool {
    TUNABLE.iter().any(|entry| match entry.strip_suffix('*') {
        Some(prefix) => key.starts_with(prefix),
        None => key == *entry,
    })
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
    ) -> Result<Change<'a>, ConfigError> {
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
            if !is_tunable(key) || (is_banked && *key == "cache.hit_latency") {
                let (key, valid) = ((*key).to_owned(), TUNABLE);
                return Err(ConfigError::Fixed { key, valid });
            }
            if raw.time_of(key) > Some(longest) && *key != "device.hint_threshold" {
                let (key, value) = ((*key).to_owned(), (*value).to_owned());
                return Err(ConfigError::TooLong {
                    key,
                    value,
                    longest,
                });
            }
            keys.push(*key);
        }
        let config = raw.check()?;
        if let Some(path) = &config.cache.plugin
            && keys.contains(&"cache.policy")
        {
            return Err(ConfigError::Plugin {
                path: path.clone(),
                why:
                    "a shared object is loaded when the device is made, not while it runs: a guest \
                      writes the control ring too, and could run code on its host"
                        .to_owned(),
            });
        }
        Ok(Change { config, keys })
    }

    /// Whether any parameter has another value than before.
    pub fn is_one(&self) -> bool {
        !self.keys.is_empty()
    }

    fn is_under(&self, prefix: &str) -> bool {
        self.keys.iter().any(|key| key.starts_with(prefix))
    }

    /// Tells the stages of what concerns them. A new policy draws from `seed`.
    pub fn apply<O: Observer>(&self, engine: &mut Engine<O>, seed: u64) {
        let own = format!("cache.{}_", self.config.cache.eviction.info.name);
        let is_external = engine.tiers.cache.has_external_policy();
        if self.is_under("cache.policy") || self.is_under(&own) && !is_external {
            engine.change_policy(&self.config, seed);
        }
        if self.is_under("prefetch.") {
            engine.change_prefetcher(&self.config);
        }
        if self.is_under("nand.") {
            engine.tiers.back.retime(&self.config);
        }
        engine.retune(&self.config);
    }
}
