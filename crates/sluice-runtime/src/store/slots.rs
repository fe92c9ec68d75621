//! Which slot of which file has a page's contents.
//!
//! A process writes to a file of its own. The child of a fork goes on with its parent's contents:
//! it reads them from its parent's file, and what it writes goes to its own. So a parent must not
//! write over what a child may still read. It counts its forks, and a child that lives holds the
//! number of its fork (see [`readers`](super::readers)).
//!
//! A page's contents are in the slot of its own number, its *home*, unless a child may still read
//! what is there. So a process that forks little needs two bits for each page, and no table.

use sluice_units::Bits;
use std::collections::VecDeque;

/// Bits of a place that are the slot; the others are the file.
const SLOT_BITS: u32 = 28;
/// Files of a process and its parents: so deep can forks be.
pub const MAX_FILES: usize = 1 << (u32::BITS - SLOT_BITS);
/// Slots that a file has at most.
pub const MAX_SLOTS: usize = (1 << SLOT_BITS) - 1;

/// A slot of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileSlot {
    /// Which file: 0 is that of the first process.
    pub file: usize,
    /// Which slot of it.
    pub slot: u64,
}

/// Where the pages of a process are.
#[derive(Debug)]
pub struct Slots {
    /// Pages with contents.
    has: Bits,
    /// The file and the slot of each page with contents, one more than it is; 0 for its home in the
    /// first process's file. Memory of it is used only for what is elsewhere.
    elsewhere: Box<[u32]>,
    /// Homes in the own file that have what a child may read, and the page no longer has.
    kept: Bits,
    /// Pages whose slot no child can know: it was taken since the last fork.
    fresh: Bits,
    /// Pages from here on have no bit in `fresh`.
    top: usize,
    /// Pages from here on never had a slot.
    end: usize,
    /// Which file is the process's own.
    own: usize,
    /// Slots of it from here on were never used. The first are behind all homes.
    next: u32,
    /// Slots of it behind the homes that nobody needs.
    free: Vec<u32>,
    /// Slots that the process does not need but a child may, each with the number of the last fork
    /// before it was given up.
    held: VecDeque<(u32, u32)>,
    /// Forks so far.
    forks: u32,
    /// A fork is under way: its child may know every slot.
    forking: bool,
}

impl Slots {
    /// Of so many pages, none of which has contents.
    ///
    /// Nothing is allocated later. Memory of the lists is used only as they grow.
    pub fn new(pages: usize) -> Slots {
        Slots {
            has: Bits::new(pages),
            elsewhere: vec![0; pages].into(),
            kept: Bits::new(pages),
            fresh: Bits::new(pages),
            top: 0,
            end: 0,
            own: 0,
            next: pages as u32,
            free: Vec::with_capacity(pages),
            held: VecDeque::with_capacity(pages),
            forks: 0,
            forking: false,
        }
    }

    /// Which file is the process's own.
    pub fn own(&self) -> usize {
        self.own
    }

    /// Pages from here on never had contents.
    pub fn end(&self) -> usize {
        self.end
    }

    /// Where a page's contents are.
    pub fn of(&self, page: usize) -> Option<FileSlot> {
        let (file, slot) = match self.elsewhere[page].checked_sub(1) {
            _ if !self.has.has(page) => return None,
            None => (0, page as u32),
            Some(at) => (at >> SLOT_BITS, at & MAX_SLOTS as u32),
        };
        Some(FileSlot {
            file: file as usize,
            slot: u64::from(slot),
        })
    }

    /// Slots from here on are no page's home.
    pub fn homes(&self) -> u64 {
        self.elsewhere.len() as u64
    }

    /// Notes where a page's contents are. What is there already is not written again.
    fn put(&mut self, page: usize, slot: u32) {
        let at = match (self.own, slot as usize == page) {
            (0, true) => 0,
            _ => 1 + ((self.own as u32) << SLOT_BITS | slot),
        };
        if self.elsewhere[page] != at {
            self.elsewhere[page] = at;
        }
        self.has.set(page);
    }

