//! The pages whose translation a core has at hand.

use super::config::Tlb;
use super::tags::Tags;

/// Lines of a page of 4 KiB.
const LINES: u32 = 64;

pub(super) struct TlbTags {
    tags: Tags,
    /// The page of the last look-up, or none.
    last: u32,
}

impl TlbTags {
    pub fn new(tlb: &Tlb) -> TlbTags {
        TlbTags {
            tags: Tags::with(tlb.entries, tlb.ways),
            last: u32::MAX,
        }
    }

    /// Whether the page of a line is there. It is afterwards.
    #[inline]
    pub fn find(&mut self, line: u32) -> bool {
        let page = line / LINES;
        if page == self.last {
            return true;
        }
        self.last = page;
        if self.tags.find(page).is_some() {
            return true;
        }
        self.tags.insert(page, 0);
        false
    }

    /// Drops a page.
    pub fn remove(&mut self, page: u64) {
        let page = page as u32;
        self.tags.remove(page);
        if self.last == page {
            self.last = u32::MAX;
        }
    }
}
