//! Accesses into columns, and columns into bytes of a file.

use super::{BASES, COLUMNS, HEAD_BYTES, MAGIC, Name, SIZE_ELSEWHERE};
use crate::column::{NUMBER_BYTES_MAX, put, zigzag};
use crate::{Access, BLOCK_ACCESSES, CPUS_MAX, Error, Header, Kind};
use zstd::bulk::Compressor;
use zstd::zstd_safe::compress_bound;

/// Enough for columns of small numbers, and fast.
const LEVEL: i32 = 1;
/// An address further than this from every base takes the place of the oldest one.
const NEAR: u64 = 1 << 20;

/// Puts accesses into a block, and blocks one after another.
pub(crate) struct Encoder {
    shift: u32,
    /// Whether there may be requests by the block door.
    blocks: bool,
    columns: [Vec<u8>; COLUMNS],
    /// Accesses in the block.
    accesses: u32,
    /// Accesses before it.
    first: u64,
    /// Instructions of all CPUs: before the block, and now.
    instructions_before: u64,
    instructions: u64,
    /// Instructions of each CPU at its last access.
    counts: Vec<u64>,
    /// The CPU of the current run, and where in the block that began.
    cpu: u32,
    run_start: u32,
    bases: [u64; BASES],
    /// When each base was used last, in accesses of the block.
    used: [u32; BASES],
    compressor: Compressor<'static>,
    /// A whole block as it is in the file.
    out: Vec<u8>,
}

impl Encoder {
    pub fn new(header: &Header) -> Result<Encoder, Error> {
        let room = BLOCK_ACCESSES * NUMBER_BYTES_MAX;
        let bytes = |name: Name| match name {
            Name::Addresses | Name::Instructions | Name::Cpus => room,
            Name::Tags => BLOCK_ACCESSES,
            Name::Runs | Name::Sizes => BLOCK_ACCESSES * 6,
        };
        let names = [
            Name::Cpus,
            Name::Runs,
            Name::Tags,
            Name::Addresses,
            Name::Instructions,
            Name::Sizes,
        ];
        let columns = names.map(|name| Vec::with_capacity(bytes(name)));
        let bound: usize = columns
            .iter()
            .map(|column| compress_bound(column.capacity()))
            .sum();
        let mut encoder = Encoder {
            shift: header.shift(),
            blocks: header.block_requests,
            columns,
            accesses: 0,
            first: 0,
            instructions_before: 0,
            instructions: 0,
            counts: Vec::with_capacity(64),
            cpu: 0,
            run_start: 0,
            bases: [0; BASES],
            used: [0; BASES],
            compressor: Compressor::new(LEVEL).map_err(Error::io("starting the compressor"))?,
            out: Vec::with_capacity(HEAD_BYTES + bound + super::CRC_BYTES),
        };
        encoder.begin();
        Ok(encoder)
    }

    /// Accesses so far, of all blocks.
    pub fn total(&self) -> u64 {
        self.first + u64::from(self.accesses)
    }

    /// Accesses in the current block, and those before it.
    pub fn current(&self) -> (u32, u64) {
        (self.accesses, self.first)
    }

    /// Instructions of all CPUs before the current block.
    pub fn instructions_before(&self) -> u64 {
        self.instructions_before
    }

