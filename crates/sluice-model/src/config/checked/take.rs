//! Values of known kind, taken out of a raw configuration.

use crate::config::error::ConfigError;
use crate::config::raw::RawConfig;
use crate::config::value::Value;
use sluice_units::{Ps, Ratio};

pub(super) fn impossible(raw: &RawConfig, keys: &[&'static str], message: String) -> ConfigError {
    raw.impossible(keys, message)
}

pub(super) fn time(raw: &RawConfig, key: &'static str) -> Ps {
    raw.time(key)
}

pub(super) fn count(raw: &RawConfig, key: &'static str) -> u64 {
    raw.count(key)
}

pub(super) fn share(raw: &RawConfig, key: &'static str) -> Ratio {
    match raw.value(key) {
        Value::Share(share) => share,
        other => unreachable!("{key} is a share, not {other}"),
    }
}

pub(super) fn choice(raw: &RawConfig, key: &'static str) -> &'static str {
    raw.choice(key)
}

/// The value, or nothing if it is the word that stands for none.
pub(super) fn maybe(raw: &RawConfig, key: &'static str) -> Option<Value> {
    match raw.value(key) {
        Value::Word(_) => None,
        value => Some(value),
    }
}

/// The registry's entry that a choice names.
pub(super) fn named<T>(
    raw: &RawConfig,
    key: &'static str,
    registry: &'static [T],
    name: fn(&T) -> &'static str,
) -> &'static T {
    let wanted = choice(raw, key);
    let entry = registry.iter().find(|entry| name(entry) == wanted);
    entry.expect("a choice comes from its registry")
}
