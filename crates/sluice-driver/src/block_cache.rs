//! A cache of blocks in host memory, before an SSD: least recently used, write-back.

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

    /// Uses a page, and brings it in if it was not here. Returns one that has to be written for it.
    pub fn use_page(&mut self, page: u64, write: bool) -> Option<u64> {
        self.clock += 1;
        let was = &mut self.used[page as usize];
        self.held += u64::from(was.0 == 0);
        *was = (self.clock, was.1 | write);
        self.uses.push_back((page, self.clock));
        if self.held <= self.room {
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
}
