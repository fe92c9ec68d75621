//! Which set of the cache a page belongs to.

use sluice_params::choices;
use sluice_units::{Lpn, splitmix};

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
            // A set as if it were drawn.
            SetIndex::Hash => (splitmix(u64::from(lpn.0)) % u64::from(sets)) as u32,
        }
    }
}
