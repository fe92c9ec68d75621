//! The page cache of one open file, as Linux 6.18 keeps it: which pages a fault or read brings in.
//!
//! A mapping without advice is read around a fault; with `MADV_SEQUENTIAL` from it on, with
//! `MADV_RANDOM` at it alone. Every fault maps what is there of the 16 pages around it. A read by
//! system call begins a window where it goes on from the last one, and grows it. The last window
//! has a marked folio: an access to it has the next window read. File systems with large folios
//! mark and align by them.
//!
//! Nothing leaves the cache, and every folio can be had.

use crate::readahead::{Limits, Window};
use sluice_units::Ps;

/// Pages that a fault maps at most, aligned.
const FAULT_AROUND: usize = 16;
/// With more faults that missed than hit a mapping is no longer read around.
const LOTS_OF_MISSES: u64 = 100;
/// Pages of a node of the tree that has the pages.
const NODE: u64 = 64;
/// Folios that a read looks up at once.
const BATCH: usize = 31;

/// What a program says of how it reads a file: `madvise` for a mapping, `posix_fadvise` for reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Nothing.
    Normal,
    /// In order.
    Sequential,
    /// At random.
    Random,
}

/// Pages that are read by one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pages {
    /// The first one.
    pub start: u64,
    /// Behind the last one.
    pub end: u64,
}

impl Pages {
    /// How many.
    pub fn count(&self) -> u64 {
        self.end - self.start
    }
}

/// A page that is there, or on its way.
#[derive(Clone, Copy)]
struct Cached {
    /// Its folio has two to the power of this many pages, aligned.
    order: u8,
    is_mapped: bool,
    ready: Ps,
}

/// The cached pages of a file, and the state of its readahead.
pub struct PageCache {
    pages: Vec<Option<Cached>>,
    /// First pages of folios whose use has the next window read.
    marked: Vec<bool>,
    advice: Advice,
    /// Whether it is read by system calls, not through a mapping.
    is_by_call: bool,
    limits: Limits,
    window: Window,
    /// Where the last read by system call ended.
    read_to: Option<u64>,
    misses: u64,
    /// The pages that have to be read now.
    reads: Vec<Pages>,
}

impl PageCache {
    /// Of a file of so many pages, none of which is there. It is mapped, or read by system calls.
    pub fn new(pages: u64, is_by_call: bool, advice: Advice, limits: Limits) -> PageCache {
        PageCache {
            is_by_call,
            pages: vec![None; pages as usize],
            marked: vec![false; pages as usize],
            advice,
            limits,
            window: Window::default(),
            read_to: None,
            misses: 0,
            reads: Vec::new(),
        }
    }

    /// Whether a page is there, or on its way.
    pub fn is_cached(&self, page: u64) -> bool {
        self.pages[page as usize].is_some()
    }

    /// Whether a load of a page is no fault.
    pub fn is_mapped(&self, page: u64) -> bool {
        self.pages[page as usize].is_some_and(|cached| cached.is_mapped)
    }

    /// When a page is there that was asked for.
    pub fn ready_at(&self, page: u64) -> Ps {
        self.pages[page as usize].map_or(Ps::ZERO, |cached| cached.ready)
    }

    /// Pages are there from then on.
    pub fn arrives(&mut self, pages: Pages, at: Ps) {
        for cached in &mut self.pages[pages.start as usize..pages.end as usize] {
            cached.as_mut().expect("it was asked for").ready = at;
        }
    }

