//! Parameters that can change while the device runs.

use super::Device;
use crate::config::{ConfigError, DeviceConfig};
use crate::prefetch::Prefetcher;
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

impl Device {
    /// Gives parameters other values from now on, all or none. Says whether any had another.
    ///
    /// The cache keeps its pages. A new eviction policy, or the same with other parameters, gets
    /// them as newcomers in the order in which the old one would have let them go; it draws from
    /// `seed`. A new prefetcher has learned nothing yet. Latencies hold for what is asked for
    /// from now on. Allocates; everything else in here does not.
    ///
    /// # Errors
    /// What [`RawConfig::set`](crate::RawConfig::set) and `check` find, [`ConfigError::Fixed`] for
    /// what cannot change and [`ConfigError::Plugin`] for a policy that is a shared object.
    /// Nothing is changed then.
    pub fn tune(&mut self, pairs: &[(&str, &str)], seed: u64) -> Result<bool, ConfigError> {
        self.tune_within(pairs, seed, Ps::MAX)
    }

    /// The same for somebody who may give no parameter a longer time than `longest`, but for
    /// `device.hint_threshold`, which nothing waits for.
    ///
    /// # Errors
    /// As for [`Device::tune`], and [`ConfigError::TooLong`].
    pub fn tune_within(
        &mut self,
        pairs: &[(&str, &str)],
        seed: u64,
        longest: Ps,
    ) -> Result<bool, ConfigError> {
        let mut raw = self.config.raw().clone();
        let mut changed = Vec::new();
        for (key, value) in pairs {
            let before = raw.get(key);
            raw.set(key, value)?;
            if raw.get(key) == before {
                continue;
            }
            // DRAM with banks has times of its own.
            let is_banked = self.dram.is_some() && *key == "cache.hit_latency";
            if !is_tunable(key) || is_banked {
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
            changed.push(*key);
        }
        let config = raw.check()?;
        let is_new = changed.contains(&"cache.policy");
        if let Some(path) = config.cache.plugin.as_ref().filter(|_| is_new) {
            return Err(ConfigError::Plugin {
                path: path.clone(),
                why:
                    "a shared object is loaded when the device is made, not while it runs: a guest \
                      writes the control ring too, and could run code on its host"
                        .to_owned(),
            });
        }
        self.apply(&changed, config, seed);
        Ok(!changed.is_empty())
    }

    fn apply(&mut self, changed: &[&str], config: DeviceConfig, seed: u64) {
        self.config = config;
        let config = &self.config;
        let any = |prefix: &str| changed.iter().any(|key| key.starts_with(prefix));
        let own = format!("cache.{}_", config.cache.eviction.info.name);
        if any("cache.policy") || any(&own) && !self.cache.has_external_policy() {
            self.cache.change_policy(config, seed);
            let banked = self.dram.is_some();
            self.watches_hits = self.watches_lines || self.cache.sheds || banked;
        }
        if any("prefetch.") {
            self.prefetch = Prefetcher::new(config);
            self.prefetches = config.prefetch.policy.info.name != "none";
        }
        if any("nand.") {
            self.back.retime(config);
        }
        self.cache.limit_pins(config.cache.pins_per_set);
        let log = config.write_log.as_ref();
        self.log_index_extra = log.map_or_else(Default::default, |log| {
            log.index_latency - config.cache.index_latency
        });
    }
}
