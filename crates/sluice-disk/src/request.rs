//! A request in the guest's queue: what it says, and its bytes on their way.
//!
//! The guest is hostile. What its memory says is read once, checked, and moved in pieces of a fixed
//! size; a request that makes no sense ends with an error of its own. A guest that stops its disk
//! has its memory back between two pieces.

use crate::BLOCK;
use crate::power::{Held, Switch};
use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use virtio_bindings::bindings::virtio_blk::{
    VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_OK, VIRTIO_BLK_S_UNSUPP, VIRTIO_BLK_T_DISCARD,
    VIRTIO_BLK_T_FLUSH, VIRTIO_BLK_T_GET_ID, VIRTIO_BLK_T_IN, VIRTIO_BLK_T_OUT,
};
use virtio_queue::{DescriptorChain, Reader, Writer};
use vm_memory::{GuestMemoryLoadGuard, GuestMemoryMmap, Le32, Le64};

/// What the guest's memory is to us.
pub type Memory = GuestMemoryMmap<()>;
/// A request as it stands in the queue.
pub type Chain = DescriptorChain<GuestMemoryLoadGuard<Memory>>;

/// Bytes of a sector, the unit of places in a request.
pub const SECTOR: u64 = 512;
/// Bytes moved at a time.
const PIECE: usize = 64 << 10;
/// Bytes of a disk's name in a request for it.
const ID_BYTES: usize = 20;
/// The name, by which a guest finds the disk: /dev/disk/by-id/virtio-sluice.
const ID: &[u8] = b"sluice";
/// Bytes of a part of a trim.
const TRIM_BYTES: usize = 16;
/// Parts of a trim.
pub const TRIM_PARTS: u32 = 16;

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// To read pages of the device.
    Read(Range<u64>),
    /// To write them.
    Write(Range<u64>),
    /// To end their contents.
    Trim(Vec<Range<u64>>),
    /// To make durable what was written.
    Flush,
    /// The disk's name.
    Name,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Carried out.
    Ok,
    /// It failed, or it asks for what the disk does not have.
    Failed,
    /// The disk does not know such requests.
    Unknown,
}

impl Answer {
    fn code(self) -> u8 {
        let code = match self {
            Answer::Ok => VIRTIO_BLK_S_OK,
            Answer::Failed => VIRTIO_BLK_S_IOERR,
            Answer::Unknown => VIRTIO_BLK_S_UNSUPP,
        };
        code as u8
    }
}

/// A request being served.
pub struct Served<'a> {
    from_guest: Reader<'a, ()>,
    to_guest: Writer<'a, ()>,
    status: Writer<'a, ()>,
    lent: &'a Switch,
}

