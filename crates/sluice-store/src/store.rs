//! The pages of a device, each in one of two slots, so that what is durable is never written over.

use crate::PAGE;
use crate::check::{Found, Report, cut, read, shape_of};
use crate::error::Error;
use crate::format::{ENTRY_BYTES, Entry, MARK_AT, SECTOR, Shape, checksum, mark_to_bytes};
use crate::medium::Medium;
use core::ops::Range;
use std::io::{Error as IoError, Result as IoResult};

/// The page has contents, or has had since the start.
const HAS: u8 = 1;
/// Its contents are in the second slot.
const SECOND: u8 = 2;
/// Some contents of it are durable.
const DURABLE: u8 = 4;
/// These are in the second slot.
const DURABLE_SECOND: u8 = 8;
/// A write failed: what the slot that was written has is not known.
const UNKNOWN: u8 = 16;
/// It was written since the last flush.
const PENDING: u8 = 32;

/// An open store.
#[derive(Debug)]
pub struct Store<M> {
    medium: M,
    shape: Shape,
    /// What is known of each page.
    state: Vec<u8>,
    /// Checksums of what each page has.
    sums: Vec<u64>,
    /// The number of the next write.
    next: u64,
    /// Pages that were written since the last flush.
    pending: Vec<u64>,
    /// A flush of the system has failed, so that what is durable is not known, or somebody has done
    /// something to the store. Nothing more is written.
    is_broken: bool,
    /// Pages written since the start.
    pub writes: u64,
}

impl<M: Medium> Store<M> {
    /// Makes an empty store of a device on an empty medium that has [`Store::bytes_of`] bytes.
    ///
    /// # Errors
    /// What the system says.
    pub fn create(medium: M, shape: Shape) -> Result<Store<M>, Error> {
        let mut store = Store::new(medium, shape);
        let begun = store.begin();
        begun.map_err(Error::system("writing the store's header"))?;
        Ok(store)
    }

    /// Makes what was put so far a store: the header comes when all of that is durable.
    pub(crate) fn begin(&mut self) -> IoResult<()> {
        self.medium.sync()?;
        self.medium.write(&self.shape.to_bytes(), 0)?;
        self.medium.sync()?;
        self.mark_if_pending()
    }

    /// Bytes of the file of a device's store.
    pub fn bytes_of(shape: &Shape) -> u64 {
        shape.bytes()
    }

    /// What will be a store after [`begin`](Store::begin).
    pub(crate) fn new(medium: M, shape: Shape) -> Store<M> {
        Store {
            medium,
            state: vec![0; shape.pages as usize],
            sums: vec![0; shape.pages as usize],
            shape,
            next: 1,
            pending: Vec::new(),
            is_broken: false,
            writes: 0,
        }
    }

    /// Opens a store of a device, checks all of it, and mends what was cut off.
    ///
    /// # Errors
    /// If it is of something else, or damaged.
    pub fn open(mut medium: M, pages: u64, device: &str) -> Result<(Store<M>, Report), Error> {
        let shape = shape_of(&medium)?;
        shape.is_fit_for(pages, device)?;
        // What an earlier process wrote is in the system's memory perhaps.
        let synced = medium.sync();
        synced.map_err(Error::system("flushing the store"))?;
        let mut store = Store::new(medium, shape);
        let mut torn = Vec::new();
        let (state, sums) = (&mut store.state, &mut store.sums);
        let report = read(&store.medium, &store.shape, |judged| {
            torn.extend(judged.torn.map(|slot| (judged.page, slot)));
            if let Found::Slot(slot, entry) = judged.found {
                let both = [HAS | DURABLE, HAS | DURABLE | SECOND | DURABLE_SECOND];
                state[judged.page as usize] = both[slot];
                sums[judged.page as usize] = entry.sum;
            }
        })?;
        report.is_whole()?;
        let last = report.writes.max(report.flushed);
        store.next = last.checked_add(1).ok_or(Error::Header)?;
        for (page, slot) in torn {
            let at = store.shape.entry_at(page, slot);
            let cleared = store.medium.write(&[0; ENTRY_BYTES], at);
            cleared.map_err(Error::system("writing the store"))?;
        }
        // Else nothing is written, for which a full disk might have no room.
        if report.writes > report.flushed {
            let flushed = store.mark_durable();
            flushed.map_err(Error::system("flushing the store"))?;
        }
        Ok((store, report))
    }

