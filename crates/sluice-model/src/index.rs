//! From a page to a number, for every page of the device.

/// Per LPN a number below a bound, or none: three bytes a page if the bound allows it, else four.
///
/// Arrays of integers, so that fresh memory is zeroed by the operating system.
pub(crate) struct PageIndex {
    /// Per LPN: number + 1, or 0. Empty if the numbers need four bytes.
    narrow: Vec<[u8; 3]>,
    /// The same in four bytes. Empty if they do not.
    wide: Vec<u32>,
}

/// Numbers below this fit, with 1 added, into three bytes.
const NARROW_MAX: u32 = (1 << 24) - 1;

impl PageIndex {
    /// `bound` is above every number that it will hold.
    pub fn new(pages: u32, bound: u32) -> PageIndex {
        let (narrow, wide) = match bound <= NARROW_MAX {
            true => (pages, 0),
            false => (0, pages),
        };
        PageIndex {
            narrow: vec![[0; 3]; narrow as usize],
            wide: vec![0; wide as usize],
        }
    }

    /// The page's number.
    #[inline]
    pub fn get(&self, lpn: u32) -> Option<u32> {
        let number = match self.narrow.get(lpn as usize) {
            Some([low, middle, high]) => u32::from_le_bytes([*low, *middle, *high, 0]),
            None => self.wide[lpn as usize],
        };
        number.checked_sub(1)
    }

    /// Gives the page a number, in the place of the one that it may have.
    #[inline]
    pub fn set(&mut self, lpn: u32, number: u32) {
        self.put(lpn, number + 1);
    }

    /// Takes the page's number away.
    #[inline]
    pub fn clear(&mut self, lpn: u32) {
        self.put(lpn, 0);
    }

    #[inline]
    fn put(&mut self, lpn: u32, number: u32) {
        match self.narrow.get_mut(lpn as usize) {
            Some(entry) => {
                let [low, middle, high, _] = number.to_le_bytes();
                *entry = [low, middle, high];
            }
            None => self.wide[lpn as usize] = number,
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
            let (mut index, mut naive) = (PageIndex::new(PAGES, bound), BTreeMap::new());
            for (lpn, number, step) in steps {
                // The highest number often, because that is where a byte would be lost.
                let number = if step == 1 { bound - 1 } else { number % bound };
                if step == 0 {
                    index.clear(lpn);
                    naive.remove(&lpn);
                } else {
                    index.set(lpn, number);
                    naive.insert(lpn, number);
                }
                for page in 0..PAGES {
                    prop_assert_eq!(index.get(page), naive.get(&page).copied());
                }
            }
        }
    }

    #[test]
    fn it_takes_three_bytes_a_page_as_long_as_they_do() {
        let bytes = |index: &PageIndex| index.narrow.len() * 3 + index.wide.len() * 4;
        assert_eq!(bytes(&PageIndex::new(100, NARROW_MAX)), 300);
        assert_eq!(bytes(&PageIndex::new(100, NARROW_MAX + 1)), 400);
    }
}