    /// A load faults. Returns what has to be read for it now; then [`PageCache::map`] is due.
    pub fn fault(&mut self, page: u64, now: Ps) -> Vec<Pages> {
        self.map_around(page, now);
        let has_readahead = self.limits.window > 0 && self.advice != Advice::Random;
        match self.pages[page as usize] {
            Some(cached) if cached.is_mapped || !has_readahead => {}
            Some(cached) => {
                if cached.ready <= now {
                    self.misses = self.misses.saturating_sub(1);
                }
                if self.take_mark(page) {
                    self.read_next(page, cached.order, self.limits.window);
                }
            }
            None if !has_readahead => self.add(page, 0, false),
            None if self.advice == Advice::Sequential => {
                self.read_from(page, self.limits.window, false);
            }
            None => {
                self.misses = (self.misses + 1).min(10 * LOTS_OF_MISSES);
                match self.misses > LOTS_OF_MISSES {
                    true => self.add(page, 0, false),
                    false => {
                        self.window = Window::around(page, self.limits.window);
                        self.read_window();
                    }
                }
            }
        }
        std::mem::take(&mut self.reads)
    }

    /// The page of a fault is there: it is mapped, and those around it that are there too.
    pub fn map(&mut self, page: u64, now: Ps) {
        self.map_around(page, now);
        let cached = self.pages[page as usize].as_mut();
        cached.expect("it was read").is_mapped = true;
    }

    /// A read by system call comes to `page`, and goes on to `end`. Returns what has to be read
    /// now, and up to which page it can copy when that is there.
    pub fn read(&mut self, page: u64, end: u64, now: Ps) -> (Vec<Pages>, u64) {
        if !self.is_cached(page) {
            let is_next = self.read_to.is_some_and(|to| page == to || page == to + 1);
            self.read_from(page, end - page, is_next);
        }
        if !self.is_cached(page) {
            self.add(page, 0, false);
        }
        let (mut to, mut folios) = (page, 0);
        while to < end && folios < BATCH {
            let Some(cached) = self.pages[to as usize] else {
                break;
            };
            let first = first_of(to, cached.order);
            to = first + (1 << cached.order);
            folios += 1;
            if self.take_mark(first) {
                self.read_next(first, cached.order, end - first);
                break;
            }
            if cached.ready > now {
                break;
            }
        }
        let to = to.min(end);
        if to == end {
            self.read_to = Some(end);
        }
        (std::mem::take(&mut self.reads), to)
    }

    /// Maps what is there around a page, but for marked folios: their use has to be seen.
    fn map_around(&mut self, page: u64, now: Ps) {
        let from = page as usize / FAULT_AROUND * FAULT_AROUND;
        let to = self.pages.len().min(from + FAULT_AROUND);
        for at in from..to {
            let Some(cached) = &mut self.pages[at] else {
                continue;
            };
            let is_marked = self.marked[first_of(at as u64, cached.order) as usize];
            if cached.ready <= now && !is_marked {
                cached.is_mapped = true;
                self.misses = self.misses.saturating_sub(1);
            }
        }
    }

    /// Whether the folio of a page was marked; it no longer is.
    fn take_mark(&mut self, page: u64) -> bool {
        let order = self.pages[page as usize].map_or(0, |cached| cached.order);
        std::mem::take(&mut self.marked[first_of(page, order) as usize])
    }

    /// The most pages of a window for a request. A large request may exceed the readahead.
    fn most(&self, asked: u64) -> u64 {
        let most = match self.advice == Advice::Sequential && self.is_by_call {
            true => 2 * self.limits.window,
            false => self.limits.window,
        };
        match asked > most && self.limits.request > most {
            true => asked.min(self.limits.request),
            false => most,
        }
    }

    /// A page is missing of `asked` ones: a window begins there, or they are read as they are.
    fn read_from(&mut self, page: u64, asked: u64, is_next: bool) {
        let most = self.most(asked);
        if self.limits.window == 0 {
            return self.read_plain(page, 1, 0);
        }
        if self.is_by_call && self.advice == Advice::Random {
            let most = self.limits.request.max(self.limits.window);
            return self.read_plain(page, asked.min(most), 0);
        }
        if page == 0 || asked > most || is_next {
            self.window = Window::first(page, asked, most);
            return self.read_window();
        }
        let cached = self.cached_before(page, most);
        if cached <= asked {
            return self.read_plain(page, asked, 0);
        }
        // A file that is cached from its beginning is read in order, most likely.
        let history = cached * (1 + u64::from(cached == page));
        self.window = Window::after(page, (history + asked).min(most));
        self.read_window();
    }

