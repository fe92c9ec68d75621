//! The pages that left last, in the order in which they left.

use super::remembered::Remembered;
use sluice_lists::Lists;

/// A FIFO of page addresses for each set, of a fixed length.
pub(super) struct Ghost {
    remembered: Remembered,
    order: Lists,
    size: u32,
}

impl Ghost {
    pub fn new(sets: u32, size: u32, pages: u32) -> Ghost {
        Ghost {
            remembered: Remembered::new(sets, size, pages),
            order: Lists::new((sets as usize) as u32, sets * size),
            size,
        }
    }

    /// Remembers a page that is not yet, and forgets the oldest if there are too many.
    pub fn add(&mut self, set: u32, lpn: u32) {
        if self.order.len(set) == self.size {
            match self.order.pop_back(set) {
                Some(oldest) => self.remembered.forget(set, oldest),
                None => return,
            }
        }
        let entry = self.remembered.add(set, lpn);
        self.order.push_front(set, entry.expect("a free entry"));
    }

    pub fn contains(&self, lpn: u32) -> bool {
        self.remembered.entry(lpn).is_some()
    }

    /// See [`Remembered::warm`].
    #[inline]
    pub fn warm(&self, lpn: u32) -> u32 {
        self.remembered.warm(lpn)
    }

    /// Forgets the page, and says whether it was remembered.
    #[inline]
    pub fn take(&mut self, set: u32, lpn: u32) -> bool {
        let Some(entry) = self.remembered.entry(lpn) else {
            return false;
        };
        self.order.remove(set, entry);
        self.remembered.forget(set, entry);
        true
    }
}
