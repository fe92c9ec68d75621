//! Ranges of a device as people write them.

use sluice_abi::Range;
use sluice_units::{Bytes, PAGE_BYTES};

/// A range: bytes of the device, or addresses of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: u64,
    /// How many bytes; `None` for all to the end of the device.
    pub len: Option<u64>,
    /// Whether these are addresses of the program, and not bytes of the device.
    pub is_address: bool,
}

impl Span {
    /// The range with its end filled in, on a device of so many pages.
    pub fn within(&self, pages: u64) -> Range {
        let end = pages * PAGE_BYTES;
        Range {
            start: self.start,
            len: self.len.unwrap_or_else(|| end.saturating_sub(self.start)),
            is_address: self.is_address,
        }
    }
}

/// Why a text is no range.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{fault}; expected all, START..END or START+LENGTH, such as 0..16MiB, or @ before addresses, \
     such as @0x7f0000000000+64KiB"
)]
pub struct BadSpan {
    #[from]
    fault: Fault,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum Fault {
    #[error("no range")]
    Form,
    #[error("no size: {0:?}")]
    Size(String),
    #[error("the range is empty")]
    Empty,
}

/// Reads `all`, `START..END` or `START+LENGTH`; with an `@` before it, addresses of the program.
///
/// # Errors
/// What is wrong, and what would be accepted.
pub fn parse_span(text: &str) -> Result<Span, BadSpan> {
    if text == "all" {
        let (start, len, is_address) = (0, None, false);
        return Ok(Span {
            start,
            len,
            is_address,
        });
    }
    let (text, is_address) = match text.strip_prefix('@') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let (first, second, is_length) = match (text.split_once(".."), text.split_once('+')) {
        (Some((first, second)), _) => (first, second, false),
        (None, Some((first, second))) => (first, second, true),
        (None, None) => return Err(Fault::Form.into()),
    };
    let number = |text: &str| parse_number(text).ok_or_else(|| Fault::Size(text.to_owned()));
    let (start, second) = (number(first)?, number(second)?);
    let len = match is_length {
        true => Some(second),
        false => second.checked_sub(start),
    };
    let len = len.filter(|len| *len > 0 && start.checked_add(*len).is_some());
    let len = Some(len.ok_or(Fault::Empty)?);
    Ok(Span {
        start,
        len,
        is_address,
    })
}

/// A size, or a number of bytes in hexadecimal.
fn parse_number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        None => text.parse::<Bytes>().ok().map(|bytes| bytes.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_as_people_write_them() {
        let span = |start, len, is_address| Span {
            start,
            len,
            is_address,
        };
        let good = [
            ("all", span(0, None, false)),
            ("0..16MiB", span(0, Some(16 << 20), false)),
            ("4096..8192", span(4096, Some(4096), false)),
            ("1GiB+4KiB", span(1 << 30, Some(4096), false)),
            ("@0x7f00+0x10", span(0x7f00, Some(16), true)),
            ("@0x7f00..0x8000", span(0x7f00, Some(256), true)),
        ];
        for (text, expected) in good {
            assert_eq!(parse_span(text), Ok(expected), "{text}");
        }
        let bad = [
            "",
            "all..",
            "16MiB",
            "5..5",
            "6..5",
            "x..y",
            "0x..1",
            "-1..2",
            "+",
            "..",
            "@",
            "0+0",
            "18446744073709551615+2",
            "0xffffffffffffffff+1",
            "1..2..3",
            "4KiB+1parsec",
        ];
        for text in bad {
            assert!(parse_span(text).is_err(), "{text}");
        }
    }
}
