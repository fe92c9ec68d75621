//! A cache of blocks in host memory, before an SSD: least recently used, write-back.
//!
//! No thread waits for what is written back. Linux lets writers wait once too much is dirty
//! (`balance_dirty_pages`), so that they go no faster than the SSD in the end. Here writers of more
//! than the cache holds do, and the reads that they delay show it.

use std::collections::VecDeque;

/// Pages in host memory, the one used longest ago leaves first.
pub(crate) struct BlockCache {
    /// Of each page of the file: when it was used last, 0 if it is not here; and whether it differs
    /// from the SSD.
    used: Vec<(u64, bool)>,
    /// Uses in their order, also those of pages used again since.
    uses: VecDeque<(u64, u64)>,
    held: u64,
    room: u64,
    clock: u64,
}

impl BlockCache {
    /// Room for so many of a file's pages, none of which is here.
    pub fn new(pages: u64, room: u64) -> BlockCache {
        BlockCache {
            used: vec![(0, false); pages as usize],
            uses: VecDeque::new(),
            held: 0,
            room,
            clock: 0,
        }
    }

    /// Whether a page is here.
    pub fn has(&self, page: u64) -> bool {
        self.used[page as usize].0 > 0
    }

    /// Uses a page, and brings it in if it was not here. Returns one that has to be written for it,
    /// for which nobody waits.
    pub fn use_page(&mut self, page: u64, write: bool) -> Option<u64> {
        self.clock += 1;
        let was = &mut self.used[page as usize];
        self.held += u64::from(was.0 == 0);
        *was = (self.clock, was.1 | write);
        self.uses.push_back((page, self.clock));
        if self.held <= self.room {
            self.forget_older_uses();
            return None;
        }
        loop {
            let (oldest, at) = self.uses.pop_front()?;
            let (used, dirty) = self.used[oldest as usize];
            if used == at {
                self.used[oldest as usize] = (0, false);
                self.held -= 1;
                return dirty.then_some(oldest);
            }
        }
    }

    /// Drops the uses of pages that were used again, once they are more than half: nobody else
    /// drops any while all pages have room.
    fn forget_older_uses(&mut self) {
        if self.uses.len() as u64 > 2 * self.held + 64 {
            let used = &self.used;
            self.uses.retain(|(page, at)| used[*page as usize].0 == *at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each use of a file that fits was kept for ever.
    #[test]
    fn uses_take_no_more_memory_than_pages() {
        let mut cache = BlockCache::new(8, 8);
        for page in (0..8).cycle().take(10_000) {
            assert_eq!(cache.use_page(page, true), None);
            assert!(cache.uses.len() <= 2 * 8 + 64);
        }
        let mut small = BlockCache::new(8, 4);
        let order = [0, 1, 2, 3, 0, 0, 1, 4, 5, 0, 6];
        let left = order.map(|page| small.use_page(page, true));
        let left: Vec<u64> = left.into_iter().flatten().collect();
        assert_eq!(left, [2, 3, 1]);
    }
}