    fn is_fresh(&self, page: usize) -> bool {
        !self.forking && self.fresh.has(page)
    }

    /// Where new contents of a page go. `is_read` says whether a child with one of the first so
    /// many numbers lives. `None` if the file has no slot left.
    pub fn renew(&mut self, page: usize, is_read: impl Fn(u32) -> bool) -> Option<FileSlot> {
        if let Some(place) = self.of(page).filter(|place| place.file == self.own)
            && (self.is_fresh(page) || !is_read(self.forks))
        {
            return Some(place);
        }
        let slot = self.take(page, &is_read)?;
        self.forget(page, is_read);
        self.put(page, slot);
        self.fresh.set(page);
        self.top = self.top.max(page + 1);
        self.end = self.end.max(page + 1);
        Some(FileSlot {
            file: self.own,
            slot: u64::from(slot),
        })
    }

    /// A slot for a page, other than the one that it may have.
    fn take(&mut self, page: usize, is_read: impl Fn(u32) -> bool) -> Option<u32> {
        if let Some((_, fork)) = self.held.front()
            && !is_read(*fork)
        {
            self.free_held(is_read);
        }
        let home = FileSlot {
            file: self.own,
            slot: page as u64,
        };
        if !self.kept.has(page) && self.of(page) != Some(home) {
            return Some(page as u32);
        }
        if let Some(slot) = self.free.pop() {
            return Some(slot);
        }
        let slot = self.next;
        ((slot as usize) < MAX_SLOTS).then(|| {
            self.next += 1;
            slot
        })
    }

    /// Frees all that was held for children that have ended.
    fn free_held(&mut self, is_read: impl Fn(u32) -> bool) {
        let mut known_free = 0;
        while let Some((slot, fork)) = self.held.front().copied() {
            if fork > known_free {
                if is_read(fork) {
                    return;
                }
                known_free = fork;
            }
            self.held.pop_front();
            self.free(slot);
        }
    }

    /// A slot for which there is no room in the list is not used again.
    fn free(&mut self, slot: u32) {
        if u64::from(slot) < self.homes() {
            self.kept.clear(slot as usize);
        } else if self.free.len() < self.free.capacity() {
            self.free.push(slot);
        }
    }

    /// The page has no contents any more.
    pub fn forget(&mut self, page: usize, is_read: impl Fn(u32) -> bool) {
        let Some(place) = self.of(page) else { return };
        if place.file == self.own {
            let slot = place.slot as u32;
            if self.is_fresh(page) || !is_read(self.forks) {
                self.free(slot);
            } else {
                if place.slot < self.homes() {
                    self.kept.set(slot as usize);
                }
                if self.held.len() < self.held.capacity() {
                    self.held.push_back((slot, self.forks));
                }
            }
        }
        if self.elsewhere[page] != 0 {
            self.elsewhere[page] = 0;
        }
        self.has.clear(page);
    }

    /// Before a fork. The number of its child is the answer.
    pub fn begin_fork(&mut self) -> u32 {
        self.forks += 1;
        self.forking = true;
        self.forks
    }

    /// After a fork, in the parent: from now on, what it takes its child does not know.
    pub fn end_fork(&mut self) {
        self.forking = false;
        self.fresh.clear_below(self.top);
        self.top = 0;
    }

    /// After a fork, in the child: all that is there is its parent's. False if forks are too deep.
    pub fn go_on_in_child(&mut self) -> bool {
        self.end_fork();
        self.free.clear();
        self.held.clear();
        // Its file is new: every home in it is free.
        self.kept.clear_below(self.end);
        (self.next, self.forks) = (self.homes() as u32, 0);
        self.own += 1;
        self.own < MAX_FILES
    }
}

#[cfg(test)]
mod tests;
