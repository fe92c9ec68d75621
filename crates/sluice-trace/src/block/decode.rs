//! Bytes of a file into columns, and columns into accesses.

use super::{BASES, COLUMNS, CRC_BYTES, HEAD_BYTES, Head, NAMES, Name, SIZE_ELSEWHERE};
use crate::column::{Column, unzigzag};
use crate::header::u32_at;
use crate::{Access, CPUS_MAX, Error, Header, Kind};
use zstd::bulk::Decompressor;

/// Takes blocks apart.
pub(crate) struct Decoder {
    shift: u32,
    blocks: bool,
    decompressor: Decompressor<'static>,
    columns: [Vec<u8>; COLUMNS],
    counts: Vec<u64>,
    starts: Vec<u64>,
    accesses: Vec<Access>,
}

impl Decoder {
    pub fn new(header: &Header) -> Result<Decoder, Error> {
        let decompressor = Decompressor::new().map_err(Error::io("starting the decompressor"))?;
        Ok(Decoder {
            shift: header.shift(),
            blocks: header.block_requests,
            decompressor,
            columns: Default::default(),
            counts: Vec::new(),
            starts: Vec::new(),
            accesses: Vec::new(),
        })
    }

    /// The accesses of the block that was read last.
    pub fn accesses(&self) -> &[Access] {
        &self.accesses
    }

    /// Instructions of each CPU at its last access up to the end of that block.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Instructions of each CPU that there was before that block, at its last access before it.
    pub fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// As if no block had been read.
    pub fn forget(&mut self) {
        self.accesses.clear();
    }

    /// Whether a block, `head` and `rest`, has its checksum.
    pub fn check(head: &Head, head_bytes: &[u8; HEAD_BYTES], rest: &[u8]) -> Result<(), Error> {
        let stored = rest.len() - CRC_BYTES;
        let mut crc = crc32fast::Hasher::new();
        crc.update(head_bytes);
        crc.update(&rest[..stored]);
        match crc.finalize() == u32_at(rest, stored) {
            true => Ok(()),
            false => Err(Error::damaged(head.offset, "the block's checksum is wrong")),
        }
    }

    /// Reads a checked block.
    pub fn read(&mut self, head: &Head, rest: &[u8]) -> Result<(), Error> {
        self.accesses.clear();
        let mut at = 0;
        for (n, (raw, stored)) in head.lengths.into_iter().enumerate() {
            let bytes = &rest[at..at + stored as usize];
            at += stored as usize;
            let column = &mut self.columns[n];
            column.resize(raw as usize, 0);
            if raw == 0 && stored == 0 {
                continue;
            }
            let done = self
                .decompressor
                .decompress_to_buffer(bytes, &mut column[..]);
            if !done.is_ok_and(|length| length == raw as usize) {
                let what = format!("column \"{}\" cannot be decompressed", NAMES[n]);
                return Err(Error::damaged(head.offset, what));
            }
        }
        self.cpus(head)?;
        self.decode(head)
    }

    fn cpus(&mut self, head: &Head) -> Result<(), Error> {
        let mut column = column(&self.columns, Name::Cpus, head);
        let cpus = column.number()?;
        if cpus > u64::from(CPUS_MAX) {
            return Err(column.wrong(&format!("{cpus} CPUs")));
        }
        self.counts.clear();
        for _ in 0..cpus {
            self.counts.push(column.number()?);
        }
        let all = self
            .counts
            .iter()
            .try_fold(0u64, |sum, count| sum.checked_add(*count));
        self.starts.clone_from(&self.counts);
        match all == Some(head.instructions) {
            true => column.end(),
            false => Err(column.wrong("its sum is not that of the head")),
        }
    }

    fn decode(&mut self, head: &Head) -> Result<(), Error> {
        let of = |name| column(&self.columns, name, head);
        let mut rows = Rows {
            shift: self.shift,
            blocks: self.blocks,
            tags: of(Name::Tags),
            addresses: of(Name::Addresses),
            instructions: of(Name::Instructions),
            sizes: of(Name::Sizes),
            bases: [0; BASES],
        };
        let mut runs = of(Name::Runs);
        let mut left = u64::from(head.accesses);
        while left > 0 {
            let (cpu, length) = (runs.number()?, runs.number()?);
            if cpu >= u64::from(CPUS_MAX) || length == 0 || length > left {
                return Err(runs.wrong(&format!("{length} accesses of CPU {cpu}")));
            }
            left -= length;
            let cpus = self.counts.len().max(cpu as usize + 1);
            self.counts.resize(cpus, 0);
            let count = &mut self.counts[cpu as usize];
            for _ in 0..length {
                self.accesses.push(rows.next(cpu as u32, count)?);
            }
        }
        let Rows {
            tags,
            addresses,
            instructions,
            sizes,
            ..
        } = rows;
        [runs, tags, addresses, instructions, sizes]
            .iter()
            .try_for_each(Column::end)
    }
}

fn column<'a>(columns: &'a [Vec<u8>; COLUMNS], name: Name, head: &Head) -> Column<'a> {
    Column::new(&columns[name as usize], NAMES[name as usize], head.offset)
}

/// The columns that have an entry for each access.
struct Rows<'a> {
    shift: u32,
    /// Whether there may be requests by the block door.
    blocks: bool,
    tags: Column<'a>,
    addresses: Column<'a>,
    instructions: Column<'a>,
    sizes: Column<'a>,
    bases: [u64; BASES],
}

impl Rows<'_> {
    #[inline]
    fn next(&mut self, cpu: u32, count: &mut u64) -> Result<Access, Error> {
        let tag = self.tags.byte()?;
        let code = tag >> 2 & 7;
        let kind = Kind::from_bits(tag & 3, code).filter(|kind| self.blocks || !kind.is_block());
        let kind = kind.ok_or_else(|| self.tags.wrong(&format!("kind {}", tag & 3)))?;
        let code = if kind.is_block() {
            SIZE_ELSEWHERE
        } else {
            code
        };
        let size = match code {
            _ if kind == Kind::BlockFlush => 0,
            SIZE_ELSEWHERE => {
                let size = self.sizes.number()?;
                let fits = u16::try_from(size).ok().filter(|size| *size > 0);
                fits.ok_or_else(|| self.sizes.wrong(&format!("a size of {size}")))?
            }
            code => 1 << code,
        };
        let base = &mut self.bases[usize::from(tag >> 5)];
        *base = base.wrapping_add(unzigzag(self.addresses.number()?) as u64);
        let unit = *base;
        if unit.leading_zeros() < self.shift {
            return Err(self.addresses.wrong("an address of more than 64 bits"));
        }
        let more = self.instructions.number()?;
        let sum = count.checked_add(more);
        *count = sum.ok_or_else(|| self.instructions.wrong("more than 2^64 instructions"))?;
        Ok(Access {
            cpu,
            instructions: *count,
            address: unit << self.shift,
            size,
            kind,
        })
    }
}
