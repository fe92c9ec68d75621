//! The promotion look-aside buffer in the root complex: pages on their way to host memory
//! (SkyByte section III-C, and section IV for huge pages).

use super::versions::LINES;
use sluice_units::Ps;

/// Chunks of 4 KiB in a huge page.
pub(super) const CHUNKS_MAX: u32 = 512;
const NEVER: [Ps; LINES as usize] = [Ps::MAX; LINES as usize];

/// A page under way. Its chunks of 4 KiB go one after the other, so that one bitmap of chunks and
/// one of the lines of the present chunk say which lines have been moved.
#[derive(Clone)]
pub(super) struct Promotion {
    /// The entry of the page table.
    pub unit: u32,
    /// Where it goes.
    pub frame: u32,
    /// The present chunk. Those before it have been moved.
    pub chunk: u32,
    /// When each line of the present chunk is moved: its bit is set from then on.
    pub moved_at: [Ps; LINES as usize],
    /// Lines of the present chunk, and chunks before, that were written in host memory: the device
    /// has them as they were. A bit more for each than the paper's entry has.
    written: u64,
    written_chunks: [u64; CHUNKS_MAX as usize / 64],
}

impl Promotion {
    pub fn new(unit: u32, frame: u32) -> Promotion {
        Promotion {
            unit,
            frame,
            chunk: 0,
            moved_at: NEVER,
            written: 0,
            written_chunks: [0; CHUNKS_MAX as usize / 64],
        }
    }

    /// Whether a line, counted from the first of the page, has been moved.
    fn is_moved(&self, now: Ps, line: u64) -> bool {
        let chunk = (line / LINES) as u32;
        chunk < self.chunk || (chunk == self.chunk && self.moved_at[(line % LINES) as usize] <= now)
    }

    /// Where a write goes: to host memory if the line has been moved, which is noted.
    pub fn writes_host(&mut self, now: Ps, line: u64) -> bool {
        let moved = self.is_moved(now, line);
        if moved {
            let chunk = (line / LINES) as u32;
            match chunk == self.chunk {
                true => self.written |= 1 << (line % LINES),
                false => self.mark_chunk(chunk),
            }
        }
        moved
    }

    /// Whether a read must go to host memory. The device serves all others.
    pub fn reads_host(&self, line: u64) -> bool {
        let chunk = (line / LINES) as u32;
        match chunk == self.chunk {
            true => self.written >> (line % LINES) & 1 == 1,
            false => self.written_chunks[(chunk / 64) as usize] >> (chunk % 64) & 1 == 1,
        }
    }

    fn mark_chunk(&mut self, chunk: u32) {
        self.written_chunks[(chunk / 64) as usize] |= 1 << (chunk % 64);
    }

    /// The present chunk has been moved. Returns the lines of it that were written meanwhile.
    pub fn next_chunk(&mut self) -> u64 {
        let written = std::mem::take(&mut self.written);
        if written != 0 {
            self.mark_chunk(self.chunk);
        }
        self.moved_at = NEVER;
        self.chunk += 1;
        written
    }

    /// Whether anything was written in host memory.
    pub fn is_written(&self) -> bool {
        self.written_chunks.iter().any(|chunks| *chunks != 0)
    }
}

/// The entries, of which there are few.
pub(super) struct Buffer {
    entries: Vec<Option<Promotion>>,
    free: Vec<u32>,
}

impl Buffer {
    pub fn new(entries: u32) -> Buffer {
        Buffer {
            entries: vec![None; entries as usize],
            free: (0..entries).rev().collect(),
        }
    }

    /// Whether no entry is free.
    pub fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// Takes an entry for a page. Says which, or nothing if none is free.
    pub fn add(&mut self, promotion: Promotion) -> Option<u32> {
        let entry = self.free.pop()?;
        self.entries[entry as usize] = Some(promotion);
        Some(entry)
    }

    /// # Panics
    /// If nothing is under way there.
    pub fn at(&mut self, entry: u32) -> &mut Promotion {
        let found = self.entries[entry as usize].as_mut();
        found.expect("an entry of the look-aside buffer that is used")
    }

    pub fn remove(&mut self, entry: u32) {
        self.entries[entry as usize] = None;
        self.free.push(entry);
    }
}
