//! Which set of the cache a page belongs to.

use sluice_params::choices;
use sluice_units::Lpn;

choices! {
    /// Which set of the cache a page belongs to.
    pub enum SetIndex {
        Modulo = "modulo": "LPN modulo the number of sets: a contiguous range fills all sets alike",
        Hash = "hash": "a hash of the LPN: a range fills some sets more than others, as pages do \
                        that an operating system gives out scattered",
    }
}

impl SetIndex {
    /// The set of a page, of so many.
    #[inline]
    pub fn set_of(self, lpn: Lpn, sets: u32) -> u32 {
        match self {
            _ if sets == 1 => 0,
            SetIndex::Modulo => lpn.0 % sets,
            SetIndex::Hash => scattered(u64::from(lpn.0), sets),
        }
    }
}

/// A set that follows from a number, and as if it were drawn: the finalizer of SplitMix64 (Steele,
/// Lea and Flood, OOPSLA 2014).
fn scattered(number: u64, sets: u32) -> u32 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) % u64::from(sets)) as u32
}
