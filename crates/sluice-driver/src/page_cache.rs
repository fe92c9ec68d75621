//! The page cache of one file that is read through a mapping, with readahead.
//!
//! A fault on a page that nobody has read begins a window there. The first window is a few pages,
//! each one after it twice as long, up to the most. The last window's first page is marked: the
//! load that comes to it has the next window read, so that a reader who is not too fast waits for
//! none but the first. This is the idea of Linux' readahead for a mapping with `MADV_SEQUENTIAL`,
//! not its exact windows. Without that advice Linux reads around the fault, which is not here.

use sluice_units::Ps;
use std::ops::Range;

/// Pages of the first window.
const FIRST: u64 = 4;

/// When each page is, or will be, there.
pub(crate) struct PageCache {
    ready: Vec<Option<Ps>>,
    /// The most pages of a window; 0: no readahead.
    most: u64,
    /// The window that was read last, and the page whose load has the next one read.
    window: Range<u64>,
    mark: Option<u64>,
}

/// Pages that are read by one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pages {
    pub start: u64,
    pub end: u64,
}

impl Pages {
    pub fn len(&self) -> u64 {
        self.end - self.start
    }
}

impl PageCache {
    /// Of a file of so many pages, none of which is there.
    pub fn new(pages: u64, most: u64) -> PageCache {
        PageCache {
            ready: vec![None; pages as usize],
            most,
            window: 0..0,
            mark: None,
        }
    }

    /// Whether a page is there, or on its way.
    pub fn is_cached(&self, page: u64) -> bool {
        self.ready[page as usize].is_some()
    }

    /// A load comes to a page. Returns what has to be read for it now.
    pub fn touch(&mut self, page: u64) -> [Option<Pages>; 2] {
        match (self.is_cached(page), self.mark == Some(page)) {
            (true, false) => [None, None],
            (true, true) => [self.next_window(), None],
            (false, _) if self.most <= 1 => [self.read(page, 1), None],
            // The next window is read with the first one.
            (false, _) => [self.read(page, FIRST.min(self.most)), self.next_window()],
        }
    }

    /// When a page is there that was asked for.
    pub fn ready_at(&self, page: u64) -> Ps {
        self.ready[page as usize].unwrap_or(Ps::ZERO)
    }

    /// Pages are there from then on.
    pub fn arrives(&mut self, pages: &Pages, at: Ps) {
        let range = pages.start as usize..pages.end as usize;
        self.ready[range].fill(Some(at));
    }

    fn read(&mut self, start: u64, count: u64) -> Option<Pages> {
        let end = (start + count).min(self.ready.len() as u64);
        self.window = start..end;
        (start < end).then_some(Pages { start, end })
    }

    fn next_window(&mut self) -> Option<Pages> {
        let last = self.window.end - self.window.start;
        let pages = self.read(self.window.end, (last * 2).min(self.most));
        self.mark = pages.map(|pages| pages.start);
        pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(start: u64, end: u64) -> Option<Pages> {
        Some(Pages { start, end })
    }

    fn reads_of(cache: &mut PageCache, page: u64) -> [Option<Pages>; 2] {
        let reads = cache.touch(page);
        let all = reads.iter().flatten();
        all.for_each(|read| cache.arrives(read, Ps::from_us(1)));
        reads
    }

    #[test]
    fn windows_double_up_to_the_most_and_are_read_one_ahead() {
        let mut cache = PageCache::new(100, 16);
        assert_eq!(reads_of(&mut cache, 0), [pages(0, 4), pages(4, 12)]);
        for page in 1..4 {
            assert_eq!(reads_of(&mut cache, page), [None, None]);
        }
        assert_eq!(reads_of(&mut cache, 4), [pages(12, 28), None]);
        assert_eq!(reads_of(&mut cache, 12), [pages(28, 44), None]);
    }

    #[test]
    fn nothing_is_read_beyond_the_file_or_twice() {
        let mut cache = PageCache::new(10, 16);
        assert_eq!(reads_of(&mut cache, 0), [pages(0, 4), pages(4, 10)]);
        assert_eq!(reads_of(&mut cache, 4), [None, None]);
        assert!((5..10).all(|page| cache.is_cached(page)));
    }

    #[test]
    fn without_readahead_each_page_is_read_by_itself() {
        let mut cache = PageCache::new(10, 0);
        for page in 0..10 {
            assert_eq!(reads_of(&mut cache, page), [pages(page, page + 1), None]);
        }
    }
}
