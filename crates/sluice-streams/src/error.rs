//! Values that are not accepted.

use std::fmt;

/// A value that a workload does not accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {value:?} is not accepted; expected {expected}")]
pub struct BadValue {
    /// The flag or key.
    pub key: &'static str,
    /// The value as given.
    pub value: String,
    /// What would have been accepted.
    pub expected: String,
}

impl BadValue {
    /// The value given for a key, and what was expected.
    pub fn new(
        key: &'static str,
        value: impl fmt::Display,
        expected: impl Into<String>,
    ) -> BadValue {
        BadValue {
            key,
            value: value.to_string(),
            expected: expected.into(),
        }
    }
}
