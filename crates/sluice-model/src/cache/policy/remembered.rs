//! The addresses of pages that have left the cache, for policies that learn from their return.

use crate::index::PageIndex;
use sluice_units::Lpn;

/// A bounded number of LPNs for each set, each with an entry number that lists can hold.
///
/// Entries of set `s` are numbers `s * size .. (s + 1) * size`.
pub(super) struct Remembered {
    /// Per entry: its LPN; in an entry that holds nothing, the next such entry + 1.
    lpn: Vec<u32>,
    /// The entry of each remembered page.
    entry_of: PageIndex<u32>,
    /// Per set: [entries never used yet, first entry given back + 1].
    free: Vec<[u32; 2]>,
    size: u32,
}

impl Remembered {
    pub fn new(sets: u32, size: u32, pages: u32) -> Remembered {
        Remembered {
            lpn: vec![0; sets as usize * size as usize],
            entry_of: PageIndex::new(pages, sets.saturating_mul(size)),
            free: vec![[0; 2]; sets as usize],
            size,
        }
    }

    /// What a look-up of the page reads; see [`super::Eviction::warm`].
    #[inline]
    pub fn warm(&self, lpn: u32) -> u32 {
        self.entry_of.get(Lpn(lpn)).unwrap_or(0)
    }

    /// The entry of a page.
    pub fn entry(&self, lpn: u32) -> Option<u32> {
        self.entry_of.get(Lpn(lpn))
    }

    /// Remembers a page that is not yet. `None` if every entry of the set is in use.
    pub fn add(&mut self, set: u32, lpn: u32) -> Option<u32> {
        let [used, first_free] = &mut self.free[set as usize];
        let entry = match first_free.checked_sub(1) {
            Some(entry) => {
                *first_free = self.lpn[entry as usize];
                entry
            }
            None if *used < self.size => {
                *used += 1;
                set * self.size + *used - 1
            }
            None => return None,
        };
        self.lpn[entry as usize] = lpn;
        self.entry_of.set(Lpn(lpn), entry);
        Some(entry)
    }

    /// Gives an entry back. The page is forgotten.
    pub fn forget(&mut self, set: u32, entry: u32) {
        let lpn = std::mem::replace(&mut self.lpn[entry as usize], self.free[set as usize][1]);
        self.entry_of.clear(Lpn(lpn));
        self.free[set as usize][1] = entry + 1;
    }
}
