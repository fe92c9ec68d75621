//! Shared memory: every shared mapping of one file is the device (`--place dax:PATH`).
//!
//! The file's own pages are the store. A page is on the device's DRAM when its page-table entries
//! are there, and evicted by dropping them in all mappings.

use crate::memory::maps::{range, read_maps};
use crate::memory::private::{Left, zero_page};
use crate::session::error::StartError;
use core::ops::Range;
use sluice_region::{Fill, Mapping, PAGE, Pagemap, Uffd, dont_need, sys};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Mappings of the file that may exist at once.
pub const MAX_MAPPINGS: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Window {
    start: usize,
    len: usize,
    first_lpn: u64,
}

impl Window {
    fn page_of(&self, lpn: u64) -> Option<usize> {
        let at = lpn.checked_sub(self.first_lpn)? as usize * PAGE;
        (at < self.len).then(|| self.start + at)
    }
}

/// Whether an address of a range is not mapped.
fn has_hole(start: usize, len: usize) -> bool {
    // SAFETY: looks at mappings only: memory shared by a file has nothing to be written anywhere.
    let asked = unsafe { sys!(libc::SYS_msync, start, len, libc::MS_ASYNC) };
    asked == Err(libc::ENOMEM)
}

/// Maps a page of shared memory, which is in the kernel's object or becomes a page of zeros there.
pub fn map_page(uffd: &Uffd, page: usize, zeros: usize, fill: Fill) -> Result<(), i32> {
    match uffd.continue_page(page, fill) {
        Err(libc::EFAULT) => match uffd.copy_page(page, zeros, fill) {
            // Somebody else made it meanwhile.
            Err(libc::EEXIST) => uffd.continue_page(page, fill),
            other => other,
        },
        other => other,
    }
}

/// How far a range of addresses is alike from its start on: the end of that part, and whether it is
/// one of these, which lie in the range.
pub fn alike(parts: impl Iterator<Item = Range<usize>>, start: usize, end: usize) -> (usize, bool) {
    match parts.min_by_key(|part| part.start) {
        None => (end, false),
        Some(first) if first.start > start => (first.start, false),
        Some(first) => (first.end, true),
    }
}

/// The file and its mappings in this process.
#[derive(Debug)]
pub struct SharedBacking {
    identity: (u64, u64),
    /// Never more than there was room for at the start: nothing is allocated later.
    windows: Vec<Window>,
    zeros: Mapping,
}

impl SharedBacking {
    /// No mappings yet of the file with this device and inode number.
    pub fn new(identity: (u64, u64)) -> Result<SharedBacking, i32> {
        Ok(SharedBacking {
            identity,
            windows: Vec::with_capacity(MAX_MAPPINGS),
            zeros: zero_page()?,
        })
    }

    /// Device and inode number of the file.
    pub fn identity(&self) -> (u64, u64) {
        self.identity
    }

    /// In the child of a fork: forgets mappings that the child does not have, because the program
    /// advised the kernel to keep them from children (`MADV_DONTFORK`, as QEMU does with a guest's
    /// memory). Before anything else is mapped there.
    pub fn forget_unmapped(&mut self) -> Result<(), i32> {
        match self.windows.iter().any(|w| has_hole(w.start, w.len)) {
            true => self.forget_holes(&read_maps()?),
            false => Ok(()),
        }
    }

    /// Registers the mappings with another descriptor.
    pub fn register(&mut self, uffd: &Uffd) -> Result<(), i32> {
        for window in &self.windows {
            uffd.register_shared(window.start, window.len)?;
        }
        Ok(())
    }

