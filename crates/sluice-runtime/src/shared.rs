//! Shared memory: every shared mapping of one file is the device (`--place dax:PATH`).
//!
//! The file's own pages are the store. A page is on the device's DRAM when its page-table entries
//! are there, and evicted by dropping them in all mappings.

use crate::private::{Left, zero_page};
use sluice_region::{Fill, Mapping, PAGE, Pagemap, Uffd, dont_need};

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

    /// Registers all mappings with a new descriptor.
    pub fn register(&self, uffd: &Uffd) -> Result<(), i32> {
        for window in &self.windows {
            uffd.register_shared(window.start, window.len)?;
        }
        Ok(())
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

    /// Forgets what lies in a range that is about to be unmapped; `written` is told of each page
    /// whose writes would otherwise be forgotten with its page-table entry.
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

    /// Page number of an address in one of the mappings.
    pub fn lpn(&self, addr: usize) -> Option<u64> {
        let inside = |w: &&Window| addr.wrapping_sub(w.start) < w.len;
        let w = self.windows.iter().find(inside)?;
        Some(w.first_lpn + ((addr - w.start) / PAGE) as u64)
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
        match uffd.continue_page(page, fill) {
            Err(libc::EFAULT) => match uffd.copy_page(page, self.zeros.addr(), fill) {
                Err(libc::EEXIST) => uffd.continue_page(page, fill),
                other => other,
            },
            other => other,
        }
    }

    /// Unmaps a page in every mapping.
    pub fn unmap(&self, pagemap: &Pagemap, lpn: u64, known_written: bool) -> Left {
        let mut written = known_written;
        for window in &self.windows {
            if let Some(page) = window.page_of(lpn) {
                written = written || pagemap.is_written(page);
                // SAFETY: shared memory: only the page-table entry goes.
                if let Err(errno) = unsafe { dont_need(page, PAGE) } {
                    return Left::Pinned(errno);
                }
            }
        }
        if written { Left::Written } else { Left::Clean }
    }
}
