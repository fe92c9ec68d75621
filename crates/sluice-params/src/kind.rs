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
    /// A size with its unit. Zero is never accepted.
    Size,
    /// A size, or a percentage of `device.capacity`.
    SizeOrShare,
    /// A whole number.
    Count {
        /// The smallest number accepted.
        min: u64,
        /// The largest number accepted.
        max: u64,
    },
    /// A size a second with its unit, or a whole number of MB/s (10^6 bytes).
    Bandwidth {
        /// The largest bandwidth accepted, MB/s. Zero is never accepted.
        max: u64,
    },
    /// A number of blocks, or a percentage of a plane's blocks.
    BlocksOrShare,
    /// A percentage or ratio.
    Share {
        /// The largest share accepted, in percent. Zero is never accepted.
        max_percent: u64,
    },
    /// These names, each once, in any order and without a space between.
    Order(&'static [&'static str; 6]),
    /// Whether something is so: one of two words.
    Flag {
        /// The word for no.
        off: &'static str,
        /// The word for yes.
        on: &'static str,
    },
    /// One of some names.
    Choice(fn() -> Vec<Choice>),
    /// One of some names, or the path of a shared object: a value with a slash in it, or one that
    /// ends in `.so`.
    ChoiceOrPath(fn() -> Vec<Choice>),
    /// A value of another kind, or a word that stands for there being none.
    Or(&'static str, &'static Kind),
}

/// One of the names that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The name.
    pub name: &'static str,
    /// What it means; empty if that is stated elsewhere, as for a registry's entries.
    pub meaning: &'static str,
}

impl Choice {
    /// Choices whose meanings are stated elsewhere.
    pub fn plain(names: impl IntoIterator<Item = &'static str>) -> Vec<Choice> {
        let plain = |name| Choice { name, meaning: "" };
        names.into_iter().map(plain).collect()
    }
}

/// A time of any length that can be meant.
pub const TIME: Kind = Kind::Time {
    max: Ps::from_ms(10_000),
};