    /// What it is of.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Whether it has contents of a page.
    pub fn has(&self, page: u64) -> bool {
        self.state[page as usize] & (HAS | UNKNOWN) != 0
    }

    /// The first of some pages that it has.
    pub fn next_page(&self, pages: Range<u64>) -> Option<u64> {
        let states = &self.state[pages.start as usize..pages.end as usize];
        let found = states.iter().position(|state| *state != 0)?;
        Some(pages.start + found as u64)
    }

    /// The contents of a page.
    ///
    /// # Errors
    /// If they cannot be read, or are no longer what was written.
    pub fn get(&self, page: u64, to: &mut [u8; PAGE]) -> IoResult<()> {
        let state = self.state[page as usize];
        if state & HAS == 0 {
            to.fill(0);
            return Ok(());
        }
        let slot = usize::from(state & SECOND != 0);
        self.medium.read(to, self.shape.slot_at(page, slot))?;
        let is_known = state & UNKNOWN == 0;
        match !is_known || checksum(self.shape.identity, to) == self.sums[page as usize] {
            true => Ok(()),
            false => Err(IoError::other(format!("page {page} is damaged"))),
        }
    }

    /// Whether a page's contents are other than these.
    pub fn differs(&self, page: u64, contents: &[u8; PAGE]) -> bool {
        let state = self.state[page as usize];
        match state & (HAS | UNKNOWN) {
            0 => contents.iter().any(|byte| *byte != 0),
            HAS => self.sums[page as usize] != checksum(self.shape.identity, contents),
            _ => true,
        }
    }

    /// Writes contents of a page, if they are other than what it has. Says whether they were. They
    /// are durable after the next [`flush`](Store::flush).
    ///
    /// # Errors
    /// What the system says. The page then has what was durable, and the next write goes on.
    pub fn put(&mut self, page: u64, contents: &[u8; PAGE]) -> IoResult<bool> {
        if !self.differs(page, contents) {
            return Ok(false);
        }
        self.check_whole()?;
        self.check_length()?;
        let no_number = || IoError::other("the store has no number left for a write");
        let next = self.next.checked_add(1).ok_or_else(no_number)?;
        let at = page as usize;
        let state = self.state[at];
        let slot = slot_to_write(state);
        if state & PENDING == 0 {
            self.pending.push(page);
        }
        self.state[at] = durable_alone(state) | UNKNOWN | PENDING;
        let entry = Entry {
            number: self.next,
            sum: checksum(self.shape.identity, contents),
        };
        self.next = next;
        let place = self.shape.slot_at(page, slot);
        self.medium.write(contents, place)?;
        let bytes = entry.to_bytes(self.shape.identity, page, slot);
        let place = self.shape.entry_at(page, slot);
        self.medium.write(&bytes, place)?;
        let now = HAS | PENDING | if slot == 1 { SECOND } else { 0 };
        self.state[at] = state & (DURABLE | DURABLE_SECOND) | now;
        self.sums[at] = entry.sum;
        self.writes += 1;
        Ok(true)
    }

    /// Makes all that was written durable, and says so in the store.
    ///
    /// # Errors
    /// What the system says. If it was the system's flush that failed, nothing more is written: the
    /// system may have dropped what it could not write, and would say so no second time. Else
    /// nothing durable was touched, and a later flush goes on: a full disk may have room then.
    pub fn flush(&mut self) -> IoResult<()> {
        self.check_whole()?;
        self.check_place()?;
        self.mark_if_pending()
    }

