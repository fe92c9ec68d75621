//! Pages of the arena that begin as a file's: private mappings, and shared ones that nobody may
//! write to.
//!
//! A *view* is the kernel's own mapping of the same part of the file, which only the runtime reads.
//! A page that the program has not written comes from its view each time, and needs no place in
//! the stash. Behind the file's end there is no page in the view either, and the program gets the
//! kernel's answer.

use crate::store::same_page;
use core::ops::Range;
use sluice_region::{Lease, Mapping, PAGE, read_ahead, read_page, unmap_view};
use sluice_units::Bits;
use std::collections::BTreeMap;

/// How a program has a file mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileKind {
    /// What it writes is its own.
    Private,
    /// It sees what others write, and writes nothing.
    Shared,
}

/// Pages in a row of one mapping.
#[derive(Clone, Copy, Debug)]
struct Piece {
    pages: u64,
    /// The address of the first one's view.
    view: usize,
    /// The lease of its file, for a shared mapping.
    lease: Option<u32>,
}

/// Which pages begin as a file's, and which of all can only be read.
#[derive(Debug)]
pub struct Sources {
    /// By their first page. None overlap.
    pieces: BTreeMap<u64, Piece>,
    /// Pages that the program cannot write to. What is mapped of them is as it came.
    pub sealed: Bits,
    leases: BTreeMap<u32, Lease>,
    next_lease: u32,
    /// A page for comparisons.
    scratch: Mapping,
}

impl Sources {
    /// None, of so many pages.
    pub fn new(pages: usize) -> Result<Sources, i32> {
        Ok(Sources {
            pieces: BTreeMap::new(),
            sealed: Bits::new(pages),
            leases: BTreeMap::new(),
            next_lease: 0,
            scratch: Mapping::anonymous(PAGE)?,
        })
    }

    /// Has pages begin as what a view shows. There are no others of files among them.
    pub fn add(&mut self, first: u64, pages: u64, view: usize, lease: Option<Lease>) {
        let lease = lease.map(|lease| {
            self.next_lease += 1;
            self.leases.insert(self.next_lease, lease);
            self.next_lease
        });
        let piece = Piece { pages, view, lease };
        self.pieces.insert(first, piece);
    }

    fn piece_of(&self, lpn: u64) -> Option<(u64, &Piece)> {
        let (first, piece) = self.pieces.range(..=lpn).next_back()?;
        (lpn - first < piece.pages).then_some((*first, piece))
    }

    /// Where a page's contents are, if it begins as a file's.
    pub fn view_of(&self, lpn: u64) -> Option<usize> {
        if self.pieces.is_empty() {
            return None;
        }
        let (first, piece) = self.piece_of(lpn)?;
        Some(piece.view + (lpn - first) as usize * PAGE)
    }

    /// How far pages from `first` on are all of one mapping of a file, or of none: the end of that
    /// part, and which.
    pub fn alike_from(&self, first: u64, end: u64) -> (u64, Option<FileKind>) {
        match self.piece_of(first) {
            Some((from, piece)) => {
                let kind = piece.lease.map_or(FileKind::Private, |_| FileKind::Shared);
                (end.min(from + piece.pages), Some(kind))
            }
            None => {
                let next = self.pieces.range(first..end).next();
                (next.map_or(end, |(from, _)| *from), None)
            }
        }
    }

    /// A page for the holder of the lock.
    pub fn scratch(&self) -> usize {
        self.scratch.addr()
    }

    /// Whether no page is a file's.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Takes what a range has of files out of the table, and unmaps its views.
    pub fn cut(&mut self, range: Range<u64>) {
        while let Some((first, piece)) = self.first_in(&range) {
            self.pieces.remove(&first);
            let end = first + piece.pages;
            let (from, to) = (first.max(range.start), end.min(range.end));
            let view_at = |lpn: u64| piece.view + (lpn - first) as usize * PAGE;
            for (from, to) in [(first, from), (to, end)] {
                if from < to {
                    let (pages, view) = (to - from, view_at(from));
                    self.pieces.insert(
                        from,
                        Piece {
                            pages,
                            view,
                            ..piece
                        },
                    );
                }
            }
            // SAFETY: no page comes from there any more.
            unsafe { unmap_view(view_at(from), (to - from) as usize * PAGE) };
            if let Some(lease) = piece.lease
                && self.pieces.values().all(|piece| piece.lease != Some(lease))
            {
                self.leases.remove(&lease);
            }
        }
    }

