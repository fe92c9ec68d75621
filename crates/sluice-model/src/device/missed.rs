//! Which pages have missed before.

use sluice_units::Lpn;

/// Which pages have missed, a bit for each.
pub(super) struct Missed(Box<[u64]>);

impl Missed {
    /// No page of so many has missed.
    pub fn none(pages: u32) -> Missed {
        Missed(vec![0; pages.div_ceil(u64::BITS) as usize].into())
    }

    /// Notes that a page has; says whether it is the first time.
    pub fn is_first(&mut self, lpn: Lpn) -> bool {
        let (word, bit) = (lpn.0 / u64::BITS, 1u64 << (lpn.0 % u64::BITS));
        let word = &mut self.0[word as usize];
        let is_first = *word & bit == 0;
        *word |= bit;
        is_first
    }
}
