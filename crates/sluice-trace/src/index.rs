//! Where the blocks are, at the end of a finished file.

use crate::block;
use crate::column::{Column, NUMBER_BYTES_MAX, put};
use crate::header::u32_at;
use crate::{CPUS_MAX, Error};

/// First bytes of the index.
pub(crate) const MAGIC: [u8; 4] = *b"SLIX";
/// Magic, bytes, bytes in the file.
pub(crate) const HEAD_BYTES: usize = 12;
const CRC_BYTES: usize = 4;
/// Some 100 million blocks.
const BYTES_MAX: u64 = 1 << 30;
/// Most bytes of a block's entry.
const ENTRY_BYTES: u64 = 3 * NUMBER_BYTES_MAX as u64;
/// Most bytes of what is not a block's: three counts, and one of each CPU.
const OTHER_BYTES: u64 = (3 + CPUS_MAX as u64) * NUMBER_BYTES_MAX as u64;
/// Most times smaller that an index is in the file.
const LEVEL: i32 = 3;

/// A block's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Where it begins in the file.
    pub offset: u64,
    /// Accesses before it.
    pub first: u64,
    /// Instructions that all CPUs had executed before it.
    pub instructions: u64,
}

/// All of them, and the sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Index {
    pub blocks: Vec<Entry>,
    /// Accesses of the trace.
    pub accesses: u64,
    /// Instructions that each CPU executed.
    pub cpus: Vec<u64>,
}

impl Index {
    /// Its bytes, with magic and checksum.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let mut raw = Vec::new();
        put(&mut raw, self.blocks.len() as u64);
        let mut before = Entry {
            offset: 0,
            first: 0,
            instructions: 0,
        };
        for block in &self.blocks {
            put(&mut raw, block.offset - before.offset);
            put(&mut raw, block.first - before.first);
            put(&mut raw, block.instructions - before.instructions);
            before = *block;
        }
        put(&mut raw, self.accesses);
        put(&mut raw, self.cpus.len() as u64);
        self.cpus.iter().for_each(|count| put(&mut raw, *count));
        let stored = zstd::bulk::compress(&raw, LEVEL).map_err(Error::io("compressing"))?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend((raw.len() as u32).to_le_bytes());
        bytes.extend((stored.len() as u32).to_le_bytes());
        bytes.extend(stored);
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        Ok(bytes)
    }

    /// Bytes of the whole index, by its first. It has no more than the blocks before it need,
    /// which is known before any of it is unpacked.
    pub fn length(offset: u64, head: &[u8; HEAD_BYTES]) -> Result<usize, Error> {
        let (raw, stored) = (u64::from(u32_at(head, 4)), u64::from(u32_at(head, 8)));
        if head[..4] != MAGIC || raw.max(stored) > BYTES_MAX {
            return Err(Error::damaged(offset, "no index begins here"));
        }
        let blocks = offset / (block::HEAD_BYTES + block::CRC_BYTES) as u64;
        if raw > blocks * ENTRY_BYTES + OTHER_BYTES {
            return Err(Error::damaged(offset, format!("an index of {raw} bytes")));
        }
        Ok(HEAD_BYTES + stored as usize + CRC_BYTES)
    }

    /// Reads a whole index that begins at `offset` in the file.
    pub fn read(offset: u64, bytes: &[u8]) -> Result<Index, Error> {
        let end = bytes.len() - CRC_BYTES;
        if crc32fast::hash(&bytes[..end]) != u32_at(bytes, end) {
            return Err(Error::damaged(offset, "the index's checksum is wrong"));
        }
        let raw = zstd::bulk::decompress(&bytes[HEAD_BYTES..end], u32_at(bytes, 4) as usize)
            .map_err(|_| Error::damaged(offset, "the index cannot be decompressed"))?;
        let mut column = Column::new(&raw, "index", offset);
        let mut index = Index::default();
        let mut sums = [0u64; 3];
        for _ in 0..column.number()? {
            for sum in &mut sums {
                let next = sum.checked_add(column.number()?);
                *sum = next.ok_or_else(|| column.wrong("a sum of more than 64 bits"))?;
            }
            let [at, first, instructions] = sums;
            index.blocks.push(Entry {
                offset: at,
                first,
                instructions,
            });
        }
        index.accesses = column.number()?;
        let cpus = column.number()?;
        if cpus > u64::from(CPUS_MAX) {
            return Err(column.wrong(&format!("{cpus} CPUs")));
        }
        for _ in 0..cpus {
            index.cpus.push(column.number()?);
        }
        column.end()?;
        Ok(index)
    }
}
