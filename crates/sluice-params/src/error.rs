//! What can be wrong with a configuration. Each message is one line.

/// A key, a value or a combination that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No parameter has this name.
    #[error("unknown key `{}`: {hint}", key.escape_debug())]
    UnknownKey {
        /// The key as given.
        key: String,
        /// The keys that it may mean, or the first that there are, for the message.
        hint: String,
        /// The keys of its table, or in which tables they are.
        valid: String,
    },
    /// The parameter does not take this value.
    #[error(
        "bad value for `{key}`: {value:?}{}; expected {expected}",
        remark(nearest, value)
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

fn remark(nearest: &Option<&'static str>, value: &str) -> String {
    match nearest {
        Some(name) => format!(" (did you mean {name}?)"),
        None if value.is_empty() => " is empty".to_owned(),
        None => String::new(),
    }
}

fn pairs(settings: &[(&'static str, String)]) -> String {
    let pairs: Vec<String> = settings
        .iter()
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    pairs.join(", ")
}

/// The candidate most like `text`, if it is like it at all.
pub fn nearest<'a>(text: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let text = text.to_lowercase();
    let scored = candidates.map(|c| (strsim::damerau_levenshtein(&text, c), c));
    let (distance, candidate) = scored.min_by_key(|(distance, _)| *distance)?;
    (distance * 3 <= candidate.len().max(3)).then_some(candidate)
}