    /// A marked folio is used: the window after the last one is read, or after what is cached.
    fn read_next(&mut self, page: u64, order: u8, asked: u64) {
        let most = self.most(asked);
        if most == 0 {
            return;
        }
        if page == first_of(self.window.mark(), order) {
            self.window.go_on(most);
        } else {
            let Some(start) = self.missing_after(page, most) else {
                return;
            };
            self.window.begin_again(start, start - page + asked, most);
        }
        self.read_window();
    }

    /// How many pages before a page are cached, of the `most` nearest. A walk that begins in the
    /// midst of a folio looks at pages before those it counts: so does the kernel's.
    fn cached_before(&self, page: u64, most: u64) -> u64 {
        let mut slot = self.slot_of(page - 1);
        if slot + 2 == page {
            slot = page - 1;
        }
        for count in 0..most.min(page) {
            if !self.is_cached(slot) {
                return count;
            }
            slot = match slot.is_multiple_of(NODE) {
                _ if slot == 0 => return (count + 1).min(most - 1),
                // In the node before, it looks at the same place as of the page that it counts.
                true => slot - NODE + (page - (count + 2)) % NODE,
                false => slot - 1,
            };
        }
        most - 1
    }

    /// The first page after a page that is missing, of the `most` nearest. A walk that begins in
    /// the midst of a folio looks at pages behind those it counts, up to the node's end, and leaves
    /// a hole: so does the kernel's.
    fn missing_after(&self, page: u64, most: u64) -> Option<u64> {
        let mut slot = self.slot_of(page + 1);
        for at in page + 1..=page + most {
            if slot >= self.pages.len() as u64 || !self.is_cached(slot) {
                return Some(at);
            }
            slot += 1;
            if slot.is_multiple_of(NODE) {
                slot = at + 1;
            }
        }
        None
    }

    /// Where a walk over the pages begins that is to begin at one.
    fn slot_of(&self, page: u64) -> u64 {
        match self.pages.get(page as usize) {
            Some(Some(cached)) if 1 << cached.order < NODE => first_of(page, cached.order),
            _ => page,
        }
    }

    /// Reads the window, in folios of its order where they fit.
    fn read_window(&mut self) {
        let Window { start, size, .. } = self.window;
        let mark = self.window.mark();
        let mut page = start;
        if self.limits.large_folios {
            let end = (start + size).min(self.pages.len() as u64);
            let most = self.window.limit_order();
            while page < end {
                let mut order = most.min(page.trailing_zeros() as u8);
                while page + (1 << order) > end {
                    order -= 1;
                }
                if (page..page + (1 << order)).any(|page| self.is_cached(page)) {
                    break;
                }
                self.add(page, order, first_of(mark, order) == page);
                page += 1 << order;
            }
            if page >= end {
                return;
            }
        } else {
            self.window.order = 0;
        }
        self.read_plain(page, start + size - page, self.window.ahead);
    }

    /// Reads what is missing of `count` pages, page by page. The last `ahead` begin with a mark.
    fn read_plain(&mut self, start: u64, count: u64, ahead: u64) {
        let end = (start + count).min(self.pages.len() as u64);
        for page in start..end {
            if !self.is_cached(page) {
                self.add(page, 0, page + ahead == end);
            }
        }
    }

    fn add(&mut self, page: u64, order: u8, is_marked: bool) {
        let end = page + (1 << order);
        let cached = Cached {
            order,
            is_mapped: false,
            ready: Ps(u64::MAX),
        };
        self.pages[page as usize..end as usize].fill(Some(cached));
        self.marked[page as usize] = is_marked;
        match self.reads.last_mut() {
            Some(last) if last.end == page => last.end = end,
            _ => self.reads.push(Pages { start: page, end }),
        }
    }
}

/// The first page of the folio of a page.
fn first_of(page: u64, order: u8) -> u64 {
    page >> order << order
}