    /// Instructions of each CPU at its last access.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    pub fn is_full(&self) -> bool {
        self.accesses as usize == BLOCK_ACCESSES
    }

    /// Appends an access to the block, which is not full. An access that is refused changes
    /// nothing.
    #[inline]
    pub fn push(&mut self, access: &Access) -> Result<(), Error> {
        let unit = access.address >> self.shift;
        let known = self.counts.get(access.cpu as usize).copied().unwrap_or(0);
        let (executed, overflow) = access.instructions.overflowing_sub(known);
        let all = self.instructions.checked_add(executed);
        let whole = unit << self.shift == access.address;
        let is_fit = match access.kind {
            Kind::BlockFlush => access.size == 0 && access.address == 0,
            _ => access.size > 0,
        };
        let is_fit = is_fit && (self.blocks || !access.kind.is_block());
        let Some(all) = all.filter(|_| !overflow && whole && is_fit) else {
            return Err(self.refusal(access, known));
        };
        if access.cpu != self.cpu || access.cpu as usize >= self.counts.len() {
            self.switch(access)?;
        }
        self.instructions = all;
        self.counts[access.cpu as usize] = access.instructions;
        let base = self.base(unit);
        let distance = unit.wrapping_sub(self.bases[base]) as i64;
        self.bases[base] = unit;
        self.used[base] = self.accesses;
        let (kind, block) = access.kind.bits();
        let code = match block {
            Some(_) if access.kind == Kind::BlockFlush => 0,
            Some(_) => SIZE_ELSEWHERE,
            None => size_code(access.size),
        };
        if code == SIZE_ELSEWHERE {
            put(
                &mut self.columns[Name::Sizes as usize],
                u64::from(access.size),
            );
        }
        self.columns[Name::Tags as usize]
            .push(kind | block.unwrap_or(code) << 2 | (base as u8) << 5);
        put(
            &mut self.columns[Name::Addresses as usize],
            zigzag(distance),
        );
        put(&mut self.columns[Name::Instructions as usize], executed);
        self.accesses += 1;
        Ok(())
    }

    /// The base that is nearest, or the one that was not used for longest.
    #[inline]
    fn base(&self, unit: u64) -> usize {
        let (mut nearest, mut least) = (0, u64::MAX);
        for (n, base) in self.bases.iter().enumerate() {
            let distance = unit.abs_diff(*base);
            (nearest, least) = if distance < least {
                (n, distance)
            } else {
                (nearest, least)
            };
        }
        if least <= NEAR {
            return nearest;
        }
        let mut oldest = 0;
        for n in 1..BASES {
            oldest = if self.used[n] < self.used[oldest] {
                n
            } else {
                oldest
            };
        }
        oldest
    }

    /// Another CPU's run begins.
    #[cold]
    fn switch(&mut self, access: &Access) -> Result<(), Error> {
        if access.cpu >= CPUS_MAX {
            return Err(self.refusal(access, 0));
        }
        self.end_run();
        self.cpu = access.cpu;
        let cpus = self.counts.len().max(access.cpu as usize + 1);
        self.counts.resize(cpus, 0);
        Ok(())
    }

    fn end_run(&mut self) {
        let length = self.accesses - self.run_start;
        self.run_start = self.accesses;
        if length > 0 {
            let runs = &mut self.columns[Name::Runs as usize];
            put(runs, u64::from(self.cpu));
            put(runs, u64::from(length));
        }
    }

    #[cold]
    fn refusal(&self, access: &Access, known: u64) -> Error {
        let Access {
            cpu,
            address,
            instructions,
            ..
        } = *access;
        let why = if access.kind.is_block() && !self.blocks {
            "its header says that there are no block requests".to_owned()
        } else if access.kind == Kind::BlockFlush && (access.size, address) != (0, 0) {
            "a flush has neither address nor size".to_owned()
        } else if access.size == 0 && access.kind != Kind::BlockFlush {
            "its size is 0".to_owned()
        } else if cpu >= CPUS_MAX {
            format!("its CPU is {cpu}; expected less than {CPUS_MAX}")
        } else if instructions < known {
            format!("CPU {cpu} has executed {instructions} instructions, and {known} before")
        } else if address.trailing_zeros() < self.shift {
            format!(
                "its address {address:#x} is no multiple of {}",
                1 << self.shift
            )
        } else {
            "all CPUs have executed more than 2^64 instructions".to_owned()
        };
        let number = self.total();
        Error::Access { number, why }
    }

    /// The block's bytes; a new one begins. Nothing if it is empty.
    pub fn finish(&mut self) -> Result<&[u8], Error> {
        self.out.clear();
        if self.accesses == 0 {
            return Ok(&self.out);
        }
        self.end_run();
        self.out.extend(MAGIC);
        self.out.extend(self.accesses.to_le_bytes());
        self.out.extend(self.first.to_le_bytes());
        self.out.extend(self.instructions_before.to_le_bytes());
        self.out.resize(HEAD_BYTES, 0);
        for (n, column) in self.columns.iter().enumerate() {
            let stored = compress(&mut self.compressor, column, &mut self.out)?;
            let at = 24 + 8 * n;
            self.out[at..at + 4].copy_from_slice(&(column.len() as u32).to_le_bytes());
            self.out[at + 4..at + 8].copy_from_slice(&stored.to_le_bytes());
        }
        let crc = crc32fast::hash(&self.out);
        self.out.extend(crc.to_le_bytes());
        self.first += u64::from(self.accesses);
        self.instructions_before = self.instructions;
        self.begin();
        Ok(&self.out)
    }

    /// Begins a block that nothing before it is needed for.
    fn begin(&mut self) {
        self.columns.iter_mut().for_each(Vec::clear);
        (self.accesses, self.run_start) = (0, 0);
        (self.bases, self.used) = ([0; BASES], [0; BASES]);
        let cpus = &mut self.columns[Name::Cpus as usize];
        put(cpus, self.counts.len() as u64);
        self.counts.iter().for_each(|count| put(cpus, *count));
    }
}

/// Appends a column; says how many bytes it takes.
fn compress(compressor: &mut Compressor, column: &[u8], out: &mut Vec<u8>) -> Result<u32, Error> {
    if column.is_empty() {
        return Ok(0);
    }
    let start = out.len();
    out.resize(start + compress_bound(column.len()), 0);
    let stored = compressor
        .compress_to_buffer(column, &mut out[start..])
        .map_err(Error::io("compressing"))?;
    out.truncate(start + stored);
    Ok(stored as u32)
}

