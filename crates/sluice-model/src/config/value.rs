//! The kinds of value a parameter takes.

use sluice_units::{Bytes, Ps, Ratio};
use std::fmt;

/// What a parameter's text must be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A time with its unit.
    Time {
        /// The largest time accepted.
        max: Ps,
    },
    /// A size with its unit, a whole number of pages.
    Size,
    /// A size with its unit, or `none`.
    SizeOrNone,
    /// A size, or a percentage of `device.capacity`.
    SizeOrShare,
    /// A whole number.
    Count {
        /// The smallest number accepted.
        min: u64,
        /// The largest number accepted.
        max: u64,
    },
    /// A number of ways, or `full`.
    Ways,
    /// A number of blocks, or a percentage of a plane's blocks.
    BlocksOrShare,
    /// A whole number, or a word that stands for none or all.
    CountOr {
        /// The word.
        word: &'static str,
        /// The smallest number accepted.
        min: u64,
        /// The largest number accepted.
        max: u64,
    },
    /// A percentage or ratio.
    Share {
        /// The largest share accepted, in percent. Zero is never accepted.
        max_percent: u64,
    },
    /// These names, each once, in any order and without a space between.
    Order(&'static [&'static str; 6]),
    /// One of the names that the function gives.
    Choice(fn() -> Vec<&'static str>),
    /// The same, or the path of a shared object: what has a slash in it or ends in `.so`.
    ChoiceOrPath(fn() -> Vec<&'static str>),
    /// A value of another kind, or a word that stands for there being none.
    Or(&'static str, &'static Kind),
}

/// A value of its parameter's kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Time(Ps),
    Size(Bytes),
    Count(u64),
    Share(Ratio),
    Full,
    /// Names, and their indices in the order given.
    Order(&'static [&'static str; 6], [u8; 6]),
    None,
    Choice(&'static str),
    Word(&'static str),
    Path(String),
}

const WAYS_MAX: u64 = 1 << 20;
const GC_BLOCKS_MAX: u64 = 1 << 20;

impl Kind {
    pub(super) fn parse(&self, text: &str) -> Option<Value> {
        let text = text.trim();
        match self {
            Kind::Time { max } => text
                .parse()
                .ok()
                .filter(|time| time <= max)
                .map(Value::Time),
            Kind::Size => text
                .parse()
                .ok()
                .filter(|size| *size > Bytes(0))
                .map(Value::Size),
            Kind::SizeOrNone if text == "none" => Some(Value::None),
            Kind::SizeOrNone => Kind::Size.parse(text),
            Kind::SizeOrShare => Kind::Size.parse(text).or_else(|| share(text, 100)),
            Kind::Count { min, max } => count(text, *min, *max),
            Kind::Ways if text == "full" => Some(Value::Full),
            Kind::Ways => count(text, 1, WAYS_MAX),
            Kind::BlocksOrShare => count(text, 1, GC_BLOCKS_MAX).or_else(|| share(text, 50)),
            Kind::CountOr { word, .. } if text == *word => Some(Value::Choice(word)),
            Kind::CountOr { min, max, .. } => count(text, *min, *max),
            Kind::Share { max_percent } => share(text, *max_percent),
            Kind::Order(names) => order(text, names).map(|order| Value::Order(names, order)),
            Kind::Choice(names) => names()
                .into_iter()
                .find(|name| *name == text)
                .map(Value::Choice),
            Kind::ChoiceOrPath(names) => Kind::Choice(*names).parse(text).or_else(|| path(text)),
            Kind::Or(word, _) if text == *word => Some(Value::Word(word)),
            Kind::Or(_, kind) => kind.parse(text),
        }
    }

    /// What is accepted, for messages and the reference documentation.
    pub fn expected(&self) -> String {
        match self {
            Kind::Time { max } => format!("a time from 0 to {max} in s, ms, us, ns or ps"),
            Kind::Size => "a size in B, kB, KiB, MB, MiB, GB, GiB, TB or TiB".to_owned(),
            Kind::SizeOrNone => {
                "\"none\" or a size in B, kB, KiB, MB, MiB, GB, GiB, TB or TiB".to_owned()
            }
            Kind::SizeOrShare => {
                "a size such as 16MiB, or a percentage of device.capacity up to 100%".to_owned()
            }
            Kind::Count { min, max } => format!("a whole number from {min} to {max}"),
            Kind::Ways => format!("\"full\" or a number of ways from 1 to {WAYS_MAX}"),
            Kind::BlocksOrShare => {
                "a number of blocks from 1, or a percentage of a plane's blocks up to 50%"
                    .to_owned()
            }
            Kind::CountOr { word, min, max } => {
                format!("\"{word}\" or a whole number from {min} to {max}")
            }
            Kind::Share { max_percent } => {
                format!("a percentage or ratio above 0, up to {max_percent}%")
            }
            Kind::Order(names) => {
                format!(
                    "{} in any order, such as {}",
                    names.join(", "),
                    names.concat()
                )
            }
            Kind::Choice(names) => format!("one of {}", names().join(", ")),
            Kind::ChoiceOrPath(names) => format!(
                "one of {}, or the path of a shared object such as ./mine.so",
                names().join(", ")
            ),
            Kind::Or(word, kind) => format!("\"{word}\" or {}", kind.expected()),
        }
    }

    /// The names a choice has; nothing for other kinds.
    pub fn choices(&self) -> Vec<&'static str> {
        match self {
            Kind::Choice(names) | Kind::ChoiceOrPath(names) => names(),
            _ => Vec::new(),
        }
    }
}

fn count(text: &str, min: u64, max: u64) -> Option<Value> {
    let count: u64 = text.parse().ok()?;
    (min..=max).contains(&count).then_some(Value::Count(count))
}

/// Which of the names comes when, if each comes once. No name is the start of another.
fn order(text: &str, names: &[&str; 6]) -> Option<[u8; 6]> {
    let (mut rest, mut order) = (text, [0; 6]);
    for place in 0..names.len() {
        let found = names.iter().position(|name| rest.starts_with(name))?;
        if order[..place].contains(&(found as u8)) {
            return None;
        }
        order[place] = found as u8;
        rest = &rest[names[found].len()..];
    }
    rest.is_empty().then_some(order)
}

/// A path stands on one line wherever settings are written.
fn path(text: &str) -> Option<Value> {
    let is_path = text.contains('/') || text.ends_with(".so");
    (is_path && !text.contains(char::is_control)).then(|| Value::Path(text.to_owned()))
}

/// A share needs its percent sign or fraction, so that `5` is not taken for five hundred percent.
fn share(text: &str, max_percent: u64) -> Option<Value> {
    let share: Ratio = text.parse().ok()?;
    let marked = text.contains(['%', '/', '.']);
    let allowed = share > Ratio::ZERO && share <= Ratio::percent(max_percent);
    (marked && allowed).then_some(Value::Share(share))
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Time(time) => time.fmt(f),
            Value::Size(size) => size.fmt(f),
            Value::Count(count) => count.fmt(f),
            Value::Share(share) => share.fmt(f),
            Value::Full => f.write_str("full"),
            Value::Order(names, order) => order
                .iter()
                .try_for_each(|index| f.write_str(names[usize::from(*index)])),
            Value::None => f.write_str("none"),
            Value::Choice(name) | Value::Word(name) => f.write_str(name),
            Value::Path(path) => f.write_str(path),
        }
    }
}
