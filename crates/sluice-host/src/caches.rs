//! Caches between a program and what is recorded of it: write-back, write-allocate, least recently
//! used out. No times: what comes out is what memory is asked for, and in which order.

use crate::tags::{DIRTY, Tags, line_of};

/// A cache's lines and ways; lines are a power of two times the ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSize {
    /// Lines of 64 bytes.
    pub lines: u32,
    /// Ways.
    pub ways: u32,
}

/// The levels of one CPU, the first nearest to it. Without any, every access passes.
pub struct Caches {
    levels: Vec<Tags>,
}

impl Caches {
    /// Caches of these sizes, before the first access.
    pub fn new(levels: &[CacheSize]) -> Caches {
        let levels = levels
            .iter()
            .map(|level| Tags::with(level.lines, level.ways));
        Caches {
            levels: levels.collect(),
        }
    }

    /// An access of a line: calls `memory` for each line that is read from memory, or written
    /// (`true`).
    pub fn access(&mut self, line: u32, is_write: bool, memory: &mut dyn FnMut(u32, bool)) {
        if self.levels.is_empty() {
            return memory(line, is_write);
        }
        let levels = (0..).zip(&mut self.levels);
        let mut holders = levels.filter_map(|(level, tags)| {
            let entry = tags.find(line)?;
            // What was written is written in the innermost copy alone.
            Some((level, Tags::clean(entry)))
        });
        let (outermost, was_written) = holders.next().unwrap_or_else(|| {
            memory(line, false);
            (usize::MAX, false)
        });
        let flags = if is_write || was_written { DIRTY } else { 0 };
        if outermost == 0 {
            *self.levels[0].find(line).expect("it was found there") |= flags;
        }
        // Lines come in on their way to the CPU; each that makes room is written one level further
        // out.
        for level in (0..outermost.min(self.levels.len())).rev() {
            self.put(level, line, if level == 0 { flags } else { 0 }, memory);
        }
    }

    /// The line goes to memory if it was written.
    pub fn flush(&mut self, line: u32, memory: &mut dyn FnMut(u32, bool)) {
        let dirty = self
            .levels
            .iter_mut()
            .map(|tags| tags.peek(line).is_some_and(Tags::clean));
        if dirty.fold(false, |any, one| any | one) {
            memory(line, true);
        }
    }

    fn put(&mut self, level: usize, line: u32, flags: u32, memory: &mut dyn FnMut(u32, bool)) {
        let victim = self.levels[level].insert(line, flags);
        if victim & DIRTY == 0 {
            return;
        }
        let line = line_of(victim);
        match self.levels.get_mut(level + 1) {
            None => memory(line, true),
            Some(outer) => match outer.find(line) {
                Some(entry) => *entry |= DIRTY,
                None => self.put(level + 1, line, DIRTY, memory),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn size(lines: u32, ways: u32) -> CacheSize {
        CacheSize { lines, ways }
    }

    #[test]
    fn a_loop_that_fits_reads_each_line_once_and_one_that_does_not_every_time() {
        for (loop_lines, due) in [(64, 64), (65, 650)] {
            let mut caches = Caches::new(&[size(8, 8), size(64, 64)]);
            let mut reads = 0;
            for _ in 0..10 {
                for line in 0..loop_lines {
                    caches.access(line, false, &mut |_, _| reads += 1);
                }
            }
            assert_eq!(reads, due);
        }
    }

    #[test]
    fn a_line_that_was_written_goes_back_once() {
        let mut caches = Caches::new(&[size(2, 2), size(4, 4)]);
        let mut told = Vec::new();
        caches.access(9, true, &mut |line, is_write| told.push((line, is_write)));
        for line in 100..120 {
            caches.access(line, false, &mut |line, is_write| {
                told.push((line, is_write))
            });
        }
        told.retain(|(line, _)| *line == 9);
        assert_eq!(told, [(9, false), (9, true)]);
        caches.access(9, true, &mut |_, _| ());
        let mut flushed = Vec::new();
        for _ in 0..2 {
            caches.flush(9, &mut |line, is_write| flushed.push((line, is_write)));
        }
        assert_eq!(flushed, [(9, true)]);
    }

    proptest! {
        /// Memory has, at last, for every line what was written to it last.
        #[test]
        fn nothing_written_is_lost(
            steps in prop::collection::vec((0u32..60, any::<bool>(), any::<bool>()), 1..600),
        ) {
            let mut caches = Caches::new(&[size(4, 2), size(16, 4), size(32, 32)]);
            let mut unwritten: BTreeMap<u32, bool> = BTreeMap::new();
            for (line, is_write, is_flush) in steps.iter().copied() {
                let mut told = Vec::new();
                match is_flush {
                    true => caches.flush(line, &mut |line, w| told.push((line, w))),
                    false => caches.access(line, is_write, &mut |line, w| told.push((line, w))),
                }
                // A write-back has something to write.
                for (line, is_written) in told {
                    if is_written {
                        prop_assert_eq!(unwritten.insert(line, false), Some(true));
                    }
                }
                if !is_flush && is_write {
                    unwritten.insert(line, true);
                }
            }
            for (line, is_due) in unwritten {
                let mut told = false;
                caches.flush(line, &mut |_, _| told = true);
                prop_assert_eq!(told, is_due);
            }
        }
    }
}