    /// Keeps of each mapping what is mapped, as `/proc/self/maps` says.
    fn forget_holes(&mut self, maps: &[u8]) -> Result<(), i32> {
        for at in (0..self.windows.len()).rev() {
            let window = self.windows.swap_remove(at);
            let end = window.start + window.len;
            let mut kept: Option<(usize, usize)> = None;
            for (from, to, _) in maps.split(|byte| *byte == b'\n').filter_map(range) {
                let (from, to) = (from.max(window.start), to.min(end));
                kept = match kept {
                    _ if from >= to => continue,
                    Some((first, last)) if last == from => Some((first, to)),
                    Some((first, last)) => {
                        self.keep(window, first, last)?;
                        Some((from, to))
                    }
                    None => Some((from, to)),
                };
            }
            let (first, last) = kept.unwrap_or_default();
            self.keep(window, first, last)?;
        }
        Ok(())
    }

    /// No mapping is the device's any more.
    pub fn forget_all(&mut self) {
        self.windows.clear();
    }

    /// Adds a mapping; `ENOMEM` when there are too many.
    pub fn add(&mut self, uffd: &Uffd, start: usize, len: usize, lpn: u64) -> Result<(), i32> {
        if self.windows.len() == MAX_MAPPINGS {
            return Err(libc::ENOMEM);
        }
        uffd.register_shared(start, len)?;
        self.windows.push(Window {
            start,
            len,
            first_lpn: lpn,
        });
        Ok(())
    }

    /// Forgets what lies in a range that is about to be unmapped; `written` gets each page whose
    /// writes would otherwise be forgotten with its page-table entry.
    pub fn cut(
        &mut self,
        start: usize,
        len: usize,
        pagemap: &Pagemap,
        mut written: impl FnMut(u64),
    ) -> Result<(), i32> {
        let mut at = 0;
        while let Some(&w) = self.windows.get(at) {
            let (low, high) = (start.max(w.start), (start + len).min(w.start + w.len));
            if low >= high {
                at += 1;
                continue;
            }
            let two_are_left = low > w.start && high < w.start + w.len;
            if two_are_left && self.windows.len() == MAX_MAPPINGS {
                // Nothing has gone: the range lies within this mapping alone.
                return Err(libc::ENOMEM);
            }
            for page in (low..high).step_by(PAGE).filter(|&p| pagemap.is_written(p)) {
                written(w.first_lpn + ((page - w.start) / PAGE) as u64);
            }
            self.windows.swap_remove(at);
            self.keep(w, w.start, low)?;
            self.keep(w, high, w.start + w.len)?;
        }
        Ok(())
    }

    fn keep(&mut self, of: Window, start: usize, end: usize) -> Result<(), i32> {
        if start == end {
            return Ok(());
        }
        if self.windows.len() == MAX_MAPPINGS {
            return Err(libc::ENOMEM);
        }
        self.windows.push(Window {
            start,
            len: end - start,
            first_lpn: of.first_lpn + ((start - of.start) / PAGE) as u64,
        });
        Ok(())
    }

    /// The pages of the mappings that a range of addresses touches, into `to`. Says how many parts.
    pub fn parts(&self, start: usize, len: usize, to: &mut [Range<u64>; MAX_MAPPINGS]) -> usize {
        let mut count = 0;
        for w in &self.windows {
            let (low, high) = (start.max(w.start), (start + len).min(w.start + w.len));
            if low < high {
                let page = |addr: usize| w.first_lpn + (addr / PAGE) as u64;
                to[count] = page(low - w.start)..page(high - w.start + PAGE - 1);
                count += 1;
            }
        }
        count
    }

    /// Page number of an address in one of the mappings.
    pub fn lpn(&self, addr: usize) -> Option<u64> {
        let inside = |w: &&Window| addr.wrapping_sub(w.start) < w.len;
        let w = self.windows.iter().find(inside)?;
        Some(w.first_lpn + ((addr - w.start) / PAGE) as u64)
    }

    /// How far a range of addresses is alike from its start on: the end of that part, and whether
    /// it is of a mapping.
    pub fn alike_from(&self, start: usize, end: usize) -> (usize, bool) {
        let parts = self.windows.iter().filter_map(|w| {
            let (low, high) = (start.max(w.start), end.min(w.start + w.len));
            (low < high).then_some(low..high)
        });
        alike(parts, start, end)
    }

