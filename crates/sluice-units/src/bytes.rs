//! Sizes in bytes, and their text with binary units.

use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;

use crate::page::PAGE_BYTES;
use crate::text::{self, ParseUnitError, Unit};

const UNITS: &[Unit] = &[
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("T", 1 << 40),
    ("G", 1 << 30),
    ("M", 1 << 20),
    ("K", 1 << 10),
    ("B", 1),
];

/// A size in bytes.
///
/// Text: a number and a unit, such as `16MiB` or `16M` (powers of 1024) or `4.8GB` (powers of
/// 1000); a whole number alone is bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Bytes {
    /// `kib` × 1024 bytes. Overflow is a bug of the caller.
    pub const fn from_kib(kib: u64) -> Bytes {
        Bytes(kib << 10)
    }

    /// `mib` × 1024² bytes. Overflow is a bug of the caller.
    pub const fn from_mib(mib: u64) -> Bytes {
        Bytes(mib << 20)
    }

    /// `gib` × 1024³ bytes. Overflow is a bug of the caller.
    pub const fn from_gib(gib: u64) -> Bytes {
        Bytes(gib << 30)
    }

    /// Whole pages in this size, rounded down.
    pub const fn pages(self) -> u64 {
        self.0 / PAGE_BYTES
    }

    /// Whether the size is a whole number of pages.
    pub const fn is_whole_pages(self) -> bool {
        self.0.is_multiple_of(PAGE_BYTES)
    }

    /// The sum, or `None` past `u64`.
    pub const fn checked_add(self, other: Bytes) -> Option<Bytes> {
        match self.0.checked_add(other.0) {
            Some(bytes) => Some(Bytes(bytes)),
            None => None,
        }
    }
}

/// A size for people to read, rounded to three digits: `310 MiB`, `1.5 GiB`.
pub fn round_bytes(bytes: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let Some((shift, unit)) = units.into_iter().find(|(shift, _)| bytes >> shift > 0) else {
        return format!("{bytes} B");
    };
    let decimals = match bytes >> shift {
        100.. => 0,
        10.. => 1,
        _ => 2,
    };
    let of_unit = 10u128.pow(decimals);
    let rounded = (u128::from(bytes) * of_unit + (1 << (shift - 1))) >> shift;
    let (whole, rest) = (rounded / of_unit, rounded % of_unit);
    let number = format!("{whole}.{rest:0width$}", width = decimals as usize);
    format!(
        "{} {unit}",
        number.trim_end_matches('0').trim_end_matches('.')
    )
}

impl Add for Bytes {
    type Output = Bytes;

    /// Saturates at `u64::MAX`.
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
}

impl Sub for Bytes {
    type Output = Bytes;

    /// Saturates at zero.
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

impl FromStr for Bytes {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Bytes, ParseUnitError> {
        match text.trim().parse() {
            Ok(bytes) => Ok(Bytes(bytes)),
            Err(_) => text::parse(text, UNITS, "16MiB").map(Bytes),
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::shortest(self.0, UNITS, f)
    }
}
