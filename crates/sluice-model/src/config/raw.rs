//! Values as they were given, each valid for its own parameter.

use super::checked::DeviceConfig;
use super::error::{ConfigError, nearest};
use super::params::{PARAMS, Param};
use super::value::Value;
use sluice_units::{Bytes, Ps, Ratio};

/// A value for every parameter of a list: of a device's, unless it was made by [`RawConfig::of`].
/// Contradictions are found by the constructor of the checked configuration alone.
#[derive(Clone, Debug)]
pub struct RawConfig {
    params: &'static [Param],
    /// One for each of `params`.
    values: Vec<Value>,
}

impl PartialEq for RawConfig {
    /// The same values of the same list of parameters.
    fn eq(&self, other: &RawConfig) -> bool {
        std::ptr::eq(self.params, other.params) && self.values == other.values
    }
}

impl Eq for RawConfig {}

impl Default for RawConfig {
    /// Every parameter of a device at its default.
    fn default() -> RawConfig {
        RawConfig::of(PARAMS)
    }
}

impl RawConfig {
    /// Every parameter of `params` at its default. A default that its own kind refuses is a bug.
    pub fn of(params: &'static [Param]) -> RawConfig {
        let parse = |param: &Param| param.kind.parse(param.default);
        let values: Option<Vec<Value>> = params.iter().map(parse).collect();
        RawConfig {
            params,
            values: values.expect("every default is a value of its kind"),
        }
    }

    /// The parameters that it has values of.
    pub fn params(&self) -> &'static [Param] {
        self.params
    }

    /// Gives a parameter a value.
    ///
    /// # Errors
    /// [`ConfigError::UnknownKey`] and [`ConfigError::BadValue`]. Nothing is changed then.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        let params = self.params;
        let keys = || params.iter().map(|param| param.key);
        let Some(index) = self.index_of(key) else {
            return Err(ConfigError::UnknownKey {
                key: key.to_owned(),
                nearest: nearest(key, keys()),
                valid: valid_keys(key, keys()),
            });
        };
        let param = &params[index];
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
        self.index_of(key)
            .map(|index| self.values[index].to_string())
    }

    /// Every key with the canonical text of its value. Setting them all reproduces this.
    pub fn to_pairs(&self) -> Vec<(&'static str, String)> {
        let texts = self.values.iter().map(Value::to_string);
        let keys = self.params.iter().map(|param| param.key);
        keys.zip(texts).collect()
    }

    /// Checks a device's values against each other. Nothing else validates.
    ///
    /// # Errors
    /// [`ConfigError::Impossible`].
    pub fn check(&self) -> Result<DeviceConfig, ConfigError> {
        DeviceConfig::new(self)
    }

    /// The value of a key that takes a time.
    ///
    /// Like the getters below it panics on a key that there is not, or of another kind: a
    /// constructor asks for what its own list declares.
    pub fn time(&self, key: &'static str) -> Ps {
        match self.value(key) {
            Value::Time(time) => time,
            other => unreachable!("{key} is a time, not {other}"),
        }
    }

    /// The value of any key, if it is a time.
    pub(crate) fn time_of(&self, key: &str) -> Option<Ps> {
        match self.index_of(key).map(|index| &self.values[index]) {
            Some(Value::Time(time)) => Some(*time),
            _ => None,
        }
    }

    /// The value of a key that takes a whole number.
    pub fn count(&self, key: &'static str) -> u64 {
        match self.value(key) {
            Value::Count(count) => count,
            other => unreachable!("{key} is a count, not {other}"),
        }
    }

    /// The value of a key that takes a whole number or a word; `None` for the word.
    pub fn count_or_word(&self, key: &'static str) -> Option<u64> {
        match self.value(key) {
            Value::Count(count) => Some(count),
            Value::Choice(_) | Value::Word(_) => None,
            other => unreachable!("{key} is a count, not {other}"),
        }
    }

    /// The value of a key that takes a size, in bytes; `None` for the word that stands for none.
    pub fn bytes(&self, key: &'static str) -> Option<Bytes> {
        match self.value(key) {
            Value::Size(size) => Some(size),
            Value::None | Value::Word(_) | Value::Share(_) => None,
            other => unreachable!("{key} is a size, not {other}"),
        }
    }

    /// The value of a key that takes a share; `None` for the word that stands for none.
    pub fn share(&self, key: &'static str) -> Option<Ratio> {
        match self.value(key) {
            Value::Share(share) => Some(share),
            Value::None | Value::Word(_) | Value::Size(_) | Value::Count(_) => None,
            other => unreachable!("{key} is a share, not {other}"),
        }
    }

    /// The value of a key that takes one of some names.
    pub fn choice(&self, key: &'static str) -> &'static str {
        match self.value(key) {
            Value::Choice(name) => name,
            other => unreachable!("{key} is a choice, not {other}"),
        }
    }

    /// The value of a key that takes names in an order: the index of each.
    pub fn order(&self, key: &'static str) -> [u8; 6] {
        match self.value(key) {
            Value::Order(_, order) => order,
            other => unreachable!("{key} is an order, not {other}"),
        }
    }

    /// That the values of these keys cannot be together, and why.
    pub fn impossible(&self, keys: &[&'static str], message: String) -> ConfigError {
        let text = |key: &&'static str| (*key, self.value(key).to_string());
        let settings = keys.iter().map(text).collect();
        ConfigError::Impossible { settings, message }
    }

    /// The same with a cache of so many bytes.
    pub(super) fn with_cache_of(&self, bytes: u64) -> RawConfig {
        let mut raw = self.clone();
        let index = raw.index_of("cache.capacity").expect("a key of PARAMS");
        raw.values[index] = Value::Size(Bytes(bytes));
        raw
    }

    pub(super) fn value(&self, key: &'static str) -> Value {
        let index = self.index_of(key);
        self.values[index.expect("a key of the list")].clone()
    }

    fn index_of(&self, key: &str) -> Option<usize> {
        self.params.iter().position(|param| param.key == key)
    }
}

/// The keys of the table that a wrong key names, or else the tables.
fn valid_keys<'a>(wrong: &str, keys: impl Iterator<Item = &'a str> + Clone) -> String {
    let table = |key: &'a str| key.split('.').next().unwrap_or(key);
    let asked = wrong.split('.').next();
    let of_table: Vec<&str> = keys
        .clone()
        .filter(|key| asked == Some(table(key)))
        .collect();
    if of_table.is_empty() {
        let mut tables: Vec<&str> = keys.map(table).collect();
        tables.dedup();
        return format!("in the tables {}", tables.join(", "));
    }
    of_table.join(", ")
}
