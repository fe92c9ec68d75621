//! A hash that says whether two runs did the same.

use std::fmt;

/// FNV-1a of 64 bits, over bytes or over words. A word counts as one byte would, so that it costs
/// one multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> u64 {
        let mut hash = Fnv::default();
        hash.bytes(bytes);
        hash.value()
    }

    /// Takes in a word.
    #[inline(always)]
    pub fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    }

    /// Takes in bytes, one by one.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.word(u64::from(*byte)));
    }

    /// The hash of what was taken in.
    pub fn value(self) -> u64 {
        self.0
    }
}

impl fmt::LowerHex for Fnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the test vectors of its authors (draft-eastlake-fnv).
    #[test]
    fn it_is_fnv_1a() {
        assert_eq!(Fnv::of(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(Fnv::of(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(Fnv::of(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
