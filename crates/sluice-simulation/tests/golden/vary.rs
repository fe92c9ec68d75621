//! Other values of a parameter.

use sluice_model::{Kind, Param};
use sluice_units::{Bytes, Ps};

/// Another value of a parameter, and the name of its row.
pub struct Variant {
    pub key: &'static str,
    pub value: String,
    /// Each name of a choice has a row, so that a new one changes none; other values share theirs.
    pub row: String,
}

/// Values to try beside a parameter's own.
pub fn variants(param: &Param) -> Vec<Variant> {
    let mut values = match param.key {
        "cache.ways" => ["1", "4", "full"].map(str::to_owned).to_vec(),
        _ => values(&param.kind, param.default),
    };
    values.retain(|value| value != param.default);
    values.dedup();
    let is_choice = !param.kind.choices().is_empty();
    let variant = |value: String| Variant {
        key: param.key,
        row: match is_choice {
            true => format!("{}={value}", param.key),
            false => param.key.to_owned(),
        },
        value,
    };
    values.into_iter().map(variant).collect()
}

fn values(kind: &Kind, now: &str) -> Vec<String> {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    match kind {
        Kind::Flag { .. }
        | Kind::Choice(_)
        | Kind::ChoiceOrPath(_)
        | Kind::Or(_, Kind::Choice(_)) => texts(&kind.choices()),
        Kind::Or(word, kind) => [texts(&[word]), values(kind, now)].concat(),
        Kind::Time { max } => times(now, *max),
        Kind::Size => sizes(now),
        Kind::SizeOrShare => [texts(&["25%"]), sizes(now)].concat(),
        Kind::Count { min, max } => counts(now, *min, *max),
        Kind::Bandwidth { max } => counts(now, 1, *max),
        Kind::BlocksOrShare => texts(&["2", "10%"]),
        Kind::Share { .. } => texts(&["1%", "20%", "1/3", "95%", "130%"]),
        Kind::Order(names) => vec![
            names.iter().rev().copied().collect(),
            names[2..].iter().chain(&names[..2]).copied().collect(),
        ],
    }
}

/// None, a few nanoseconds, the half and the double, and too long.
fn times(now: &str, max: Ps) -> Vec<String> {
    let now = now.parse().unwrap_or(Ps::from_ns(100));
    [
        Ps::ZERO,
        Ps::from_ns(7),
        Ps(now.0 / 2),
        now * 2,
        max + Ps(1),
    ]
    .iter()
    .map(Ps::to_string)
    .collect()
}

/// A page, a line, the half and the double.
fn sizes(now: &str) -> Vec<String> {
    let now = now.parse().unwrap_or(Bytes(1 << 20));
    [Bytes(4096), Bytes(64), Bytes(now.0 / 2), Bytes(now.0 * 2)]
        .iter()
        .map(Bytes::to_string)
        .collect()
}

/// The smallest, some small ones, the half and the double, and too many.
fn counts(now: &str, min: u64, max: u64) -> Vec<String> {
    let now: u64 = now.parse().unwrap_or(min.max(4));
    let mut counts = vec![
        min,
        min + 1,
        3,
        now / 2,
        now + 1,
        now * 2,
        max.saturating_add(1),
    ];
    counts.sort_unstable();
    counts.dedup();
    counts.iter().map(u64::to_string).collect()
}
