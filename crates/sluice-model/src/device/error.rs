//! Why a device cannot be made or tuned. Each message is one line.

use crate::cache::EVICTIONS;
use crate::config::PARAMS;
use crate::prefetch::PREFETCHES;
use sluice_params::ConfigError;
use sluice_units::Ps;

/// Why a device cannot be as it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// A key, a value or a combination cannot be.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The shared object that `cache.policy` or `prefetch.policy` names cannot be used.
    #[error("bad value for `{key}`: {path:?}: {why}; expected {}", expected(key))]
    Plugin {
        /// The parameter that names the shared object.
        key: &'static str,
        /// The path of the shared object.
        path: String,
        /// Why it cannot be loaded.
        why: String,
    },
    /// A shared object is to take the place of a policy while the device runs.
    #[error(
        "bad value for `{key}`: {path:?}: a shared object is loaded when the device is made, not \
         while it runs; expected one of {}",
        names(key)
    )]
    Object {
        /// The parameter that names the shared object.
        key: &'static str,
        /// The path of the shared object.
        path: String,
    },
    /// The parameter has its value for as long as the device is there.
    #[error("`{key}` cannot change while the device runs; what can: {}", valid.join(", "))]
    Fixed {
        /// The key of the parameter.
        key: String,
        /// The keys that can change.
        valid: Vec<String>,
    },
    /// A guest gives a parameter a time that only its host may give it.
    #[error("bad value for `{key}`: {value:?}; from a guest expected at most {longest}")]
    TooLong {
        /// The key of the parameter.
        key: String,
        /// The value as given.
        value: String,
        /// The longest time.
        longest: Ps,
    },
}

/// The policies of a parameter that are no shared objects.
fn names(key: &str) -> String {
    let names: Vec<&str> = match key {
        "cache.policy" => EVICTIONS.iter().map(|entry| entry.info.name).collect(),
        _ => PREFETCHES.iter().map(|entry| entry.info.name).collect(),
    };
    names.join(", ")
}

/// What a parameter takes.
fn expected(key: &str) -> String {
    let param = PARAMS.iter().find(|param| param.key == key);
    param.map_or_else(String::new, |param| param.kind.expected())
}
