//! The bytes of a store. All numbers are little-endian.

use crate::{Error, PAGE};
use twox_hash::XxHash3_64;

/// What a store begins with.
pub(crate) const MAGIC: [u8; 8] = *b"SLUICEST";
/// Version of the format.
pub const VERSION: u32 = 1;
/// Most bytes of a device's name.
pub const NAME_BYTES: usize = 64;
/// What the system writes as a whole or not at all.
pub(crate) const SECTOR: usize = 512;
/// Where the mark is: how far all is durable.
pub(crate) const MARK_AT: u64 = SECTOR as u64;
/// Where the entries begin.
const ENTRIES_AT: u64 = PAGE as u64;
/// Bytes of one, and of both of a page.
pub(crate) const ENTRY_BYTES: usize = 32;
pub(crate) const BOTH_BYTES: u64 = 2 * ENTRY_BYTES as u64;
/// Slots of a page: one has what is durable, the other is written.
pub(crate) const SLOTS: usize = 2;
/// Most pages: 64 TiB.
const MAX_PAGES: u64 = 1 << 34;

/// What a store is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Pages of the device.
    pub pages: u64,
    /// The device's name, cut to [`NAME_BYTES`].
    pub device: String,
    /// Which store it is: a random number, which is in all of its checksums.
    pub identity: u64,
}

/// The checksum of bytes in a store.
pub(crate) fn checksum(identity: u64, bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(identity, bytes)
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&bytes[at..at + N]);
    part
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(number(bytes, at))
}

impl Shape {
    /// The first sector of the file.
    pub(crate) fn to_bytes(&self) -> [u8; SECTOR] {
        let mut bytes = [0; SECTOR];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(PAGE as u32).to_le_bytes());
        bytes[16..24].copy_from_slice(&self.pages.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.identity.to_le_bytes());
        let name = self.device.as_bytes();
        bytes[32..32 + name.len()].copy_from_slice(name);
        let sum = checksum(self.identity, &bytes[..SECTOR - 8]);
        bytes[SECTOR - 8..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// What the first sector says.
    pub(crate) fn of_bytes(bytes: &[u8; SECTOR]) -> Result<Shape, Error> {
        if bytes[..8] != MAGIC {
            return Err(Error::NoStore);
        }
        let version = u32::from_le_bytes(number(bytes, 8));
        if version != VERSION {
            return Err(Error::Version(version));
        }
        let shape = Shape {
            pages: word(bytes, 16),
            identity: word(bytes, 24),
            device: name_of(&bytes[32..32 + NAME_BYTES]).ok_or(Error::Header)?,
        };
        let is_page = u32::from_le_bytes(number(bytes, 12)) as usize == PAGE;
        let is_size = (1..=MAX_PAGES).contains(&shape.pages);
        match is_page && is_size && shape.to_bytes() == *bytes {
            true => Ok(shape),
            false => Err(Error::Header),
        }
    }

    /// Where the contents begin.
    fn contents_at(&self) -> u64 {
        (ENTRIES_AT + self.pages * BOTH_BYTES).next_multiple_of(PAGE as u64)
    }

    /// Bytes of the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.slot_at(0, SLOTS)
    }

    /// Where the entry of a page's slot is.
    pub(crate) fn entry_at(&self, page: u64, slot: usize) -> u64 {
        ENTRIES_AT + page * BOTH_BYTES + (slot * ENTRY_BYTES) as u64
    }

    /// Which page has the entries at a place; `None` if there are none.
    pub(crate) fn page_of(&self, at: u64) -> Option<u64> {
        let page = at.saturating_sub(ENTRIES_AT) / BOTH_BYTES;
        (page < self.pages).then_some(page)
    }

    /// Where the contents of a page's slot are.
    pub(crate) fn slot_at(&self, page: u64, slot: usize) -> u64 {
        self.contents_at() + (slot as u64 * self.pages + page) * PAGE as u64
    }
}

fn name_of(bytes: &[u8]) -> Option<String> {
    let len = bytes.iter().position(|byte| *byte == 0);
    let name = &bytes[..len.unwrap_or(bytes.len())];
    String::from_utf8(name.to_vec()).ok()
}

/// The entry of a slot's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The write that it is of: they are counted from 1 on.
    pub number: u64,
    /// Checksum of the contents.
    pub sum: u64,
}

impl Entry {
    pub fn to_bytes(self, identity: u64, page: u64, slot: usize) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..8].copy_from_slice(&(page << 1 | slot as u64).to_le_bytes());
        bytes[8..16].copy_from_slice(&self.number.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.sum.to_le_bytes());
        let sum = checksum(identity, &bytes[..24]);
        bytes[24..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// What an entry says: nothing if the slot was never written.
    pub fn of_bytes(
        bytes: &[u8],
        identity: u64,
        page: u64,
        slot: usize,
    ) -> Result<Option<Entry>, Misread> {
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let (number, sum) = (word(bytes, 8), word(bytes, 16));
        if checksum(identity, &bytes[..24]) != word(bytes, 24) || number == 0 {
            return Err(Misread::Checksum);
        }
        match word(bytes, 0) == (page << 1 | slot as u64) {
            true => Ok(Some(Entry { number, sum })),
            false => Err(Misread::Misplaced),
        }
    }
}

/// Why an entry cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misread {
    /// Its checksum is wrong.
    Checksum,
    /// It is of another page or slot.
    Misplaced,
}

/// The mark: writes up to this one are durable.
pub(crate) fn mark_to_bytes(identity: u64, number: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    let sum = checksum(identity, &bytes[..8]);
    bytes[8..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// What the mark says; 0 before the first flush. `None` if it is damaged.
pub(crate) fn mark_of_bytes(identity: u64, bytes: &[u8; 16]) -> Option<u64> {
    let number = word(bytes, 0);
    match *bytes == [0; 16] {
        true => Some(0),
        false => (checksum(identity, &bytes[..8]) == word(bytes, 8)).then_some(number),
    }
}
