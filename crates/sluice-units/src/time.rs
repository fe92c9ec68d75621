//! Model time: whole picoseconds, so that sums are exact.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

use crate::text::{self, ParseUnitError, Unit};

const PS_PER_S: u64 = 1_000_000_000_000;

const UNITS: &[Unit] = &[
    ("s", PS_PER_S),
    ("ms", 1_000_000_000),
    ("us", 1_000_000),
    // The sign for micro, and the Greek letter.
    ("\u{b5}s", 1_000_000),
    ("\u{3bc}s", 1_000_000),
    ("ns", 1_000),
    ("ps", 1),
];

/// A time or a duration in picoseconds. A `u64` holds 213 days.
///
/// Text: a number and a unit (`s`, `ms`, `us` or `µs`, `ns`, `ps`), such as `40us` or `1.5ms`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ps(pub u64);

impl Ps {
    /// No time at all; also when everything begins.
    pub const ZERO: Ps = Ps(0);
    /// The end of time.
    pub const MAX: Ps = Ps(u64::MAX);
    /// The last moment at which a simulation does anything: 106 days. What is added to it still
    /// ends on the clock, so that no time that it goes by was cut to [`Ps::MAX`].
    pub const LAST: Ps = Ps(i64::MAX as u64);

    /// `ns` nanoseconds, or the end of time if that is too long.
    pub const fn from_ns(ns: u64) -> Ps {
        Ps(ns.saturating_mul(1_000))
    }

    /// `us` microseconds, or the end of time if that is too long.
    pub const fn from_us(us: u64) -> Ps {
        Ps(us.saturating_mul(1_000_000))
    }

    /// `ms` milliseconds, or the end of time if that is too long.
    pub const fn from_ms(ms: u64) -> Ps {
        Ps(ms.saturating_mul(1_000_000_000))
    }

    /// Whole nanoseconds, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / 1_000
    }

    /// Whole microseconds, rounded down.
    pub const fn as_us(self) -> u64 {
        self.0 / 1_000_000
    }

    /// The sum, or [`Ps::MAX`].
    pub const fn saturating_add(self, other: Ps) -> Ps {
        Ps(self.0.saturating_add(other.0))
    }

    /// The difference, or zero.
    pub const fn saturating_sub(self, other: Ps) -> Ps {
        Ps(self.0.saturating_sub(other.0))
    }

    /// The sum, or `None` past the end of time.
    pub const fn checked_add(self, other: Ps) -> Option<Ps> {
        match self.0.checked_add(other.0) {
            Some(ps) => Some(Ps(ps)),
            None => None,
        }
    }

    /// The difference, or `None` below zero.
    pub const fn checked_sub(self, other: Ps) -> Option<Ps> {
        match self.0.checked_sub(other.0) {
            Some(ps) => Some(Ps(ps)),
            None => None,
        }
    }
}

/// A simulation came past [`Ps::LAST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockEnd;

impl fmt::Display for ClockEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the simulated clock ends after {} days, before the run does: give shorter times, \
             pauses among them, or fewer accesses",
            Ps::LAST.0 / (86_400 * PS_PER_S)
        )
    }
}

impl std::error::Error for ClockEnd {}

impl Add for Ps {
    type Output = Ps;

    /// Saturates: the end of time is never passed.
    fn add(self, other: Ps) -> Ps {
        self.saturating_add(other)
    }
}

impl AddAssign for Ps {
    fn add_assign(&mut self, other: Ps) {
        *self = *self + other;
    }
}

impl Sub for Ps {
    type Output = Ps;

    /// Saturates at zero.
    fn sub(self, other: Ps) -> Ps {
        self.saturating_sub(other)
    }
}

impl Mul<u64> for Ps {
    type Output = Ps;

    /// Saturates at [`Ps::MAX`].
    fn mul(self, times: u64) -> Ps {
        Ps(self.0.saturating_mul(times))
    }
}

impl Sum for Ps {
    fn sum<I: Iterator<Item = Ps>>(iter: I) -> Ps {
        iter.fold(Ps::ZERO, Ps::saturating_add)
    }
}

impl FromStr for Ps {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Ps, ParseUnitError> {
        text::parse(text, UNITS, "40us").map(Ps)
    }
}

impl fmt::Display for Ps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::shortest(self.0, UNITS, f)
    }
}
