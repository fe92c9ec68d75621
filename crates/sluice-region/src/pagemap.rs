//! Asking the kernel whether a page has been written (`PAGEMAP_SCAN`, Linux 6.7).

use crate::sys::*;
use crate::{Lost, NO_DESCRIPTOR, PAGE, sys};
use core::ops::Range;

/// The page map of the calling process.
#[derive(Debug)]
pub struct Pagemap {
    fd: i32,
}

impl Pagemap {
    /// Opens the page map. After a fork the child must open its own.
    pub fn open() -> Result<Pagemap, i32> {
        let path = c"/proc/self/pagemap";
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        // SAFETY: a static, terminated path.
        let fd = unsafe { sys!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags)? };
        Ok(Pagemap { fd: fd as i32 })
    }

    /// No page map, for a process that has no device any more. Every question gets the answer that
    /// it is unknown.
    pub fn none() -> Pagemap {
        Pagemap { fd: NO_DESCRIPTOR }
    }

    /// The page map of the process that opened a descriptor, which is taken over.
    pub fn of(fd: std::os::fd::OwnedFd) -> Pagemap {
        use std::os::fd::IntoRawFd;
        Pagemap {
            fd: fd.into_raw_fd(),
        }
    }

    /// The descriptor, for its owner to move it.
    pub fn descriptor(&mut self) -> &mut i32 {
        &mut self.fd
    }

    /// Whether a mapped page was written since it was mapped write-protected.
    ///
    /// A page that cannot be asked about counts as written: a needless flash program is the
    /// safe side of the error.
    pub fn is_written(&self, page: usize) -> bool {
        self.is(page, PAGE_IS_WRITTEN) != 0
    }

    /// Which of up to 64 pages were written since they were mapped write-protected, the first in
    /// the lowest bit. All of them when they cannot be asked about.
    pub fn written(&self, start: usize, pages: usize) -> u64 {
        let mut regions = [PageRegion::default(); 64];
        let mut arg = PmScanArg {
            size: size_of::<PmScanArg>() as u64,
            start: start as u64,
            end: (start + pages.min(64) * PAGE) as u64,
            vec: regions.as_mut_ptr() as u64,
            vec_len: regions.len() as u64,
            category_mask: PAGE_IS_WRITTEN,
            return_mask: PAGE_IS_WRITTEN,
            ..PmScanArg::default()
        };
        let n = self.scan(&mut arg);
        if n < 0 {
            return u64::MAX;
        }
        let page = |at: u64| (at as usize - start) / PAGE;
        let found = regions[..n as usize].iter();
        let bits = found.flat_map(|region| page(region.start)..page(region.end));
        bits.fold(0, |mask, at| mask | 1 << at)
    }

    /// Whether a page has memory behind it in this process. False when it cannot be asked about.
    pub fn is_present(&self, page: usize) -> bool {
        self.is(page, PAGE_IS_PRESENT) > 0
    }

    /// Whether a page of shared memory that was dropped was still write-protected then. Where it
    /// was, the kernel keeps the protection in its place, for the page that comes next.
    ///
    /// A page that cannot be asked about counts as written.
    pub fn was_protected(&self, page: usize) -> bool {
        self.is_but(page, PAGE_IS_SWAPPED, PAGE_IS_WRITTEN) > 0
    }

    /// Whether a page is one of a file or of shared memory. False when it cannot be asked about, or
    /// when it is not there.
    pub fn is_of_file(&self, page: usize) -> bool {
        self.is(page, PAGE_IS_FILE) > 0
    }

    /// Regions of one page in a category: 1, 0, or negative on error.
    fn is(&self, page: usize, category: u64) -> i64 {
        self.is_but(page, category, 0)
    }

    /// Regions of one page in one category and not in another: 1, 0, or negative on error.
    fn is_but(&self, page: usize, category: u64, not: u64) -> i64 {
        let mut region = PageRegion::default();
        let mut arg = PmScanArg {
            size: size_of::<PmScanArg>() as u64,
            start: page as u64,
            end: (page + PAGE) as u64,
            vec: &raw mut region as u64,
            vec_len: 1,
            category_inverted: not,
            category_mask: category | not,
            return_mask: category,
            ..PmScanArg::default()
        };
        self.scan(&mut arg)
    }

    /// Regions that were found, or negative on error.
    fn scan(&self, arg: &mut PmScanArg) -> i64 {
        // SAFETY: the argument is live for the call, and so is the output vector that it names.
        match unsafe { sys!(libc::SYS_ioctl, self.fd, PAGEMAP_SCAN, &raw mut *arg) } {
            Ok(found) => found as i64,
            Err(errno) if self.fd == NO_DESCRIPTOR => -i64::from(errno),
            Err(errno) => -i64::from(Lost::check("the page map", errno)),
        }
    }

    /// Calls `each` with every page of a range that has memory behind it.
    pub fn each_present(&self, start: usize, end: usize, mut each: impl FnMut(usize)) {
        self.each_region(start..end, PAGE_IS_PRESENT, 0, |region| {
            region.step_by(PAGE).for_each(&mut each);
        });
    }

    /// Calls `each` with every region of a range that shows pages of files or of shared memory.
    pub fn each_of_file(&self, range: Range<usize>, each: impl FnMut(Range<usize>)) {
        self.each_region(range, PAGE_IS_PRESENT | PAGE_IS_FILE, 0, each);
    }

    /// Calls `each` with the ranges that were dropped and protected, as [`Pagemap::was_protected`]
    /// has it.
    pub fn each_protected(&self, range: Range<usize>, each: impl FnMut(Range<usize>)) {
        self.each_region(range, PAGE_IS_SWAPPED, PAGE_IS_WRITTEN, each);
    }

    /// Calls `each` with every region of a range that is in some categories and not in others.
    fn each_region(
        &self,
        range: Range<usize>,
        categories: u64,
        not: u64,
        mut each: impl FnMut(Range<usize>),
    ) {
        let mut regions = [PageRegion::default(); 256];
        let (mut from, end) = (range.start as u64, range.end as u64);
        while from < end {
            let mut arg = PmScanArg {
                size: size_of::<PmScanArg>() as u64,
                start: from,
                end,
                vec: regions.as_mut_ptr() as u64,
                vec_len: regions.len() as u64,
                category_inverted: not,
                category_mask: categories | not,
                return_mask: categories,
                ..PmScanArg::default()
            };
            let n = self.scan(&mut arg);
            if n < 0 || arg.walk_end <= from {
                return;
            }
            for region in &regions[..n as usize] {
                each(region.start as usize..region.end as usize);
            }
            from = arg.walk_end;
        }
    }
}

impl std::os::fd::AsFd for Pagemap {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        // SAFETY: open as long as this is.
        unsafe { std::os::fd::BorrowedFd::borrow_raw(self.fd) }
    }
}

impl Drop for Pagemap {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours alone.
        let _ = unsafe { sys!(libc::SYS_close, self.fd) };
    }
}
