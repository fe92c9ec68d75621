//! From a page to another index, for every page of the device.

use sluice_units::{IndexType, Lpn, Table};
use std::marker::PhantomData;

/// For each page an index below a bound, or none: in three bytes if the bound allows it, else in
/// four.
///
/// Tables of integers, so that fresh memory is zeroed by the operating system.
pub(crate) struct PageIndex<I> {
    /// The index's number + 1, or 0. Empty if a number needs four bytes.
    narrow: Table<Lpn, [u8; 3]>,
    /// The index's number + 1, or 0. Empty if three bytes are enough.
    wide: Table<Lpn, u32>,
    indices: PhantomData<fn(I)>,
}

/// Numbers below this fit, with 1 added, into three bytes.
const NARROW_MAX: u32 = (1 << 24) - 1;

impl<I: IndexType> PageIndex<I> {
    /// `bound` is above every number that it will hold.
    pub fn new(pages: u32, bound: u32) -> PageIndex<I> {
        let (narrow, wide) = match bound <= NARROW_MAX {
            true => (pages, 0),
            false => (0, pages),
        };
        PageIndex {
            narrow: Table::filled(narrow, [0; 3]),
            wide: Table::filled(wide, 0),
            indices: PhantomData,
        }
    }

    /// The page's index.
    #[inline]
    pub fn get(&self, lpn: Lpn) -> Option<I> {
        let number = match self.narrow.get(lpn) {
            Some([low, middle, high]) => u32::from_le_bytes([*low, *middle, *high, 0]),
            None => self.wide[lpn],
        };
        number.checked_sub(1).map(I::new)
    }

    /// Gives the page an index instead of the one that it may have.
    #[inline]
    pub fn set(&mut self, lpn: Lpn, index: I) {
        self.put(lpn, index.number() + 1);
    }

    /// Takes the page's index away.
    #[inline]
    pub fn clear(&mut self, lpn: Lpn) {
        self.put(lpn, 0);
    }

    #[inline]
    fn put(&mut self, lpn: Lpn, number: u32) {
        match self.narrow.get_mut(lpn) {
            Some(entry) => {
                let [low, middle, high, _] = number.to_le_bytes();
                *entry = [low, middle, high];
            }
            None => self.wide[lpn] = number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const PAGES: u32 = 300;

    proptest! {
        /// On both sides of the bound at which a number no longer fits into three bytes.
        #[test]
        fn it_is_a_map(
            bound in prop::sample::select(vec![1, 200, NARROW_MAX, NARROW_MAX + 1, u32::MAX]),
            steps in prop::collection::vec((0..PAGES, any::<u32>(), 0..3u8), 1..400),
        ) {
            let mut index = PageIndex::<u32>::new(PAGES, bound);
            let mut naive = BTreeMap::new();
            for (lpn, number, step) in steps {
                // The highest number often, because that is where a byte would be lost.
                let number = if step == 1 { bound - 1 } else { number % bound };
                if step == 0 {
                    index.clear(Lpn(lpn));
                    naive.remove(&lpn);
                } else {
                    index.set(Lpn(lpn), number);
                    naive.insert(lpn, number);
                }
                for page in 0..PAGES {
                    prop_assert_eq!(index.get(Lpn(page)), naive.get(&page).copied());
                }
            }
        }
    }

    #[test]
    fn it_takes_three_bytes_a_page_as_long_as_they_do() {
        let bytes = |index: &PageIndex<u32>| index.narrow.count() * 3 + index.wide.count() * 4;
        assert_eq!(bytes(&PageIndex::new(100, NARROW_MAX)), 300);
        assert_eq!(bytes(&PageIndex::new(100, NARROW_MAX + 1)), 400);
    }
}