impl<'a> Served<'a> {
    /// Takes a request apart. Nothing if it has no place for its status: it cannot be answered.
    pub fn new(chain: &Chain, memory: &'a Memory, lent: &'a Switch) -> Option<Served<'a>> {
        let from_guest = chain.clone().reader(memory).ok()?;
        let mut to_guest: Writer<'a, ()> = chain.clone().writer(memory).ok()?;
        let data = to_guest.available_bytes().checked_sub(1)?;
        let status = to_guest.split_at(data).ok()?;
        Some(Served {
            from_guest,
            to_guest,
            status,
            lent,
        })
    }

    /// What it asks for, on a disk of so many bytes.
    pub fn asked(&mut self, disk_bytes: u64) -> Result<Asked, Answer> {
        let failed = |_| Answer::Failed;
        let kind: Le32 = self.from_guest.read_obj().map_err(failed)?;
        let _reserved: Le32 = self.from_guest.read_obj().map_err(failed)?;
        let sector: Le64 = self.from_guest.read_obj().map_err(failed)?;
        let pages = |bytes: usize| pages_of(sector.to_native(), bytes as u64, disk_bytes);
        match kind.to_native() {
            VIRTIO_BLK_T_IN => pages(self.to_guest.available_bytes()).map(Asked::Read),
            VIRTIO_BLK_T_OUT => pages(self.from_guest.available_bytes()).map(Asked::Write),
            VIRTIO_BLK_T_DISCARD => self.trims(disk_bytes).map(Asked::Trim),
            VIRTIO_BLK_T_FLUSH => Ok(Asked::Flush),
            VIRTIO_BLK_T_GET_ID => Ok(Asked::Name),
            _ => Err(Answer::Unknown),
        }
    }

    fn trims(&mut self, disk_bytes: u64) -> Result<Vec<Range<u64>>, Answer> {
        let bytes = self.from_guest.available_bytes();
        let parts = bytes / TRIM_BYTES;
        if !bytes.is_multiple_of(TRIM_BYTES) || parts == 0 || parts > TRIM_PARTS as usize {
            return Err(Answer::Failed);
        }
        let mut trims = Vec::with_capacity(parts);
        for _ in 0..parts {
            let failed = |_| Answer::Failed;
            let sector: Le64 = self.from_guest.read_obj().map_err(failed)?;
            let sectors: Le32 = self.from_guest.read_obj().map_err(failed)?;
            let flags: Le32 = self.from_guest.read_obj().map_err(failed)?;
            if flags.to_native() != 0 {
                return Err(Answer::Unknown);
            }
            let bytes = u64::from(sectors.to_native()) * SECTOR;
            trims.push(pages_of(sector.to_native(), bytes, disk_bytes)?);
        }
        Ok(trims)
    }

    /// Moves bytes of the device to the guest.
    pub fn read(&mut self, device: &File, pages: &Range<u64>) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        for (at, len) in pieces(pages) {
            device.read_exact_at(&mut piece[..len], at)?;
            let _held = hold(self.lent)?;
            self.to_guest.write_all(&piece[..len])?;
        }
        Ok(())
    }

    /// Moves bytes of the guest to the device.
    pub fn write(&mut self, device: &File, pages: &Range<u64>) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        for (at, len) in pieces(pages) {
            // Its memory may be something else by now.
            let _held = hold(self.lent)?;
            self.from_guest.read_exact(&mut piece[..len])?;
            device.write_all_at(&piece[..len], at)?;
        }
        Ok(())
    }

    /// Gives the disk's name.
    pub fn name(&mut self) -> io::Result<()> {
        let mut name = [0; ID_BYTES];
        name[..ID.len()].copy_from_slice(ID);
        let room = self.to_guest.available_bytes().min(ID_BYTES);
        let _held = hold(self.lent)?;
        self.to_guest.write_all(&name[..room])
    }

    /// Writes the status. Says how many bytes the guest's memory was given in all.
    pub fn end(mut self, answer: Answer) -> u32 {
        // A guest that takes the memory away does not get a status.
        if let Ok(_held) = hold(self.lent) {
            let _ = self.status.write_obj(answer.code());
        }
        let bytes = self.to_guest.bytes_written() + self.status.bytes_written();
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}

/// The guest's memory for a moment.
fn hold(lent: &Switch) -> io::Result<Held<'_>> {
    let gone = || io::Error::other("the guest has stopped its disk");
    lent.hold().ok_or_else(gone)
}

/// The pages of a place on a disk, which has no other blocks.
fn pages_of(sector: u64, bytes: u64, disk_bytes: u64) -> Result<Range<u64>, Answer> {
    let start = sector.checked_mul(SECTOR).ok_or(Answer::Failed)?;
    let end = start.checked_add(bytes).ok_or(Answer::Failed)?;
    let is_whole = start.is_multiple_of(BLOCK) && bytes.is_multiple_of(BLOCK) && bytes > 0;
    match is_whole && end <= disk_bytes {
        true => Ok(start / BLOCK..end / BLOCK),
        false => Err(Answer::Failed),
    }
}

/// Place and length of each piece of these pages.
fn pieces(pages: &Range<u64>) -> impl Iterator<Item = (u64, usize)> + use<> {
    let (start, end) = (pages.start * BLOCK, pages.end * BLOCK);
    let starts = (start..end).step_by(PIECE);
    starts.map(move |at| (at, (end - at).min(PIECE as u64) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_whole_pages_of_the_disk_or_none() {
        const DISK: u64 = 16 * BLOCK;
        assert_eq!(pages_of(0, BLOCK, DISK), Ok(0..1));
        assert_eq!(pages_of(8, 15 * BLOCK, DISK), Ok(1..16));
        for (sector, bytes) in [
            (0, 0),
            (1, BLOCK),
            (0, BLOCK - 512),
            (8, 16 * BLOCK),
            (16 * 8, BLOCK),
            (u64::MAX, BLOCK),
            (u64::MAX / 512, BLOCK),
            (0, u64::MAX - 4095),
        ] {
            let found = pages_of(sector, bytes, DISK);
            assert_eq!(found, Err(Answer::Failed), "{sector} {bytes}");
        }
    }

    #[test]
    fn pieces_cover_the_pages() {
        let found: Vec<_> = pieces(&(3..36)).collect();
        let piece = PIECE as u64;
        let start = 3 * BLOCK;
        let expected = [
            (start, PIECE),
            (start + piece, PIECE),
            (start + 2 * piece, BLOCK as usize),
        ];
        assert_eq!(found, expected);
    }
}
