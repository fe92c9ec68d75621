//! Is a store whole? All contents are read.

use crate::error::Error;
use crate::format::{
    BOTH_BYTES, ENTRY_BYTES, Entry, MARK_AT, Misread, SECTOR, SLOTS, Shape, checksum, mark_of_bytes,
};
use crate::medium::Medium;
use crate::{NAME_BYTES, PAGE};

/// Damaged pages that a report describes one by one; of more it has the number.
const TOLD: usize = 1_000;
/// Pages whose entries are read together.
const TOGETHER: u64 = 1_024;

/// What was found in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What it is of.
    pub shape: Shape,
    /// Pages that have contents.
    pub stored: u64,
    /// Pages whose last write was cut off before it was flushed. Each has what it had before.
    pub torn: u64,
    /// Pages whose contents are lost.
    pub damaged: u64,
    /// The first of these with what is wrong.
    pub first_damaged: Vec<(u64, &'static str)>,
    /// The last write.
    pub writes: u64,
    /// The last one that was flushed.
    pub flushed: u64,
}

/// What became of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// No contents: zeros.
    Nothing,
    /// The contents of a slot.
    Slot(usize, Entry),
    /// None that can be used.
    Damage(&'static str),
}

/// A page with the slot, if there is one, whose write was cut off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged {
    pub page: u64,
    pub found: Found,
    pub torn: Option<usize>,
    /// The greater number of its entries.
    pub number: u64,
}

impl Judged {
    fn damaged(page: u64, why: &'static str) -> Judged {
        Judged {
            page,
            found: Found::Damage(why),
            torn: None,
            number: 0,
        }
    }
}

/// What a store is of, by its header alone.
///
/// # Errors
/// Why the medium has no store.
pub fn shape_of(medium: &impl Medium) -> Result<Shape, Error> {
    let mut bytes = [0; SECTOR];
    let read = medium.read(&mut bytes, 0);
    read.map_err(Error::system("reading the store"))?;
    let shape = Shape::of_bytes(&bytes)?;
    let found = medium.bytes().map_err(Error::system("the store's size"))?;
    let wanted = shape.bytes();
    match found == wanted || found > wanted && medium.may_be_longer() {
        true => Ok(shape),
        false => Err(Error::Length { found, wanted }),
    }
}

/// Reads all of a store. A report with damaged pages is no error.
///
/// # Errors
/// If nothing can be said of its pages.
pub fn check(medium: &impl Medium) -> Result<Report, Error> {
    read(medium, &shape_of(medium)?, |_| ())
}

/// As [`check`], and calls with each page that has an entry.
pub(crate) fn read(
    medium: &impl Medium,
    shape: &Shape,
    mut each: impl FnMut(&Judged),
) -> Result<Report, Error> {
    let mut report = Report {
        stored: 0,
        torn: 0,
        damaged: 0,
        first_damaged: Vec::new(),
        writes: 0,
        flushed: mark(medium, shape)?,
        shape: shape.clone(),
    };
    each_page(medium, shape, report.flushed, |judged| {
        each(&judged);
        report.torn += u64::from(judged.torn.is_some());
        report.writes = report.writes.max(judged.number);
        match judged.found {
            Found::Nothing => {}
            Found::Slot(..) => report.stored += 1,
            Found::Damage(why) => {
                report.damaged += 1;
                if report.first_damaged.len() < TOLD {
                    report.first_damaged.push((judged.page, why));
                }
            }
        }
    })?;
    Ok(report)
}

impl Shape {
    /// Why a device cannot go on with a store of this shape.
    ///
    /// # Errors
    /// If it is of something else.
    pub(crate) fn is_fit_for(&self, pages: u64, device: &str) -> Result<(), Error> {
        let page = PAGE as u64;
        if self.pages != pages {
            let (found, wanted) = (self.pages * page, pages * page);
            return Err(Error::Capacity { found, wanted });
        }
        let wanted = cut(device).to_owned();
        if self.device != wanted {
            let found = self.device.clone();
            return Err(Error::Device { found, wanted });
        }
        Ok(())
    }
}

