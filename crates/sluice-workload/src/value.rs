//! Record values that can be checked byte for byte by anyone who knows key, version and seed.

use sluice_units::{SPLITMIX_STEP, splitmix};
use std::fmt;

const WORD: usize = 8;
/// Room for the version and one word that depends on everything.
pub const VALUE_BYTES_MIN: u64 = 16;
/// The largest value that a Redis server takes by default.
pub const VALUE_BYTES_MAX: u64 = 512 << 20;

/// A value that is not what was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    pub key: u64,
    /// What it should have been.
    pub expected: String,
    /// What it was.
    pub found: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "key {}: expected {}, found {}",
            self.key, self.expected, self.found
        )
    }
}

impl Mismatch {
    /// A mismatch in words.
    pub fn new(key: u64, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            key,
            expected: expected.into(),
            found: found.into(),
        }
    }
}

/// Fills `out` with the value of `key` in `version`: the version, then words that depend on
/// seed, key, version and place.
pub fn fill(out: &mut [u8], seed: u64, key: u64, version: u64) {
    let words = Words::new(seed, key, version);
    let (whole, rest) = out.as_chunks_mut::<WORD>();
    let last = whole.len();
    for (i, chunk) in whole.iter_mut().enumerate() {
        *chunk = words.at(i);
    }
    rest.copy_from_slice(&words.at(last)[..rest.len()]);
}

/// The version that a value claims to have.
#[must_use]
pub fn version_of(value: &[u8]) -> Option<u64> {
    value.first_chunk().map(|word| u64::from_le_bytes(*word))
}

/// Compares every byte of a value with what [`fill`] makes.
///
/// # Errors
/// The first place that differs.
pub fn check(value: &[u8], seed: u64, key: u64, version: u64) -> Result<(), Mismatch> {
    let words = Words::new(seed, key, version);
    let (whole, rest) = value.as_chunks::<WORD>();
    let wrong = |i: usize, found: &[u8]| {
        let (expected, at) = (hex(&words.at(i)[..found.len()]), i * WORD);
        let expected = format!("{expected} at byte {at} of version {version}");
        Mismatch::new(key, expected, hex(found))
    };
    let differs = whole
        .iter()
        .enumerate()
        .position(|(i, chunk)| *chunk != words.at(i));
    if let Some(i) = differs {
        return Err(wrong(i, &whole[i]));
    }
    if rest != &words.at(whole.len())[..rest.len()] {
        return Err(wrong(whole.len(), rest));
    }
    Ok(())
}

/// As [`check`], and the length too.
///
/// # Errors
/// The wrong length, or the first place that differs.
pub fn check_all(
    value: &[u8],
    bytes: usize,
    seed: u64,
    key: u64,
    version: u64,
) -> Result<(), Mismatch> {
    if value.len() != bytes {
        let found = format!("{} bytes", value.len());
        return Err(Mismatch::new(key, format!("{bytes} bytes"), found));
    }
    check(value, seed, key, version)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The words of one value.
struct Words {
    version: u64,
    base: u64,
}

impl Words {
    fn new(seed: u64, key: u64, version: u64) -> Self {
        Self {
            version,
            base: splitmix(splitmix(splitmix(seed) ^ key) ^ version),
        }
    }

    #[inline(always)]
    fn at(&self, index: usize) -> [u8; WORD] {
        let place = (index as u64).wrapping_mul(SPLITMIX_STEP);
        let word = if index == 0 {
            self.version
        } else {
            splitmix(self.base.wrapping_add(place))
        };
        word.to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_check_and_any_flipped_bit_shows(
            len in 16_usize..300, seed: u64, key: u64, version: u64, at: prop::sample::Index,
            bit in 0_u32..8,
        ) {
            let mut value = vec![0; len];
            fill(&mut value, seed, key, version);
            prop_assert_eq!(check_all(&value, len, seed, key, version), Ok(()));
            prop_assert_eq!(version_of(&value), Some(version));
            value[at.index(len)] ^= 1 << bit;
            prop_assert!(check(&value, seed, key, version).is_err());
        }

        #[test]
        fn another_key_version_or_seed_is_another_value(seed: u64, key: u64, version: u64) {
            let mut value = vec![0; 64];
            fill(&mut value, seed, key, version);
            prop_assert!(check(&value, seed, key, version.wrapping_add(1)).is_err());
            prop_assert!(check(&value, seed, key.wrapping_add(1), version).is_err());
            prop_assert!(check(&value, seed.wrapping_add(1), key, version).is_err());
            prop_assert!(check_all(&value, 65, seed, key, version).is_err());
        }

        #[test]
        fn a_value_torn_between_two_versions_shows(seed: u64, key: u64, cut in 1_usize..8) {
            let (mut old, mut new) = (vec![0; 64], vec![0; 64]);
            fill(&mut old, seed, key, 6);
            fill(&mut new, seed, key, 7);
            new[cut * WORD..].copy_from_slice(&old[cut * WORD..]);
            prop_assert!(check(&new, seed, key, 7).is_err());
        }
    }

    #[test]
    fn what_differs_is_told_with_its_place() {
        let mut value = vec![0; 21];
        fill(&mut value, 1, 2, 3);
        assert_eq!(version_of(&value), Some(3));
        assert_eq!(version_of(&value[..7]), None);
        let told = |value: &[u8]| check_all(value, 21, 1, 2, 3).unwrap_err();
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        // The second word, and the five bytes behind it.
        for (at, end) in [(8, 16), (16, 21)] {
            let mut wrong = value.clone();
            wrong[end - 1] ^= 0x10;
            let expected = format!("{} at byte {at} of version 3", hex(&value[at..end]));
            assert_eq!(
                told(&wrong),
                Mismatch::new(2, expected, hex(&wrong[at..end]))
            );
        }
        let short = told(&value[..20]);
        assert_eq!(
            short.to_string(),
            "key 2: expected 21 bytes, found 20 bytes"
        );
    }
}
