//! Private memory: the program's heap in an arena, its evicted pages in a stash.
//!
//! A page enters the arena by `UFFDIO_COPY` from the stash, which maps and write-protects in one
//! call. It leaves by `UFFDIO_MOVE` into a limbo page: the move unmaps atomically, so that no store
//! can fall between reading the page and dropping it. From limbo the contents go back to the stash
//! if they changed. Copying in is cheaper than moving in (no second call to protect, no page table
//! walk in the source), and after a fork it works on shared pages, which a move refuses.

use crate::memory::sources::Sources;
use crate::store::Stash;
use core::ops::Range;
use sluice_region::{Fill, Mapping, PAGE, Pagemap, Uffd, dont_need, populate_write, raw_madvise};

/// Limbo pages are freed in batches: a call per page would cost as much as the move. This many at
/// the latest, so that even without waits it is a rare trap that pays for it.
const LIMBO_PAGES: usize = 256;
/// Pages that are freed earlier when there is time.
const LIMBO_BATCH: usize = 16;

/// What became of a page that was to leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// It left and had been written.
    Written,
    /// It left as it came.
    Clean,
    /// It was not there: the program dropped it by a call we did not see.
    Absent,
    /// The kernel holds it in place, with this error.
    Pinned(i32),
}

/// What is known of a page's writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notes {
    /// It was written.
    Written,
    /// The kernel has taken notes since it was mapped.
    Kept,
    /// Nobody has looked: its contents show it.
    Unknown,
}

/// A mapped page that is to leave, and what is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    pub lpn: u64,
    /// The stash has contents for it.
    pub stashed: bool,
    /// It was written.
    pub written: bool,
    /// How far that is sure.
    pub notes: Notes,
}

/// Arena, stash and limbo of one process.
#[derive(Debug)]
pub struct PrivateBacking {
    arena: Mapping,
    /// Contents of pages that are not mapped.
    pub stash: Stash,
    /// Contents of pages that begin as a file's.
    pub sources: Sources,
    limbo: Mapping,
    limbo_next: usize,
    zeros: Mapping,
}

impl PrivateBacking {
    /// Reserves room for `pages` pages; memory is used only as pages are.
    pub fn new(pages: usize, stash: Stash) -> Result<PrivateBacking, i32> {
        let arena = Mapping::anonymous(pages * PAGE)?;
        arena.fence();
        let limbo = Mapping::anonymous(LIMBO_PAGES * PAGE)?;
        limbo.fence_below();
        limbo.keep_from_core_files();
        Ok(PrivateBacking {
            arena,
            stash,
            sources: Sources::new(pages)?,
            limbo,
            limbo_next: 0,
            zeros: zero_page()?,
        })
    }

    /// Registers the arena and the limbo pages.
    pub fn register(&mut self, uffd: &Uffd) -> Result<(), i32> {
        self.register_limbo(uffd)?;
        uffd.register_private(self.arena.addr(), self.arena.len())
    }

    /// Registers the limbo pages.
    pub fn register_limbo(&mut self, uffd: &Uffd) -> Result<(), i32> {
        // SAFETY: limbo holds nothing between two evictions.
        unsafe { dont_need(self.limbo.addr(), self.limbo.len())? };
        self.limbo_next = 0;
        uffd.register_private(self.limbo.addr(), self.limbo.len())
    }

    /// A child that this library does not know of has no arena: it would see pages without their
    /// contents there.
    pub fn keep_from_children(&self) -> Result<(), i32> {
        keep_from_children(self.arena.addr(), self.arena.len())
    }

    /// A child that is about to be made has the arena.
    pub fn give_to_children(&self) -> Result<(), i32> {
        // SAFETY: our own memory, whose contents stay.
        unsafe { raw_madvise(self.arena.addr(), self.arena.len(), libc::MADV_DOFORK) }
    }

    /// The addresses of the limbo pages.
    pub fn limbo(&self) -> Range<usize> {
        self.limbo.addr()..self.limbo.addr() + self.limbo.len()
    }

    /// The arena's addresses.
    pub fn arena(&self) -> &Mapping {
        &self.arena
    }

    /// Page number of an address in the arena.
    pub fn lpn(&self, addr: usize) -> Option<u64> {
        self.arena
            .contains(addr)
            .then(|| ((addr - self.arena.addr()) / PAGE) as u64)
    }

    /// The address of a page.
    pub fn page(&self, lpn: u64) -> usize {
        self.arena.addr() + lpn as usize * PAGE
    }