/// A value of its parameter's kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Of [`Kind::Time`].
    Time(Ps),
    /// Of [`Kind::Size`], or the size of [`Kind::SizeOrShare`].
    Size(Bytes),
    /// Of [`Kind::Count`], MB/s of [`Kind::Bandwidth`], or the number of [`Kind::BlocksOrShare`].
    Count(u64),
    /// Of [`Kind::Share`] and of the two that take a share beside something else.
    Share(Ratio),
    /// Of [`Kind::Order`]: the names, and their indices in the order given.
    Order(&'static [&'static str; 6], [u8; 6]),
    /// Of [`Kind::Flag`], with its word.
    Flag(bool, &'static str),
    /// Of [`Kind::Choice`]: the index of a name, and the name.
    Choice(usize, &'static str),
    /// The word of [`Kind::Or`].
    Word(&'static str),
    /// The path of [`Kind::ChoiceOrPath`].
    Path(String),
}

const GC_BLOCKS_MAX: u64 = 1 << 20;

impl Kind {
    /// Yes or no.
    pub const NO_YES: Kind = Kind::Flag {
        off: "no",
        on: "yes",
    };

    /// On or off.
    pub const OFF_ON: Kind = Kind::Flag {
        off: "off",
        on: "on",
    };

    /// The value that a text means, if it means one of this kind.
    pub fn parse(&self, text: &str) -> Option<Value> {
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
            Kind::SizeOrShare => Kind::Size.parse(text).or_else(|| share(text, 100)),
            Kind::Count { min, max } => count(text, *min, *max),
            Kind::Bandwidth { max } => match sluice_units::parse_bandwidth(text) {
                Some(mb) => (1..=*max).contains(&mb).then_some(Value::Count(mb)),
                None => count(text, 1, *max),
            },
            Kind::BlocksOrShare => count(text, 1, GC_BLOCKS_MAX).or_else(|| share(text, 50)),
            Kind::Share { max_percent } => share(text, *max_percent),
            Kind::Order(names) => order(text, names).map(|order| Value::Order(names, order)),
            Kind::Flag { off, .. } if text == *off => Some(Value::Flag(false, off)),
            Kind::Flag { on, .. } => (text == *on).then_some(Value::Flag(true, on)),
            Kind::Choice(choices) => {
                let mut named = (0..).zip(choices());
                let (index, choice) = named.find(|(_, choice)| choice.name == text)?;
                Some(Value::Choice(index, choice.name))
            }
            Kind::ChoiceOrPath(names) => Kind::Choice(*names).parse(text).or_else(|| path(text)),
            Kind::Or(word, _) if text == *word => Some(Value::Word(word)),
            Kind::Or(_, kind) => kind.parse(text),
        }
    }

    /// What is accepted, for messages and the reference documentation.
    pub fn expected(&self) -> String {
        match self {
            Kind::Time { max } => {
                format!("a time from 0 to {max} in s, ms, us, ns or ps, such as 40us")
            }
            Kind::Size => {
                "a size above 0 in B, kB, KiB, MB, MiB, GB, GiB, TB or TiB, such as 16MiB"
                    .to_owned()
            }
            Kind::SizeOrShare => {
                "a size above 0 such as 16MiB, or a percentage of device.capacity up to 100%"
                    .to_owned()
            }
            Kind::Count { min, max } => format!("a whole number from {min} to {max}"),
            Kind::Bandwidth { max } => {
                format!("a bandwidth such as 16GB/s, or a whole number of MB/s from 1 to {max}")
            }
            Kind::BlocksOrShare => {
                "a number of blocks from 1, or a percentage of a plane's blocks up to 50%"
                    .to_owned()
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
            Kind::Flag { .. } | Kind::Choice(_) | Kind::Or(_, Kind::Choice(_)) => {
                format!("one of {}", self.choices().join(", "))
            }
            Kind::ChoiceOrPath(_) => format!(
                "one of {}, or the path of a shared object such as ./mine.so",
                self.choices().join(", ")
            ),
            Kind::Or(word, kind) => format!("\"{word}\" or {}", kind.expected()),
        }
    }

    /// The names that a choice takes; nothing for other kinds.
    pub fn choices(&self) -> Vec<&'static str> {
        let options = self.options().into_iter();
        options.map(|choice| choice.name).collect()
    }

    /// The names that a choice takes, with what they mean; nothing for other kinds.
    pub fn options(&self) -> Vec<Choice> {
        let plain = |name| Choice { name, meaning: "" };
        match self {
            Kind::Choice(choices) | Kind::ChoiceOrPath(choices) => choices(),
            Kind::Flag { off, on } => vec![plain(off), plain(on)],
            Kind::Or(word, Kind::Choice(choices)) => {
                std::iter::once(plain(word)).chain(choices()).collect()
            }
            Kind::Time { .. }
            | Kind::Size
            | Kind::SizeOrShare
            | Kind::Count { .. }
            | Kind::Bandwidth { .. }
            | Kind::BlocksOrShare
            | Kind::Share { .. }
            | Kind::Order(_)
            | Kind::Or(..) => Vec::new(),
        }
    }
}

impl Value {
    /// The index of a choice's name among all of them.
    pub fn index(&self) -> Option<usize> {
        match self {
            Value::Choice(index, _) => Some(*index),
            _ => None,
        }
    }
}

fn count(text: &str, min: u64, max: u64) -> Option<Value> {
    let count = sluice_units::parse_count(text).ok()?;
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
            Value::Order(names, order) => order
                .iter()
                .try_for_each(|index| f.write_str(names[usize::from(*index)])),
            Value::Flag(_, name) | Value::Choice(_, name) | Value::Word(name) => f.write_str(name),
            Value::Path(path) => f.write_str(path),
        }
    }
}
