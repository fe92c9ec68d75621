//! Values as they were given, each valid for its own parameter.

use crate::error::{ConfigError, nearest};
use crate::kind::Value;
use crate::param::Param;
use crate::typed::Typed;
use crate::unknown::unknown_key;

/// A value for every parameter of a list. Contradictions are found by the constructor of the
/// checked configuration alone.
#[derive(Clone, Debug)]
pub struct RawConfig {
    params: &'static [Param],
    /// One for each of `params`.
    values: Vec<Value>,
    /// The command that lists the keys; nothing, if none does.
    shown_by: &'static str,
}

impl PartialEq for RawConfig {
    /// Equal values of one list of parameters: lists of equal keys are still two lists.
    fn eq(&self, other: &RawConfig) -> bool {
        std::ptr::eq(self.params, other.params) && self.values == other.values
    }
}

impl Eq for RawConfig {}

impl RawConfig {
    /// Every parameter of `params` at its default. A default that its own kind refuses is a bug.
    pub fn of(params: &'static [Param]) -> RawConfig {
        let parse = |param: &Param| param.kind.parse(param.default);
        let values: Option<Vec<Value>> = params.iter().map(parse).collect();
        RawConfig {
            params,
            values: values.expect("every default is a value of its kind"),
            shown_by: "",
        }
    }

    /// These values, with the command that lists their keys: messages name it.
    pub fn shown_by(self, shown_by: &'static str) -> RawConfig {
        RawConfig { shown_by, ..self }
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
        let Some(index) = self.index_of(key) else {
            let keys: Vec<&str> = params.iter().map(|param| param.key).collect();
            return Err(unknown_key(key, &keys, self.shown_by));
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

    /// The value of a key.
    ///
    /// Panics on a key that there is not, or if the type does not fit the kind of its parameter: a
    /// list's owner asks for what the list declares. [`params!`](crate::params) asks so.
    pub fn read<T: Typed>(&self, key: &str) -> T {
        let value = self.value(key).expect("a key of the list");
        let typed = T::of(value);
        typed.unwrap_or_else(|| unreachable!("{key} is of another type than {value}"))
    }

    /// The value of any key, or `None` if there is no such key.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.index_of(key).map(|index| &self.values[index])
    }

    /// Whether a parameter has the value that it has if none is given.
    pub fn is_default(&self, param: &Param) -> bool {
        self.value(param.key) == param.kind.parse(param.default).as_ref()
    }

    /// That the values of these keys cannot be together, and why.
    pub fn impossible(&self, keys: &[&'static str], message: impl Into<String>) -> ConfigError {
        let text = |key: &&'static str| (*key, self.get(key).expect("a key of the list"));
        ConfigError::Impossible {
            settings: keys.iter().map(text).collect(),
            message: message.into(),
        }
    }

    fn index_of(&self, key: &str) -> Option<usize> {
        self.params.iter().position(|param| param.key == key)
    }
}