    /// Maps pages that follow one another, all of them in the stash.
    ///
    /// # Errors
    /// How many were mapped before the one that could not be, and why.
    pub fn map_run(
        &mut self,
        uffd: &Uffd,
        first: u64,
        pages: usize,
        fill: Fill,
    ) -> Result<(), (usize, i32)> {
        if let Stash::Memory(_) = self.stash {
            let source = self.stash.source(first);
            return uffd.copy_pages(self.page(first), source, pages, fill);
        }
        // Frames are no neighbours.
        for at in 0..pages {
            let mapped = self.map(uffd, first + at as u64, true, fill);
            mapped.map_err(|errno| (at, errno))?;
        }
        Ok(())
    }

    /// Maps a page; `EEXIST` means that it is mapped.
    pub fn map(&mut self, uffd: &Uffd, lpn: u64, stashed: bool, fill: Fill) -> Result<(), i32> {
        let source = match stashed {
            true => self.stash.source(lpn),
            false => self.fresh(lpn),
        };
        uffd.copy_page(self.page(lpn), source, fill)?;
        if stashed {
            self.stash.mapped(lpn);
        }
        Ok(())
    }

    /// Whether an address is one of limbo, where nothing is but in the midst of an eviction.
    pub fn is_limbo(&self, addr: usize) -> bool {
        self.limbo.contains(addr)
    }

    /// A page of zeros.
    pub fn zeros(&self) -> usize {
        self.zeros.addr()
    }

    /// Maps a page of zeros anywhere where faults are served.
    pub fn map_zeros(&self, uffd: &Uffd, page: usize) -> Result<(), i32> {
        let fill = Fill {
            protect: false,
            wake: true,
        };
        uffd.copy_page(page, self.zeros.addr(), fill)
    }

    /// Whether a mapped page was written, as far as is known before it has left.
    pub fn is_written(&self, pagemap: &Pagemap, lpn: u64, notes: Notes) -> bool {
        match notes {
            Notes::Written => true,
            Notes::Kept => pagemap.is_written(self.page(lpn)),
            Notes::Unknown => false,
        }
    }

    /// Which of up to 64 pages from this one on were written since they were mapped.
    pub fn written(&self, pagemap: &Pagemap, lpn: u64) -> u64 {
        let left = (self.arena.len() / PAGE).saturating_sub(lpn as usize);
        pagemap.written(self.page(lpn), left.min(64))
    }

    /// Unmaps a page and brings the stash up to date. `alone` says that no thread of the program
    /// can run meanwhile.
    pub fn unmap(&mut self, uffd: &Uffd, pagemap: &Pagemap, page: Leaving, alone: bool) -> Left {
        if self.sources.sealed.has(page.lpn as usize) {
            return self.drop_sealed(&page);
        }
        let limbo = self.limbo.addr() + self.limbo_next * PAGE;
        match move_out(uffd, pagemap, limbo, self.page(page.lpn)) {
            Ok(()) => self.stash_moved(page, alone),
            Err(libc::ENOENT) => {
                self.stash.unmapped(page.lpn);
                Left::Absent
            }
            Err(errno) => Left::Pinned(errno),
        }
    }

    /// Unmaps pages that follow one another, with as few calls as can be. `each` gets what became
    /// of every one.
    pub fn unmap_run(
        &mut self,
        uffd: &Uffd,
        pagemap: &Pagemap,
        mut run: &[Leaving],
        alone: bool,
        mut each: impl FnMut(&Leaving, Left),
    ) {
        while let Some(first) = run.first() {
            let sealed = &self.sources.sealed;
            let open = run.iter().take_while(|page| !sealed.has(page.lpn as usize));
            let count = open.count().min(LIMBO_PAGES - self.limbo_next);
            let limbo = self.limbo.addr() + self.limbo_next * PAGE;
            let moved = match count {
                0 => Err((0, libc::EINVAL)),
                _ => uffd.move_pages(limbo, self.page(first.lpn), count),
            };
            let done = moved.map_or_else(|(done, _)| done, |()| count);
            for page in &run[..done] {
                let left = self.stash_moved(*page, alone);
                each(page, left);
            }
            run = &run[done..];
            // One that did not move needs more than that.
            if moved.is_err()
                && let Some((page, rest)) = run.split_first()
            {
                let left = self.unmap(uffd, pagemap, *page, alone);
                each(page, left);
                run = rest;
            }
        }
    }

