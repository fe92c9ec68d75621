//! Which 64-byte lines of each cached page were touched and written.

use crate::config::Settings;
use sluice_units::{Bits, LINE_BYTES, PageLine, Slot};

/// How many lines were used of the pages that left the cache (SkyByte Figures 5 and 6).
///
/// Only accesses that the device sees count: a live device sees the first of a mapped page.
pub struct LineUse {
    /// Lines of a page.
    lines: usize,
    /// Per slot the lines accessed.
    touched: Bits,
    /// Per slot the lines stored to and not programmed since.
    written: Bits,
    evicted: Vec<u64>,
    programmed: Vec<u64>,
}

impl LineUse {
    /// For the pages of the cache, and so many in flight.
    pub(super) fn new(settings: &Settings, in_flight: u32) -> LineUse {
        let lines = (settings.page_bytes() / LINE_BYTES) as usize;
        let all = lines * (settings.cache.pages + in_flight) as usize;
        LineUse {
            lines,
            touched: Bits::new(all),
            written: Bits::new(all),
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

    /// A page comes into the slot.
    pub(super) fn fill(&mut self, slot: Slot) {
        let first = slot.index() * self.lines;
        self.touched.mark(first, self.lines, false);
        self.written.mark(first, self.lines, false);
    }

    /// The page of a slot is in another one from now on.
    pub(super) fn land(&mut self, from: Slot, to: Slot) {
        let (from, to) = (from.index() * self.lines, to.index() * self.lines);
        for bits in [&mut self.touched, &mut self.written] {
            for line in 0..self.lines {
                let is_set = bits.has(from + line);
                bits.mark(to + line, 1, is_set);
            }
        }
    }

    /// An access to a line of the page in the slot.
    pub(super) fn access(&mut self, slot: Slot, line: PageLine, store: bool) {
        let at = slot.index() * self.lines + line.index();
        self.touched.set(at);
        if store {
            self.written.set(at);
        }
    }

    /// The page in the slot leaves to make room.
    pub(super) fn evict(&mut self, slot: Slot) {
        let first = slot.index() * self.lines;
        self.evicted[self.touched.count_in(first, self.lines)] += 1;
    }

    /// A page is programmed with so many lines of the write log.
    pub(super) fn program_lines(&mut self, lines: u32) {
        self.programmed[lines as usize] += 1;
    }

    /// The page in the slot is programmed.
    pub(super) fn program(&mut self, slot: Slot) {
        let first = slot.index() * self.lines;
        self.programmed[self.written.count_in(first, self.lines)] += 1;
        self.written.mark(first, self.lines, false);
    }
}
