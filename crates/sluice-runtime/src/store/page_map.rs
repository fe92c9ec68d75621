//! A map from a few of the pages to words, with room that is fixed at the start.

/// Open addressing with linear probing. A page that goes leaves no gap.
///
/// It takes memory for what it holds: a table with an entry for each page of the device, as the
/// model's lookup is, would take a store's process more than the cache and a constant.
#[derive(Debug)]
pub struct PageMap {
    /// One more than the page; 0 where there is none.
    keys: Box<[u32]>,
    words: Box<[u64]>,
    used: usize,
    most: usize,
}

impl PageMap {
    /// Room for so many pages.
    pub fn new(most: usize) -> PageMap {
        let places = (2 * most).next_power_of_two();
        PageMap {
            keys: vec![0; places].into(),
            words: vec![0; places].into(),
            used: 0,
            most,
        }
    }

    fn mask(&self) -> usize {
        self.keys.len() - 1
    }

    /// Where a page would be if there were no others.
    fn home(&self, key: u32) -> usize {
        (key.wrapping_mul(0x9E37_79B1) >> 7) as usize & self.mask()
    }

    /// Where a page is, or the gap where it would be put.
    fn find(&self, key: u32) -> usize {
        let mut at = self.home(key);
        while self.keys[at] != key && self.keys[at] != 0 {
            at = (at + 1) & self.mask();
        }
        at
    }

    /// The word of a page.
    pub fn get(&self, page: u32) -> Option<u64> {
        let at = self.find(page + 1);
        (self.keys[at] != 0).then(|| self.words[at])
    }

    /// Sets the word of a page. False if there is no room for it.
    pub fn set(&mut self, page: u32, word: u64) -> bool {
        let at = self.find(page + 1);
        if self.keys[at] == 0 {
            if self.used == self.most {
                return false;
            }
            self.used += 1;
            self.keys[at] = page + 1;
        }
        self.words[at] = word;
        true
    }

    /// Takes the word of a page out.
    pub fn remove(&mut self, page: u32) -> Option<u64> {
        let mut gap = self.find(page + 1);
        if self.keys[gap] == 0 {
            return None;
        }
        let word = self.words[gap];
        self.used -= 1;
        let mut at = gap;
        loop {
            at = (at + 1) & self.mask();
            let key = self.keys[at];
            if key == 0 {
                break;
            }
            // It may go into the gap unless its home lies behind that.
            let (from_home, from_gap) = (at.wrapping_sub(self.home(key)), at.wrapping_sub(gap));
            if from_home & self.mask() >= from_gap & self.mask() {
                (self.keys[gap], self.words[gap]) = (key, self.words[at]);
                gap = at;
            }
        }
        self.keys[gap] = 0;
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn it_is_a_map(steps in prop::collection::vec((0..3u8, 0..40u32, any::<u64>()), 1..400)) {
            let (mut table, mut map) = (PageMap::new(24), HashMap::new());
            for (what, page, word) in steps {
                match what {
                    0 => {
                        let fits = map.len() < 24 || map.contains_key(&page);
                        prop_assert_eq!(table.set(page, word), fits);
                        if fits {
                            map.insert(page, word);
                        }
                    }
                    1 => prop_assert_eq!(table.remove(page), map.remove(&page)),
                    _ => {}
                }
                for page in 0..40 {
                    prop_assert_eq!(table.get(page), map.get(&page).copied());
                }
            }
        }
    }
}
