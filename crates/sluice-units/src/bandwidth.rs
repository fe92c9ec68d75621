//! Bandwidths, and their text.

use crate::Bytes;

const MB: u64 = 1_000_000;

/// MB/s (10^6 bytes) of a size a second, such as `16GB/s` or `500MiB/s`, rounded down. `None` for
/// any other text, and where rounding would take a thousandth or more.
pub fn parse_bandwidth(text: &str) -> Option<u64> {
    let size: Bytes = text.trim().strip_suffix("/s")?.parse().ok()?;
    (size.0 % MB <= size.0 / 1000).then_some(size.0 / MB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bandwidth_is_a_size_a_second() {
        for (text, mb) in [
            ("16GB/s", Some(16_000)),
            (" 7.88GB/s ", Some(7_880)),
            ("1GiB/s", Some(1_073)),
            ("2000000/s", Some(2)),
            ("500MiB/s", Some(524)),
            ("1.9MB/s", None),
            ("10MiB/s", None),
            ("999kB/s", None),
            ("16000", None),
            ("16GB", None),
            ("16GT/s", None),
            ("8gb/s", Some(8_000)),
            ("8Gb/s", None),
            ("/s", None),
            ("-1GB/s", None),
        ] {
            assert_eq!(parse_bandwidth(text), mb, "{text}");
        }
    }
}