    fn mark_if_pending(&mut self) -> IoResult<()> {
        match self.pending.is_empty() {
            true => Ok(()),
            false => self.mark_durable(),
        }
    }

    fn mark_durable(&mut self) -> IoResult<()> {
        self.clear_failed()?;
        self.sync()?;
        self.write_mark()?;
        self.sync()?;
        for page in self.pending.drain(..) {
            let state = &mut self.state[page as usize];
            *state = match *state & (UNKNOWN | SECOND) {
                0 => HAS | DURABLE,
                SECOND => HAS | DURABLE | SECOND | DURABLE_SECOND,
                _ => *state & !PENDING,
            };
        }
        Ok(())
    }

    fn sync(&mut self) -> IoResult<()> {
        self.is_broken = true;
        self.medium.sync()?;
        self.is_broken = false;
        Ok(())
    }

    /// Says in the store that all that was written is durable. If that fails and the mark is there
    /// all the same, what is written later over slots that it covers could be taken for damage.
    fn write_mark(&mut self) -> IoResult<()> {
        let (mut former, mut found) = ([0; 16], [0; 16]);
        self.medium.read(&mut former, MARK_AT)?;
        let mark = mark_to_bytes(self.shape.identity, self.next - 1);
        let written = self.medium.write(&mark, MARK_AT);
        if written.is_err() {
            let read = self.medium.read(&mut found, MARK_AT);
            self.is_broken = read.is_err() || found != former;
        }
        written
    }

    /// A write that failed half-way must not look like one that was flushed. Until it is cleared,
    /// the mark stands before it. One that has no entry needs none cleared, for which a full disk
    /// might have no room.
    fn clear_failed(&mut self) -> IoResult<()> {
        for page in &self.pending {
            let state = self.state[*page as usize];
            if state & UNKNOWN == 0 {
                continue;
            }
            let at = self.shape.entry_at(*page, slot_to_write(state));
            let mut entry = [0; ENTRY_BYTES];
            self.medium.read(&mut entry, at)?;
            if entry != [0; ENTRY_BYTES] {
                self.medium.write(&[0; ENTRY_BYTES], at)?;
            }
        }
        Ok(())
    }

    fn check_whole(&self) -> IoResult<()> {
        let broken = "the store has failed before; nothing was written since";
        match self.is_broken {
            true => Err(IoError::other(broken)),
            false => Ok(()),
        }
    }

    /// That nobody has removed the store or written over it. What was put would be lost with it.
    fn check_place(&mut self) -> IoResult<()> {
        self.check_length()?;
        let mut header = [0; SECTOR];
        let what = if self.medium.is_removed()? {
            "removed"
        } else {
            self.medium.read(&mut header, 0)?;
            if header == self.shape.to_bytes() {
                return Ok(());
            }
            "written over"
        };
        self.is_broken = true;
        let why = format!("the store was {what} while it was in use");
        Err(IoError::other(why))
    }

    /// That nobody has cut the store. A later write could make it as long as before, without what
    /// it had.
    fn check_length(&mut self) -> IoResult<()> {
        if self.medium.bytes()? >= self.shape.bytes() {
            return Ok(());
        }
        self.is_broken = true;
        Err(IoError::other("the store was cut while it was in use"))
    }

    /// As much of a device's name as a store keeps.
    pub fn name_of(device: &str) -> &str {
        cut(device)
    }

    /// The medium, to look at.
    pub fn medium(&self) -> &M {
        &self.medium
    }
}

/// The slot that is written: what is durable stays. What was written after it may be written over.
fn slot_to_write(state: u8) -> usize {
    usize::from(state & (DURABLE | DURABLE_SECOND) == DURABLE)
}

/// The state of a page that has what is durable of it.
fn durable_alone(state: u8) -> u8 {
    let durable = state & (DURABLE | DURABLE_SECOND);
    durable
        | if durable & DURABLE != 0 { HAS } else { 0 }
        | if durable & DURABLE_SECOND != 0 {
            SECOND
        } else {
            0
        }
}