    /// An address of a page in the mappings from number `at` on, and the number after it.
    pub fn address_of(&self, lpn: u64, at: usize) -> Option<(usize, usize)> {
        let windows = self.windows.iter().enumerate().skip(at);
        let mut found = windows.filter_map(|(n, w)| Some((w.page_of(lpn)?, n + 1)));
        found.next()
    }

    /// Whether two addresses are in the same mapping.
    pub fn is_one(&self, a: usize, b: usize) -> bool {
        let inside = |w: &Window, addr: usize| addr.wrapping_sub(w.start) < w.len;
        let mut windows = self.windows.iter();
        windows.any(|w| inside(w, a) && inside(w, b))
    }

    /// Maps the page at an address; a hole in the file becomes a page of zeros.
    pub fn map(&self, uffd: &Uffd, page: usize, fill: Fill) -> Result<(), i32> {
        map_page(uffd, page, self.zeros.addr(), fill)
    }

    /// Unmaps a page in every mapping. `written` becomes true if it was written in one of them:
    /// what the kernel knew of that has gone with its entry, also where another mapping keeps the
    /// page.
    pub fn unmap(&self, pagemap: &Pagemap, lpn: u64, written: &mut bool) -> Left {
        // SAFETY: shared memory: only the page-table entry goes.
        self.unmap_by(pagemap, lpn, written, |page| unsafe {
            dont_need(page, PAGE)
        })
    }

    fn unmap_by(
        &self,
        pagemap: &Pagemap,
        lpn: u64,
        written: &mut bool,
        drop_entry: impl Fn(usize) -> Result<(), i32>,
    ) -> Left {
        let second = self.address_of(lpn, 0).map(|(_, next)| next);
        let is_one = second.is_none_or(|at| self.address_of(lpn, at).is_none());
        for page in self.windows.iter().filter_map(|w| w.page_of(lpn)) {
            // What the kernel has reclaimed of the only mapping it does not say. In the child of a
            // fork there is nothing yet.
            let may_be = |page| pagemap.is_present(page) || is_one && pagemap.is_written(page);
            let is_there = !*written && may_be(page);
            if let Err(errno) = drop_entry(page) {
                return Left::Pinned(errno);
            }
            // Only now is the page's last write known: another thread may store until the entry is
            // gone.
            *written |= is_there && !pagemap.was_protected(page);
        }
        if *written { Left::Written } else { Left::Clean }
    }
}

