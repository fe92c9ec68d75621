//! A block: up to 65,536 accesses in columns, each compressed by itself.

mod decode;
mod encode;

pub(crate) use decode::Decoder;
pub(crate) use encode::Encoder;

use crate::header::{u32_at, u64_at};
use crate::{BLOCK_ACCESSES, Error};

/// First bytes of a block.
pub(crate) const MAGIC: [u8; 4] = *b"SLBK";
/// Bytes before the stored columns.
pub(crate) const HEAD_BYTES: usize = 24 + 8 * COLUMNS;
/// The checksum behind them.
pub(crate) const CRC_BYTES: usize = 4;
/// How many columns.
pub(crate) const COLUMNS: usize = 6;
/// Most bytes of a column: every number at its longest.
const COLUMN_BYTES_MAX: u32 = 1 << 20;
/// Addresses that the next one may be encoded against.
const BASES: usize = 8;
/// The size code that says: the size stands in a column of its own.
const SIZE_ELSEWHERE: u8 = 7;

/// The columns, in the order in which a block holds them.
#[derive(Clone, Copy)]
pub(crate) enum Name {
    /// How many CPUs there were before the block, and the instructions that each had executed.
    Cpus,
    /// Runs of accesses of one CPU: which, and how many.
    Runs,
    /// A byte for each access: kind, size code and base.
    Tags,
    /// For each access the distance from its base.
    Addresses,
    /// For each access the instructions since the last of its CPU.
    Instructions,
    /// The sizes that have no code.
    Sizes,
}

const NAMES: [&str; COLUMNS] = ["cpus", "runs", "tags", "addresses", "instructions", "sizes"];

/// What a block says before its columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// Where the block begins in the file.
    pub offset: u64,
    /// Accesses in it.
    pub accesses: u32,
    /// Accesses before it.
    pub first: u64,
    /// Instructions that all CPUs had executed before it.
    pub instructions: u64,
    /// For each column its bytes, and its bytes in the file.
    pub lengths: [(u32, u32); COLUMNS],
}

impl Head {
    /// Reads a head that begins at `offset`.
    pub fn read(offset: u64, bytes: &[u8; HEAD_BYTES]) -> Result<Head, Error> {
        let damaged = |what: String| Err(Error::damaged(offset, what));
        if bytes[..4] != MAGIC {
            return damaged("no block begins here".to_owned());
        }
        let accesses = u32_at(bytes, 4);
        if accesses == 0 || accesses > BLOCK_ACCESSES as u32 {
            return damaged(format!("a block of {accesses} accesses"));
        }
        let lengths =
            std::array::from_fn(|n| (u32_at(bytes, 24 + 8 * n), u32_at(bytes, 28 + 8 * n)));
        let most = |&(raw, stored): &(u32, u32)| raw.max(stored / 2);
        if let Some(length) = lengths.iter().map(most).find(|n| *n > COLUMN_BYTES_MAX) {
            return damaged(format!("a column of {length} bytes"));
        }
        Ok(Head {
            offset,
            accesses,
            first: u64_at(bytes, 8),
            instructions: u64_at(bytes, 16),
            lengths,
        })
    }

    /// Bytes of the stored columns and the checksum.
    pub fn rest_bytes(&self) -> usize {
        let stored = self.lengths.iter().map(|(_, stored)| *stored as usize);
        stored.sum::<usize>() + CRC_BYTES
    }

    /// Where the next block begins.
    pub fn end(&self) -> u64 {
        self.offset + (HEAD_BYTES + self.rest_bytes()) as u64
    }
}
