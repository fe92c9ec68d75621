//! Pages of private memory that begin as a file's: where they come from, and how those leave that
//! can only be read.

use crate::memory::private::{Leaving, Left, PrivateBacking};
use crate::store::same_page;
use sluice_region::{PAGE, dont_need};

impl PrivateBacking {
    /// Where the contents are of a page that the program has not written.
    pub fn fresh(&self, lpn: u64) -> usize {
        let view = self.sources.view_of(lpn);
        view.unwrap_or_else(|| self.zeros())
    }

    /// Whether a page has what it began with.
    pub fn is_fresh(&self, lpn: u64, page: usize) -> bool {
        match self.sources.view_of(lpn) {
            Some(view) => self.sources.is_same(view, page),
            None => same_page(page, self.zeros()),
        }
    }

    /// Unmaps a page that can only be read. The kernel moves none of those; but nobody writes to
    /// them either, so that dropping one loses nothing.
    pub fn drop_sealed(&mut self, page: &Leaving) -> Left {
        self.stash.unmapped(page.lpn);
        // SAFETY: its contents are in the stash or in its file.
        match unsafe { dont_need(self.page(page.lpn), PAGE) } {
            Err(errno) => Left::Pinned(errno),
            // It was written before it was sealed.
            Ok(()) if page.written && page.stashed => Left::Written,
            Ok(()) => Left::Clean,
        }
    }
}