/// Sizes of 1 to 64 bytes that are powers of two have a code.
#[inline]
fn size_code(size: u16) -> u8 {
    match size.is_power_of_two() && size <= 64 {
        true => size.trailing_zeros() as u8,
        false => SIZE_ELSEWHERE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn push(encoder: &mut Encoder, address: u64) {
        let access = Access {
            cpu: 0,
            instructions: 0,
            address,
            size: 8,
            kind: Kind::Load,
        };
        encoder.push(&access).unwrap();
    }

    fn length(encoder: &Encoder, name: Name) -> usize {
        encoder.columns[name as usize].len()
    }

    /// Streams, as many as there are bases, take a byte an access, wherever they are.
    #[test]
    fn streams_side_by_side_have_a_base_each() {
        let mut encoder = Encoder::new(&Header::new("test")).unwrap();
        let starts: Vec<u64> = (1..=BASES as u64).map(|n| n << 40).collect();
        // The first access counts as none before it, so that its base goes to the second.
        for step in 0..2 {
            starts
                .iter()
                .for_each(|start| push(&mut encoder, start + 8 * step));
        }
        let far = length(&encoder, Name::Addresses);
        for step in 2..102 {
            starts
                .iter()
                .for_each(|start| push(&mut encoder, start + 8 * step));
        }
        assert_eq!(length(&encoder, Name::Addresses) - far, 100 * BASES);
    }

    proptest! {
        /// The nearest base, the first of several; where none is near, the one that was not used
        /// for longest.
        #[test]
        fn a_base_is_the_nearest_or_the_oldest(
            steps in prop::collection::vec((0..5u64, 0..3u64, 0..4u64), 1..200),
        ) {
            let mut encoder = Encoder::new(&Header::new("test")).unwrap();
            let (mut bases, mut used) = ([0u64; BASES], [0u32; BASES]);
            for (n, (region, place, more)) in (0..).zip(steps) {
                // At the edge of what is near, on both sides of it.
                let address = (region << 30) + place * (1 << 20) + more;
                let distance = |base: usize| address.abs_diff(bases[base]);
                let nearest = (0..BASES).min_by_key(|base| distance(*base)).unwrap();
                let oldest = (0..BASES).min_by_key(|base| used[*base]).unwrap();
                let base = if distance(nearest) <= 1 << 20 { nearest } else { oldest };
                (bases[base], used[base]) = (address, n);
                push(&mut encoder, address);
                let tag = encoder.columns[Name::Tags as usize].last().copied();
                prop_assert_eq!(tag, Some(3 << 2 | (base as u8) << 5));
                prop_assert_eq!(encoder.bases, bases);
            }
        }
    }

    #[test]
    fn sizes_have_a_code_or_stand_in_a_column() {
        for size in 1..=u16::MAX {
            let code = [1, 2, 4, 8, 16, 32, 64]
                .iter()
                .position(|known| *known == size);
            assert_eq!(
                size_code(size),
                code.map_or(SIZE_ELSEWHERE, |code| code as u8)
            );
        }
    }

    /// One access more is the next block's, which says how much came before it.
    #[test]
    fn a_block_is_full_and_the_next_begins_anew() {
        let mut encoder = Encoder::new(&Header::new("test")).unwrap();
        assert!(encoder.finish().unwrap().is_empty());
        for n in 0..BLOCK_ACCESSES as u64 {
            assert!(!encoder.is_full());
            let access = Access {
                cpu: (n % 2) as u32,
                instructions: n / 2,
                address: n,
                size: 1,
                kind: Kind::Store,
            };
            encoder.push(&access).unwrap();
        }
        assert!(encoder.is_full());
        let full = BLOCK_ACCESSES as u32;
        assert_eq!(
            (encoder.current(), encoder.total()),
            ((full, 0), u64::from(full))
        );
        assert_eq!(encoder.instructions_before(), 0);
        // Runs of one access each, and a number of instructions for each access: all have room.
        let capacities: Vec<usize> = encoder.columns.iter().map(Vec::capacity).collect();
        encoder.finish().unwrap();
        let after: Vec<usize> = encoder.columns.iter().map(Vec::capacity).collect();
        assert_eq!(capacities, after);
        let executed = 2 * (u64::from(full) / 2 - 1);
        assert_eq!(encoder.instructions_before(), executed);
        assert_eq!(
            (encoder.current(), encoder.total()),
            ((0, u64::from(full)), u64::from(full))
        );
        assert_eq!(encoder.counts(), [executed / 2; 2]);
        assert_eq!((encoder.bases, encoder.used), ([0; BASES], [0; BASES]));
    }
}
