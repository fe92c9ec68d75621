//! Which 64-byte lines of each cached page were touched and written.

use crate::config::Settings;
use sluice_units::{LINE_BYTES, PageLine, Slot};
use std::ops::Range;

/// How many lines were used of the pages that left the cache (SkyByte Figures 5 and 6).
///
/// Only accesses that the device sees count: a live device sees the first of a mapped page.
pub struct LineUse {
    /// Words of a page's bitmap.
    words: usize,
    /// Per slot a bitmap of the lines accessed.
    touched: Vec<u64>,
    /// Per slot a bitmap of the lines stored to and not programmed since.
    written: Vec<u64>,
    evicted: Vec<u64>,
    programmed: Vec<u64>,
}

impl LineUse {
    pub(super) fn new(settings: &Settings) -> LineUse {
        let lines = (settings.page_bytes() / LINE_BYTES) as usize;
        let words = lines.div_ceil(64);
        let bits = words * settings.cache.pages as usize;
        LineUse {
            words,
            touched: vec![0; bits],
            written: vec![0; bits],
            evicted: vec![0; lines + 1],
            programmed: vec![0; lines + 1],
        }
    }

    /// By number of lines that were accessed: pages that left the cache to make room.
    pub fn touched_of_evicted(&self) -> &[u64] {
        &self.evicted
    }

    /// By number of lines that were stored to: programs of a page.
    pub fn written_of_programmed(&self) -> &[u64] {
        &self.programmed
    }

    fn bits(&self, slot: Slot) -> Range<usize> {
        let first = slot.index() * self.words;
        first..first + self.words
    }

    /// A page comes into the slot.
    pub(super) fn fill(&mut self, slot: Slot) {
        let bits = self.bits(slot);
        self.touched[bits.clone()].fill(0);
        self.written[bits].fill(0);
    }

    /// An access to a line of the page in the slot.
    pub(super) fn access(&mut self, slot: Slot, line: PageLine, store: bool) {
        let word = self.bits(slot).start + line.index() / 64;
        let bit = 1 << (line.0 % 64);
        self.touched[word] |= bit;
        if store {
            self.written[word] |= bit;
        }
    }

    /// The page in the slot leaves to make room.
    pub(super) fn evict(&mut self, slot: Slot) {
        let count = ones(&self.touched[self.bits(slot)]);
        self.evicted[count] += 1;
    }

    /// A page is programmed with so many lines of the write log.
    pub(super) fn program_lines(&mut self, lines: u32) {
        self.programmed[lines as usize] += 1;
    }

    /// The page in the slot is programmed.
    pub(super) fn program(&mut self, slot: Slot) {
        let bits = self.bits(slot);
        let count = ones(&self.written[bits.clone()]);
        self.written[bits].fill(0);
        self.programmed[count] += 1;
    }
}

fn ones(words: &[u64]) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}