/// Which file the device's is.
pub(crate) fn identity(path: &Path) -> Result<(u64, u64), StartError> {
    let meta = std::fs::metadata(path).map_err(|source| StartError::DeviceFile {
        path: path.to_owned(),
        source,
    })?;
    Ok((meta.dev(), meta.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_child_has_not_is_forgotten() {
        let mut shared = SharedBacking::new((0, 0)).expect("a page");
        let window = |start, len, first_lpn| Window {
            start,
            len,
            first_lpn,
        };
        shared.windows.push(window(0x10000, 0x8000, 100));
        shared.windows.push(window(0x30000, 0x4000, 0));
        shared.windows.push(window(0x50000, 0x2000, 7));
        // The first with a hole and in two pieces that touch; the second is gone.
        let maps = b"8000-11000 rw-s 0 00:01 5 /x\n13000-14000 rw-s 0 00:01 5 /x\n\
            14000-15000 r--s 0 00:01 5 /x\n50000-52000 rw-s 0 00:01 5 /path with-a dash\nnonsense";
        shared.forget_holes(maps).expect("room");
        let mut found: Vec<_> = shared.windows.iter().collect();
        found.sort_by_key(|window| window.start);
        let found: Vec<_> = found
            .iter()
            .map(|w| (w.start, w.len, w.first_lpn))
            .collect();
        assert_eq!(
            found,
            [
                (0x10000, 0x1000, 100),
                (0x13000, 0x2000, 103),
                (0x50000, 0x2000, 7)
            ]
        );
        assert_eq!(shared.lpn(0x11000), None);
        assert_eq!(shared.lpn(0x14000), Some(104));
    }

    #[test]
    fn a_hole_that_leaves_too_many_mappings_is_refused_and_changes_nothing() {
        let pagemap = Pagemap::open().expect("a descriptor");
        let mut shared = SharedBacking::new((0, 0)).expect("a page");
        let at = |number: usize| 0x10_0000 + number * 0x1_0000;
        for number in 0..MAX_MAPPINGS {
            shared.windows.push(Window {
                start: at(number),
                len: 3 * PAGE,
                first_lpn: 3 * number as u64,
            });
        }
        let hole = shared.cut(at(5) + PAGE, PAGE, &pagemap, |_| ());
        assert_eq!(hole, Err(libc::ENOMEM));
        for page in 0..3 {
            assert_eq!(shared.lpn(at(5) + page * PAGE), Some(15 + page as u64));
        }
        // An end leaves one mapping, and so does a whole one none.
        assert_eq!(shared.cut(at(5), PAGE, &pagemap, |_| ()), Ok(()));
        assert_eq!(shared.cut(at(6), 3 * PAGE, &pagemap, |_| ()), Ok(()));
        assert_eq!(shared.cut(at(7) + PAGE, PAGE, &pagemap, |_| ()), Ok(()));
        assert_eq!(shared.lpn(at(5)), None);
        assert_eq!(shared.lpn(at(5) + PAGE), Some(16));
        assert_eq!(shared.lpn(at(7) + PAGE), None);
        assert_eq!(shared.lpn(at(7) + 2 * PAGE), Some(23));
    }

    const PAGES: usize = 8;

    /// Eight pages of a file, mapped twice, of which pages 2 and 5 were written by the first.
    fn mapped_twice() -> (Uffd, Pagemap, SharedBacking, [Mapping; 2]) {
        let uffd = Uffd::open(sluice_region::UffdKind::Signal).expect("a descriptor");
        let fd = sluice_region::memfd(PAGES * PAGE).expect("memory");
        let mut shared = SharedBacking::new((0, 0)).expect("a page");
        let maps = [0, 1].map(|_| Mapping::shared(fd, PAGES * PAGE).expect("a mapping"));
        // SAFETY: our own descriptor, which the mappings do not need.
        unsafe { libc::close(fd) };
        for map in &maps {
            shared.add(&uffd, map.addr(), map.len(), 100).expect("room");
        }
        for at in 0..PAGES {
            let page = maps[0].addr() + at * PAGE;
            shared.map(&uffd, page, Fill::NOTICED).expect("memory");
            if at == 2 || at == 5 {
                // SAFETY: just mapped, writable.
                unsafe { (page as *mut u64).write_volatile(1) };
            }
        }
        (uffd, Pagemap::open().expect("a page map"), shared, maps)
    }

    #[test]
    fn a_cut_tells_what_was_written_there_and_keeps_both_sides() {
        let (_uffd, pagemap, mut shared, [first, second]) = mapped_twice();
        let (at, page) = (first.addr(), |n: usize| n * PAGE);
        let mut written = Vec::new();
        let cut = shared.cut(at + page(1), page(3), &pagemap, |lpn| written.push(lpn));
        assert_eq!((cut, &written[..]), (Ok(()), &[102][..]));
        for n in 0..PAGES {
            let kept = (!(1..4).contains(&n)).then_some(100 + n as u64);
            assert_eq!(shared.lpn(at + page(n)), kept, "page {n}");
            assert_eq!(shared.lpn(second.addr() + page(n)), Some(100 + n as u64));
        }
        assert_eq!(shared.windows.len(), 3);
        // What reaches beyond both ends takes the rest.
        let cut = shared.cut(at, page(PAGES), &pagemap, |lpn| written.push(lpn));
        assert_eq!((cut, &written[..]), (Ok(()), &[102, 105][..]));
        assert_eq!(shared.windows.len(), 1);
        assert!(shared.is_one(second.addr(), second.addr() + page(PAGES) - 1));
        // Beside a mapping nothing is cut.
        let (low, high) = (second.addr() - page(1), second.addr() + page(PAGES));
        for beside in [low, high] {
            shared.cut(beside, page(1), &pagemap, |_| ()).expect("room");
        }
        assert_eq!(shared.windows.len(), 1);
    }

    /// A check before that took the page for clean, and a power cut lost what was stored.
    #[test]
    fn a_store_counts_up_to_the_moment_at_which_a_page_goes() {
        let (_uffd, pagemap, shared, _maps) = mapped_twice();
        let store_first = |page: usize| {
            // SAFETY: a page of the test's, which is mapped in the first mapping.
            unsafe {
                if pagemap.is_present(page) {
                    (page as *mut u64).write_volatile(7);
                }
                dont_need(page, PAGE)
            }
        };
        for lpn in 100..100 + PAGES as u64 {
            let (mut early, mut late) = (false, false);
            let plain = shared.unmap(&pagemap, lpn, &mut early);
            assert_eq!(early, lpn == 102 || lpn == 105, "page {lpn}");
            assert_eq!(plain == Left::Written, early, "page {lpn}");
            let again = shared.unmap_by(&pagemap, lpn, &mut late, store_first);
            assert_eq!((again, late), (Left::Clean, false), "it is nowhere");
        }
        let (_uffd, pagemap, shared, _maps) = mapped_twice();
        for lpn in 100..100 + PAGES as u64 {
            let mut written = false;
            let left = shared.unmap_by(&pagemap, lpn, &mut written, store_first);
            assert_eq!((left, written), (Left::Written, true), "page {lpn}");
        }
    }

    /// As in the child of a fork, which has its parent's mapping, and nothing there.
    #[test]
    fn a_page_that_was_never_mapped_leaves_clean() {
        let (_uffd, pagemap, mut shared, [_first, second]) = mapped_twice();
        let cut = shared.cut(second.addr(), second.len(), &pagemap, |_| ());
        assert_eq!((cut, shared.windows.len()), (Ok(()), 1));
        let fd = sluice_region::memfd(PAGES * PAGE).expect("memory");
        let fresh = Mapping::shared(fd, 512 * PAGES * PAGE).expect("a mapping");
        // SAFETY: our own descriptor, which the mapping does not need.
        unsafe { libc::close(fd) };
        shared.windows[0].start = fresh.addr();
        let mut written = false;
        assert_eq!(shared.unmap(&pagemap, 102, &mut written), Left::Clean);
        assert!(!written);
    }

    /// A second mapping, which the program has locked past all hooks, keeps its page.
    #[test]
    fn what_one_mapping_has_written_is_known_also_if_another_keeps_the_page() {
        let (_uffd, pagemap, shared, [_first, second]) = mapped_twice();
        // SAFETY: a mapping of the test's; no memory changes.
        let lock = |number| unsafe {
            sys!(number, second.addr(), second.len(), libc::MLOCK_ONFAULT).expect("a right")
        };
        lock(libc::SYS_mlock2);
        for (lpn, is_written) in [(102, true), (103, false)] {
            let mut written = false;
            let left = shared.unmap(&pagemap, lpn, &mut written);
            assert!(matches!(left, Left::Pinned(_)), "{left:?}");
            assert_eq!(written, is_written, "page {lpn}");
        }
        lock(libc::SYS_munlock);
    }

    /// A page is unmapped, and mapped unasked, in each.
    #[test]
    fn every_address_of_a_page_is_found_once() {
        let (_uffd, _, shared, maps) = mapped_twice();
        for (lpn, of_page) in [(100, 0), (103, 3 * PAGE), (107, 7 * PAGE)] {
            let (mut at, mut found) = (0, Vec::new());
            while let Some((addr, next)) = shared.address_of(lpn, at) {
                assert!(next > at, "it goes round");
                at = next;
                found.push(addr);
            }
            let expected: Vec<usize> = maps.iter().map(|map| map.addr() + of_page).collect();
            assert_eq!(found, expected, "page {lpn}");
        }
        assert_eq!(shared.address_of(99, 0), None);
        assert_eq!(shared.address_of(108, 0), None);
    }
}
