//! Values with units as text, in integers only.

use std::fmt;

/// A unit's name and how many base units it stands for.
pub(crate) type Unit = (&'static str, u64);

/// A text that is not a value of the expected unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseUnitError {
    /// The text as given.
    pub value: String,
    /// What would have been accepted, for a message.
    pub expected: String,
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bad value {:?}: expected {}", self.value, self.expected)
    }
}

impl std::error::Error for ParseUnitError {}

/// A decimal number as digits and a power of ten: `4.80` is (480, 2).
pub(crate) struct Decimal {
    /// All digits, the point removed.
    pub digits: u128,
    /// How many of the digits stood behind the point.
    pub places: u32,
}

impl Decimal {
    /// Splits `text` into its leading decimal number and the rest.
    pub fn split(text: &str) -> Option<(Decimal, &str)> {
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')
            .unwrap_or(text.len());
        let (number, rest) = text.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if !whole.starts_with(|c: char| c.is_ascii_digit()) || fraction.contains('.') {
            return None;
        }
        if number.ends_with(['.', '_']) || fraction.starts_with('_') {
            return None;
        }
        let mut digits: u128 = 0;
        for c in whole.chars().chain(fraction.chars()).filter(|c| *c != '_') {
            let digit = u128::from(c.to_digit(10)?);
            digits = digits.checked_mul(10)?.checked_add(digit)?;
        }
        let places = fraction.chars().filter(|c| *c != '_').count();
        Some((
            Decimal {
                digits,
                places: u32::try_from(places).ok()?,
            },
            rest,
        ))
    }

    /// The number times `scale`, if that is a whole number that fits.
    pub fn scaled(&self, scale: u64) -> Option<u64> {
        let product = self.digits.checked_mul(u128::from(scale))?;
        let divisor = 10u128.checked_pow(self.places)?;
        if !product.is_multiple_of(divisor) {
            return None;
        }
        u64::try_from(product / divisor).ok()
    }
}

/// Reads `text` as a number followed by one of `units`. A bare `0` needs no unit.
pub(crate) fn parse(text: &str, units: &[Unit], example: &str) -> Result<u64, ParseUnitError> {
    let value = || -> Option<u64> {
        let (number, rest) = Decimal::split(text.trim())?;
        let name = rest.trim_start();
        if name.is_empty() {
            return (number.digits == 0).then_some(0);
        }
        if is_bits(name) {
            return None;
        }
        let unit = units.iter().find(|(n, _)| n.eq_ignore_ascii_case(name))?;
        number.scaled(unit.1)
    };
    value().ok_or_else(|| ParseUnitError {
        value: text.to_owned(),
        expected: format!("a number with a unit ({}), such as {example}", names(units)),
    })
}

/// Whether a unit means bits, as in the `16Gb` of a data sheet: its prefix is written as units have
/// it, so its `b` is none of `B` that somebody did not mind.
fn is_bits(unit: &str) -> bool {
    unit.ends_with('b') && unit.contains(|c: char| c.is_ascii_uppercase())
}

/// Writes `value` in the unit that gives the shortest text without a fraction.
///
/// Among equals the first in `units` wins.
pub(crate) fn shortest(value: u64, units: &[Unit], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut best: Option<(u64, &str)> = None;
    for (name, scale) in units {
        let count = value / scale;
        if value.is_multiple_of(*scale) && best.is_none_or(|(b, _)| digits(count) < digits(b)) {
            best = Some((count, name));
        }
    }
    match best {
        Some((count, name)) if value > 0 => f.pad(&format!("{count}{name}")),
        _ => f.pad(&format!("{value}{}", units[units.len() - 1].0)),
    }
}

fn digits(value: u64) -> u32 {
    value.checked_ilog10().unwrap_or(0)
}

fn names(units: &[Unit]) -> String {
    let names = units.iter().map(|(name, _)| *name);
    let names: Vec<&str> = names.filter(|name| name.is_ascii()).collect();
    names.join(", ")
}
