//! Values as they were given, each valid for its own parameter.

use super::checked::DeviceConfig;
use super::error::{ConfigError, nearest};
use super::params::{PARAMS, index_of};
use super::value::Value;
use sluice_units::Bytes;

/// A value for every parameter. Contradictions are found by [`RawConfig::check`] alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawConfig {
    /// One for each of [`PARAMS`].
    values: Vec<Value>,
}

impl Default for RawConfig {
    /// Every parameter at its default.
    fn default() -> RawConfig {
        let parse = |param: &super::Param| param.kind.parse(param.default);
        let values: Option<Vec<Value>> = PARAMS.iter().map(parse).collect();
        RawConfig {
            values: values.expect("every default is a value of its kind"),
        }
    }
}

impl RawConfig {
    /// Gives a parameter a value.
    ///
    /// # Errors
    /// [`ConfigError::UnknownKey`] and [`ConfigError::BadValue`]. Nothing is changed then.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        let keys = || PARAMS.iter().map(|param| param.key);
        let Some(index) = index_of(key) else {
            return Err(ConfigError::UnknownKey {
                key: key.to_owned(),
                nearest: nearest(key, keys()),
                valid: keys().collect::<Vec<_>>().join(", "),
            });
        };
        let param = &PARAMS[index];
        let parsed = param
            .kind
            .parse(value)
            .ok_or_else(|| ConfigError::BadValue {
                key: param.key,
                value: value.to_owned(),
                nearest: nearest(value, param.kind.choices().into_iter()),
                expected: param.kind.expected(),
            })?;
        self.values[index] = parsed;
        Ok(())
    }

    /// The canonical text of a parameter's value, or `None` for an unknown key.
    pub fn get(&self, key: &str) -> Option<String> {
        index_of(key).map(|index| self.values[index].to_string())
    }

    /// Every key with the canonical text of its value. Setting them all reproduces this.
    pub fn to_pairs(&self) -> Vec<(&'static str, String)> {
        let texts = self.values.iter().map(Value::to_string);
        PARAMS.iter().map(|param| param.key).zip(texts).collect()
    }

    /// Checks the values against each other. Nothing else validates.
    ///
    /// # Errors
    /// [`ConfigError::Impossible`].
    pub fn check(&self) -> Result<DeviceConfig, ConfigError> {
        DeviceConfig::new(self)
    }

    /// The same with a cache of so many bytes.
    pub(super) fn with_cache_of(&self, bytes: u64) -> RawConfig {
        let mut raw = self.clone();
        let index = index_of("cache.capacity").expect("a key of PARAMS");
        raw.values[index] = Value::Size(Bytes(bytes));
        raw
    }

    pub(super) fn value(&self, key: &'static str) -> Value {
        self.values[index_of(key).expect("a key of PARAMS")].clone()
    }
}