impl Report {
    /// Why nobody can go on with this store.
    ///
    /// # Errors
    /// If it is damaged.
    pub(crate) fn is_whole(&self) -> Result<(), Error> {
        match self.first_damaged.first() {
            Some((first, _)) => Err(Error::Damaged {
                count: self.damaged,
                first: *first,
            }),
            None => Ok(()),
        }
    }
}

/// As much of a device's name as a store has room for.
pub(crate) fn cut(name: &str) -> &str {
    let mut len = name.len().min(NAME_BYTES);
    while !name.is_char_boundary(len) {
        len -= 1;
    }
    &name[..len]
}

/// Up to which write all is durable.
pub(crate) fn mark(medium: &impl Medium, shape: &Shape) -> Result<u64, Error> {
    let mut bytes = [0; 16];
    let read = medium.read(&mut bytes, MARK_AT);
    read.map_err(Error::system("reading the store"))?;
    mark_of_bytes(shape.identity, &bytes).ok_or(Error::Header)
}

/// Calls with each page that has an entry, judged.
pub(crate) fn each_page(
    medium: &impl Medium,
    shape: &Shape,
    mark: u64,
    mut each: impl FnMut(Judged),
) -> Result<(), Error> {
    let mut entries = vec![0; (TOGETHER * BOTH_BYTES) as usize];
    let mut next = 0;
    while next < shape.pages {
        let data = medium.next_data(shape.entry_at(next, 0));
        let data = data.map_err(Error::system("reading the store"))?;
        let Some(first) = data.and_then(|at| shape.page_of(at)) else {
            break;
        };
        let first = first.max(next);
        let count = TOGETHER.min(shape.pages - first);
        let part = &mut entries[..(count * BOTH_BYTES) as usize];
        let read = medium.read(part, shape.entry_at(first, 0));
        for (page, both) in (first..).zip(part.chunks_exact_mut(BOTH_BYTES as usize)) {
            // A bad sector takes away its own pages, and no others.
            if read.is_err() && medium.read(both, shape.entry_at(page, 0)).is_err() {
                each(Judged::damaged(page, "unreadable entries"));
            } else if both.iter().any(|byte| *byte != 0) {
                each(judge(medium, shape, mark, page, both));
            }
        }
        next = first + count;
    }
    Ok(())
}

/// What a page's entries and contents come to.
///
/// The later write counts if its contents are whole. If they are not, and it was not flushed, it
/// was cut off, and the one before counts. What was flushed and is not whole is damage. A disk may
/// be unable to read what it was writing when its power went.
fn judge(medium: &impl Medium, shape: &Shape, mark: u64, page: u64, both: &[u8]) -> Judged {
    let mut judged = Judged {
        page,
        found: Found::Nothing,
        torn: None,
        number: 0,
    };
    let mut written = Vec::with_capacity(SLOTS);
    for (slot, bytes) in both.chunks_exact(ENTRY_BYTES).enumerate() {
        match Entry::of_bytes(bytes, shape.identity, page, slot) {
            Ok(None) => {}
            Ok(Some(entry)) => written.push((slot, entry)),
            Err(Misread::Checksum) => judged.found = Found::Damage("the checksum of an entry"),
            Err(Misread::Misplaced) => judged.found = Found::Damage("an entry of another page"),
        }
    }
    written.sort_by_key(|(_, entry)| core::cmp::Reverse(entry.number));
    judged.number = written.first().map_or(0, |(_, entry)| entry.number);
    if let [(_, a), (_, b)] = written[..]
        && a.number == b.number
    {
        judged.found = Found::Damage("two slots with the same write");
    }
    if judged.found != Found::Nothing {
        return judged;
    }
    let mut contents = vec![0; PAGE];
    for (slot, entry) in written {
        let read = medium.read(&mut contents, shape.slot_at(page, slot));
        if read.is_ok() && checksum(shape.identity, &contents) == entry.sum {
            judged.found = Found::Slot(slot, entry);
            return judged;
        }
        if entry.number <= mark || judged.torn.is_some() {
            judged.found = Found::Damage(match read {
                Ok(()) => "the checksum of its contents",
                Err(_) => "unreadable contents",
            });
            return judged;
        }
        judged.torn = Some(slot);
    }
    judged
}
