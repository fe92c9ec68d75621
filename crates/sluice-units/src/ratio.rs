//! Ratios of integers, so that no state depends on floating point.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::text::{Decimal, ParseUnitError};

/// A non-negative ratio `num / den` in lowest terms. `den` is never zero.
///
/// Text: `5%`, `12.5%`, `0.07` or `1/14`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    num: u64,
    den: u64,
}

impl Ratio {
    /// A share of nothing.
    pub const ZERO: Ratio = Ratio { num: 0, den: 1 };

    /// `num / den` in lowest terms, or `None` if `den` is zero.
    pub const fn new(num: u64, den: u64) -> Option<Ratio> {
        if den == 0 {
            return None;
        }
        let divisor = gcd(num, den);
        Some(Ratio {
            num: num / divisor,
            den: den / divisor,
        })
    }

    /// `count` hundredths.
    pub const fn percent(count: u64) -> Ratio {
        let divisor = gcd(count, 100);
        Ratio {
            num: count / divisor,
            den: 100 / divisor,
        }
    }

    /// The numerator in lowest terms.
    pub const fn num(self) -> u64 {
        self.num
    }

    /// The denominator in lowest terms, at least 1.
    pub const fn den(self) -> u64 {
        self.den
    }

    /// `value` times the ratio, rounded down, or `u64::MAX` if that is too large.
    pub fn floor_of(self, value: u64) -> u64 {
        let product = u128::from(value) * u128::from(self.num);
        u64::try_from(product / u128::from(self.den)).unwrap_or(u64::MAX)
    }

    /// `value` times the ratio, rounded up, or `u64::MAX` if that is too large.
    pub fn ceil_of(self, value: u64) -> u64 {
        let product = u128::from(value) * u128::from(self.num);
        u64::try_from(product.div_ceil(u128::from(self.den))).unwrap_or(u64::MAX)
    }

    /// The nearest floating-point number, for reports only.
    pub fn to_f64(self) -> f64 {
        self.num as f64 / self.den as f64
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Ratio) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Ratio) -> Ordering {
        let left = u128::from(self.num) * u128::from(other.den);
        left.cmp(&(u128::from(other.num) * u128::from(self.den)))
    }
}

impl FromStr for Ratio {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Ratio, ParseUnitError> {
        parse(text.trim()).ok_or_else(|| ParseUnitError {
            value: text.to_owned(),
            expected: "a percentage or a ratio, such as 5%, 0.05 or 1/20".to_owned(),
        })
    }
}

fn parse(text: &str) -> Option<Ratio> {
    if let Some((num, den)) = text.split_once('/') {
        return Ratio::new(num.trim().parse().ok()?, den.trim().parse().ok()?);
    }
    let (number, rest) = Decimal::split(text)?;
    let hundredths = match rest.trim() {
        "" => 1,
        "%" => 100,
        _ => return None,
    };
    let den = 10u64.checked_pow(number.places)?.checked_mul(hundredths)?;
    Ratio::new(u64::try_from(number.digits).ok()?, den)
}

impl fmt::Display for Ratio {
    /// A percentage if it has at most four decimals, else `num/den`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SCALE: u128 = 10_000;
        let scaled = u128::from(self.num) * 100 * SCALE;
        if !scaled.is_multiple_of(u128::from(self.den)) {
            return f.pad(&format!("{}/{}", self.num, self.den));
        }
        let value = scaled / u128::from(self.den);
        let fraction = format!("{:04}", value % SCALE);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        f.pad(&format!("{}{point}{fraction}%", value / SCALE))
    }
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    if a == 0 { 1 } else { a }
}
