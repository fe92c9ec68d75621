//! Which 64-byte lines of each cached page were touched and written.

use crate::config::Settings;
use sluice_units::LINE_BYTES;

/// How many lines were used of the pages that left the cache (SkyByte Figures 5 and 6).
///
/// Only accesses that the device sees count: a live device sees the first of a mapped page.
pub struct Lines {
    /// Words of a page's bitmap.
    words: usize,
    /// Per slot a bitmap: lines accessed, and lines stored to and not programmed since.
    touched: Vec<u64>,
    written: Vec<u64>,
    left: Vec<u64>,
    flushed: Vec<u64>,
}

impl Lines {
    pub(super) fn new(settings: &Settings) -> Lines {
        let lines = (settings.page_bytes() / LINE_BYTES) as usize;
        let words = lines.div_ceil(64);
        let bits = words * settings.cache.pages as usize;
        Lines {
            words,
            touched: vec![0; bits],
            written: vec![0; bits],
            left: vec![0; lines + 1],
            flushed: vec![0; lines + 1],
        }
    }

    /// By number of lines that were accessed: pages that left the cache to make room.
    pub fn touched_of_evicted(&self) -> &[u64] {
        &self.left
    }

    /// By number of lines that were stored to: programs of a page.
    pub fn written_of_programmed(&self) -> &[u64] {
        &self.flushed
    }

    fn bits(&self, slot: u32) -> std::ops::Range<usize> {
        let first = slot as usize * self.words;
        first..first + self.words
    }

    /// A page comes into the slot.
    pub(super) fn fill(&mut self, slot: u32) {
        let bits = self.bits(slot);
        self.touched[bits.clone()].fill(0);
        self.written[bits].fill(0);
    }

    /// An access to a line of the page in the slot.
    pub(super) fn access(&mut self, slot: u32, line: u64, store: bool) {
        let word = slot as usize * self.words + line as usize / 64;
        let bit = 1 << (line % 64);
        self.touched[word] |= bit;
        if store {
            self.written[word] |= bit;
        }
    }

    /// The page in the slot leaves to make room.
    pub(super) fn evict(&mut self, slot: u32) {
        let bits = self.bits(slot);
        let count: u32 = self.touched[bits]
            .iter()
            .map(|word| word.count_ones())
            .sum();
        self.left[count as usize] += 1;
    }

    /// A page is programmed with so many lines of the write log.
    pub(super) fn program_lines(&mut self, lines: usize) {
        self.flushed[lines] += 1;
    }

    /// The page in the slot is programmed.
    pub(super) fn program(&mut self, slot: u32) {
        let bits = self.bits(slot);
        let written = &mut self.written[bits];
        let count: u32 = written.iter().map(|word| word.count_ones()).sum();
        written.fill(0);
        self.flushed[count as usize] += 1;
    }
}