    /// Brings the stash up to date with the page that was moved into limbo last.
    fn stash_moved(&mut self, page: Leaving, alone: bool) -> Left {
        let limbo = self.limbo.addr() + self.limbo_next * PAGE;
        // A store by another thread between the question and the move shows in the contents.
        let is_told = alone && page.notes == Notes::Kept;
        let changed = page.written || !is_told && !self.is_same(page, limbo);
        self.stash.unmapped(page.lpn);
        if changed {
            self.stash.save(page.lpn, limbo);
        }
        self.limbo_next += 1;
        if self.limbo_next == LIMBO_PAGES {
            self.free_limbo();
        }
        if changed { Left::Written } else { Left::Clean }
    }

    fn is_same(&mut self, page: Leaving, limbo: usize) -> bool {
        match page.stashed {
            true => self.stash.is_same(page.lpn, limbo),
            false => self.is_fresh(page.lpn, limbo),
        }
    }

    /// Frees limbo pages if a batch has come together.
    pub fn tidy(&mut self) {
        if self.limbo_next >= LIMBO_BATCH {
            self.free_limbo();
        }
    }

    /// Limbo pages that are not free.
    #[cfg(test)]
    pub fn in_limbo(&self) -> usize {
        self.limbo_next
    }

    fn free_limbo(&mut self) {
        // SAFETY: every limbo page has been read.
        let _ = unsafe { dont_need(self.limbo.addr(), self.limbo_next * PAGE) };
        self.limbo_next = 0;
    }

    /// Drops the contents of a range, arena and stash.
    pub fn drop_range(&mut self, first: u64, pages: usize) {
        let start = self.page(first);
        // SAFETY: the program gave the range up, and the mapping is ours.
        let _ = unsafe { dont_need(start, pages * PAGE) };
        self.stash.drop_range(first, pages);
    }
}

/// Leaves a range of the arena out of the memory of children; see
/// [`PrivateBacking::keep_from_children`].
pub fn keep_from_children(addr: usize, len: usize) -> Result<(), i32> {
    // SAFETY: memory of the arena, whose contents stay.
    unsafe { raw_madvise(addr, len, libc::MADV_DONTFORK) }
}

/// A page of zeros that is never written.
pub fn zero_page() -> Result<Mapping, i32> {
    let zeros = Mapping::anonymous(PAGE)?;
    // SAFETY: our own page. Reading it once maps the kernel's shared zero page.
    unsafe { core::ptr::read_volatile(zeros.addr() as *const u8) };
    Ok(zeros)
}

