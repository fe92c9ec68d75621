//! Where the heap's evicted pages are kept (the *stash*): in memory, or in a file.

mod file;
mod frames;
mod io;
mod page_map;
mod readers;
mod slots;

pub use file::{Error, FileStore, Opened};
pub use io::Io;

use sluice_region::{Mapping, PAGE, dont_need};

/// The evicted pages of one process.
#[derive(Debug)]
pub enum Stash {
    /// As much memory as the device has, used as pages are.
    Memory(Mapping),
    /// A file, and a few frames.
    File(Box<FileStore>),
}

impl Stash {
    /// In memory, for so many pages.
    pub fn in_memory(pages: usize) -> Result<Stash, i32> {
        let memory = Mapping::anonymous(pages * PAGE)?;
        memory.fence_below();
        // What a core file has of the arena is what was in the cache. As much again would be of no
        // use to a debugger, which does not know that it belongs there.
        memory.keep_from_core_files();
        Ok(Stash::Memory(memory))
    }

    /// Where the contents of a page are.
    pub fn source(&mut self, lpn: u64) -> usize {
        match self {
            Stash::Memory(memory) => memory.addr() + lpn as usize * PAGE,
            Stash::File(file) => file.source(lpn),
        }
    }

    /// A page was mapped with what [`source`](Stash::source) gave.
    pub fn mapped(&mut self, lpn: u64) {
        if let Stash::File(file) = self {
            file.mapped(lpn);
        }
    }

    /// Whether a page that leaves is as it was mapped.
    pub fn is_same(&mut self, lpn: u64, addr: usize) -> bool {
        match self {
            Stash::Memory(memory) => same_page(addr, memory.addr() + lpn as usize * PAGE),
            Stash::File(file) => file.is_same(lpn, addr),
        }
    }

    /// A page is mapped no longer, and its contents need not be looked at.
    pub fn unmapped(&mut self, lpn: u64) {
        if let Stash::File(file) = self {
            file.unmapped(lpn);
        }
    }

    /// Keeps a page's contents.
    pub fn save(&mut self, lpn: u64, from: usize) {
        match self {
            Stash::Memory(memory) => copy_page(memory.addr() + lpn as usize * PAGE, from),
            Stash::File(file) => file.save(lpn, from),
        }
    }

    /// Pages have no contents any more.
    pub fn drop_range(&mut self, first: u64, pages: usize) {
        match self {
            Stash::Memory(memory) => {
                let start = memory.addr() + first as usize * PAGE;
                // SAFETY: our own memory, whose contents nobody needs.
                let _ = unsafe { dont_need(start, pages * PAGE) };
            }
            Stash::File(file) => file.drop_range(first, pages),
        }
    }

    /// The file, if that is what it is.
    pub fn file(&mut self) -> Option<&mut FileStore> {
        match self {
            Stash::Memory(_) => None,
            Stash::File(file) => Some(file),
        }
    }
}

/// Compares two pages by machine words; neither is reachable by the program.
pub fn same_page(a: usize, b: usize) -> bool {
    let (a, b) = (a as *const u64, b as *const u64);
    // SAFETY: both are whole, aligned, readable pages of the runtime.
    (0..PAGE / 64).all(|line| unsafe {
        (0..8).fold(0, |differ, word| {
            let at = line * 8 + word;
            differ | (*a.add(at) ^ *b.add(at))
        }) == 0
    })
}

/// Copies a page.
pub fn copy_page(to: usize, from: usize) {
    // SAFETY: both are whole pages of the runtime, and they are distinct.
    unsafe { core::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, PAGE) };
}
