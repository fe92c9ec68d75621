//! Plain counts as text.

use crate::text::{Decimal, ParseUnitError};

const SUFFIXES: [(&str, u64); 4] = [
    ("", 1),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
];

/// Reads a whole number, which may end in `k`, `M` or `G` for powers of 1000: `100M`, `1.5G`.
///
/// # Errors
/// Anything else, and what is not whole or does not fit 64 bits.
pub fn parse_count(text: &str) -> Result<u64, ParseUnitError> {
    let count = || -> Option<u64> {
        let (number, suffix) = Decimal::split(text.trim())?;
        let (_, scale) = SUFFIXES.iter().find(|(name, _)| *name == suffix)?;
        number.scaled(*scale)
    };
    count().ok_or_else(|| ParseUnitError {
        value: text.to_owned(),
        expected: "a whole number, such as 250000, 100M or 1.5G".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_may_have_a_suffix() {
        for (text, count) in [
            ("0", 0),
            ("250000", 250_000),
            ("2_000", 2_000),
            ("7k", 7_000),
            ("100M", 100_000_000),
            ("1.5G", 1_500_000_000),
            ("1.0", 1),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_count(text), Ok(count), "{text}");
        }
    }

    #[test]
    fn what_is_no_count_is_refused() {
        for text in [
            "",
            "M",
            "-1",
            "1.5",
            "100m",
            "1 M B",
            "0.0001k",
            "18446744073709551616",
        ] {
            let message = parse_count(text).unwrap_err().to_string();
            let said = "expected a whole number, such as 250000, 100M or 1.5G";
            assert!(message.ends_with(said), "{message}");
        }
    }
}