/// Moves a page out of the program, whatever the kernel says the first time.
///
/// After a fork it refuses a shared page (`EBUSY`) until the page is this process's own. An error
/// may also come after the deed, when the kernel tries again what it has done; so where the page
/// is decides, not the error.
fn move_out(uffd: &Uffd, pagemap: &Pagemap, limbo: usize, page: usize) -> Result<(), i32> {
    let mut result = uffd.move_page(limbo, page);
    if result == Err(libc::EBUSY) && pagemap.is_present(page) {
        // SAFETY: the page is present, and no thread can take it away while we hold the lock.
        unsafe { populate_write(page)? };
        result = uffd.move_page(limbo, page);
    }
    match result {
        Err(_) if pagemap.is_present(limbo) && !pagemap.is_present(page) => Ok(()),
        Err(libc::EEXIST) => {
            // SAFETY: limbo pages before their turn hold nothing.
            unsafe { dont_need(limbo, PAGE)? };
            uffd.move_page(limbo, page)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_region::UffdKind;

    const PAGES: usize = 4;

    fn world() -> (Uffd, Pagemap, PrivateBacking) {
        let uffd = Uffd::open(UffdKind::Signal).unwrap();
        let stash = Stash::in_memory(PAGES).unwrap();
        let mut backing = PrivateBacking::new(PAGES, stash).unwrap();
        backing.register(&uffd).unwrap();
        backing.keep_from_children().unwrap();
        (uffd, Pagemap::open().unwrap(), backing)
    }

    fn word(addr: usize) -> *mut u64 {
        addr as *mut u64
    }

    /// Unmaps page 1.
    fn unmap(
        backing: &mut PrivateBacking,
        uffd: &Uffd,
        pagemap: &Pagemap,
        stashed: bool,
        notes: Notes,
        alone: bool,
    ) -> Left {
        let page = Leaving {
            lpn: 1,
            stashed,
            written: backing.is_written(pagemap, 1, notes),
            notes,
        };
        backing.unmap(uffd, pagemap, page, alone)
    }

    /// Maps page 1 and stores a value there.
    fn store(uffd: &Uffd, backing: &mut PrivateBacking, value: u64) {
        backing.map(uffd, 1, false, Fill::NOTICED).unwrap();
        // SAFETY: mapped just now.
        unsafe { word(backing.page(1)).write_volatile(value) };
    }

    fn load_back(uffd: &Uffd, backing: &mut PrivateBacking) -> u64 {
        backing.map(uffd, 1, true, Fill::NOTICED).unwrap();
        // SAFETY: mapped just now.
        unsafe { word(backing.page(1)).read_volatile() }
    }

    #[test]
    fn a_written_page_comes_back_and_a_clean_one_leaves_clean() {
        let (uffd, pagemap, mut backing) = world();
        store(&uffd, &mut backing, 7);
        assert_eq!(
            unmap(&mut backing, &uffd, &pagemap, false, Notes::Kept, true),
            Left::Written
        );
        assert_eq!(load_back(&uffd, &mut backing), 7);
        assert_eq!(
            unmap(&mut backing, &uffd, &pagemap, true, Notes::Kept, true),
            Left::Clean
        );
        assert_eq!(load_back(&uffd, &mut backing), 7);
    }

    #[test]
    fn a_store_after_the_question_is_seen_in_the_contents() {
        let (uffd, pagemap, mut backing) = world();
        store(&uffd, &mut backing, 7);
        assert_eq!(
            unmap(&mut backing, &uffd, &pagemap, false, Notes::Kept, true),
            Left::Written
        );
        load_back(&uffd, &mut backing);
        // SAFETY: mapped by `load_back`; protecting again hides the store from the kernel's notes.
        unsafe { word(backing.page(1)).write_volatile(8) };
        uffd.write_protect(backing.page(1), PAGE).unwrap();
        assert_eq!(
            unmap(&mut backing, &uffd, &pagemap, true, Notes::Kept, false),
            Left::Written
        );
        assert_eq!(load_back(&uffd, &mut backing), 8);
    }

    #[test]
    fn a_page_that_moved_in_spite_of_an_error_is_not_lost() {
        let (uffd, pagemap, mut backing) = world();
        store(&uffd, &mut backing, 9);
        let limbo = backing.limbo.addr() + backing.limbo_next * PAGE;
        uffd.move_page(limbo, backing.page(1)).unwrap();
        assert_eq!(
            unmap(&mut backing, &uffd, &pagemap, false, Notes::Written, true),
            Left::Written
        );
        assert_eq!(load_back(&uffd, &mut backing), 9);
    }

    #[test]
    fn an_occupied_limbo_page_is_cleared() {
        let (uffd, pagemap, mut backing) = world();
        store(&uffd, &mut backing, 11);
        let limbo = backing.limbo.addr() + backing.limbo_next * PAGE;
        uffd.copy_page(limbo, backing.zeros.addr(), Fill::NOTICED)
            .unwrap();
        assert_eq!(
            unmap(&mut backing, &uffd, &pagemap, false, Notes::Written, true),
            Left::Written
        );
        assert_eq!(load_back(&uffd, &mut backing), 11);
    }

    #[test]
    fn a_page_that_is_nowhere_is_absent() {
        let (uffd, pagemap, mut backing) = world();
        assert_eq!(
            unmap(&mut backing, &uffd, &pagemap, false, Notes::Kept, true),
            Left::Absent
        );
    }

    /// Its pages would stay in the cache for as long as the child lives.
    #[test]
    fn a_page_that_a_child_shares_leaves_all_the_same() {
        let (uffd, pagemap, mut backing) = world();
        store(&uffd, &mut backing, 13);
        backing.give_to_children().unwrap();
        // SAFETY: the child makes system calls alone, until it is ended.
        let child = unsafe { libc::fork() };
        if child == 0 {
            loop {
                // SAFETY: no pointers.
                unsafe { libc::pause() };
            }
        }
        assert!(child > 0);
        let limbo = backing.limbo.addr() + backing.limbo_next * PAGE;
        let refused = uffd.move_page(limbo, backing.page(1));
        let left = unmap(&mut backing, &uffd, &pagemap, false, Notes::Unknown, true);
        // SAFETY: our own child, and nobody asks how it ended.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, core::ptr::null_mut(), 0);
        }
        assert_eq!(refused, Err(libc::EBUSY), "or this shows nothing");
        assert_eq!(left, Left::Written);
        assert_eq!(load_back(&uffd, &mut backing), 13);
    }
}