    fn first_in(&self, range: &Range<u64>) -> Option<(u64, Piece)> {
        let across = self
            .piece_of(range.start)
            .map(|(first, piece)| (first, *piece));
        across.or_else(|| {
            let next = self.pieces.range(range.clone()).next();
            next.map(|(first, piece)| (*first, *piece))
        })
    }

    /// Whether there are leases to be looked at.
    pub fn has_leases(&self) -> bool {
        !self.leases.is_empty()
    }

    /// A range of pages whose file somebody waits to write to.
    pub fn wanted(&self) -> Option<Range<u64>> {
        let (lease, _) = self.leases.iter().find(|(_, lease)| lease.is_wanted())?;
        self.leased(|of| of == *lease)
    }

    /// A range of pages of one file.
    pub fn any(&self) -> Option<Range<u64>> {
        let (first, piece) = self.pieces.first_key_value()?;
        Some(*first..*first + piece.pages)
    }

    /// A range of pages whose file is leased.
    pub fn any_leased(&self) -> Option<Range<u64>> {
        self.leased(|_| true)
    }

    fn leased(&self, is_meant: impl Fn(u32) -> bool) -> Option<Range<u64>> {
        let mut all = self.pieces.iter();
        let found = all.find(|(_, piece)| piece.lease.is_some_and(&is_meant));
        found.map(|(first, piece)| *first..first + piece.pages)
    }

    /// Leases whose descriptors are not in this process's tables.
    pub fn forget_leases(&mut self) {
        while let Some((_, lease)) = self.leases.pop_first() {
            lease.forget();
        }
    }

    /// Has the kernel begin to read a page of a file, for it will be mapped soon.
    pub fn send_for(&self, lpn: u64) {
        if let Some(view) = self.view_of(lpn) {
            read_ahead(view);
        }
    }

    /// Whether a page is as its file has it; false if the file cannot be read.
    pub fn is_same(&self, view: usize, page: usize) -> bool {
        let scratch = self.scratch.addr();
        read_page(scratch, view).is_ok() && same_page(scratch, page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_region::map_view;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    const PAGES: u64 = 8;

    /// A table with pages 10 to 17, which are the first of a file whose pages are numbered.
    fn table() -> Sources {
        let mut file = tempfile::tempfile().unwrap();
        (0..PAGES).for_each(|page| file.write_all(&[page as u8; PAGE]).unwrap());
        let view = map_view(PAGES as usize * PAGE, false, file.as_raw_fd(), 0).unwrap();
        let mut table = Sources::new(100).unwrap();
        table.add(10, PAGES, view, None);
        table
    }

    fn shows(table: &Sources, lpn: u64) -> Option<u8> {
        // SAFETY: a page of a view of a file that nobody cuts.
        table
            .view_of(lpn)
            .map(|view| unsafe { *(view as *const u8) })
    }

    #[test]
    fn what_is_left_of_a_mapping_keeps_its_place_in_the_file() {
        for cut in [0..11, 10..18, 12..14, 17..30, 9..18, 14..15] {
            let mut table = table();
            table.cut(cut.clone());
            for lpn in 0..40 {
                let is_there = (10..18).contains(&lpn) && !cut.contains(&lpn);
                let expected = is_there.then(|| (lpn - 10) as u8);
                assert_eq!(shows(&table, lpn), expected, "{lpn} of {cut:?}");
            }
            table.cut(0..100);
            assert!(table.is_empty());
        }
    }

    #[test]
    fn parts_of_files_and_others_take_turns() {
        let mut table = table();
        table.cut(12..14);
        let (mut at, mut parts) = (0, Vec::new());
        while at < 40 {
            let (to, is_file) = table.alike_from(at, 40);
            parts.push((at..to, is_file.is_some()));
            at = to;
        }
        let of_files: Vec<_> = parts.iter().filter(|part| part.1).collect();
        assert_eq!(of_files, [&(10..12, true), &(14..18, true)]);
        assert_eq!(parts.len(), 5);
        table.cut(0..100);
    }
}
