//! What can be wrong with a configuration. Each message is one line.

/// A key, a value or a combination that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No parameter has this name.
    #[error(
        "unknown key `{}`: {}valid keys are {valid}",
        key.escape_debug(),
        did_you_mean(nearest)
    )]
    UnknownKey {
        /// The key as given.
        key: String,
        /// The valid key most like it, if one is.
        nearest: Option<&'static str>,
        /// Those of its table, or in which tables they are.
        valid: String,
    },
    /// The parameter does not take this value.
    #[error(
        "bad value for `{key}`: {value:?}{}; expected {expected}",
        near_value(nearest)
    )]
    BadValue {
        /// The parameter.
        key: &'static str,
        /// The value as given.
        value: String,
        /// The valid choice most like it, if one is.
        nearest: Option<&'static str>,
        /// What would be accepted.
        expected: String,
    },
    /// Each value is valid, but not all of them together.
    #[error("impossible configuration: {}: {message}", pairs(settings))]
    Impossible {
        /// The parameters that contradict each other, with their values.
        settings: Vec<(&'static str, String)>,
        /// Why, and what would be accepted.
        message: String,
    },
}

fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |key| format!("did you mean `{key}`? "))
}

fn near_value(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |name| format!(" (did you mean {name}?)"))
}

fn pairs(settings: &[(&'static str, String)]) -> String {
    let pairs: Vec<String> = settings
        .iter()
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    pairs.join(", ")
}

/// The candidate most like `text`, if it is like it at all.
pub(crate) fn nearest(
    text: &str,
    candidates: impl Iterator<Item = &'static str>,
) -> Option<&'static str> {
    let scored = candidates.map(|c| (strsim::damerau_levenshtein(text, c), c));
    let (distance, candidate) = scored.min_by_key(|(distance, _)| *distance)?;
    (distance * 3 <= candidate.len().max(3)).then_some(candidate)
}
