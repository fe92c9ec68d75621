//! Three levels of caches without time: which level holds which line.

use crate::pages::Pages;
use std::ops::Sub;

/// Lines that came from and went to memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct OffChip {
    /// Misses of the last level.
    pub reads: u64,
    /// Dirty lines that left it.
    pub writes: u64,
}

impl Sub for OffChip {
    type Output = OffChip;

    fn sub(self, before: OffChip) -> OffChip {
        OffChip {
            reads: self.reads - before.reads,
            writes: self.writes - before.writes,
        }
    }
}

const EMPTY: u64 = u64::MAX;

/// A set-associative cache, least recently used out first. A line is kept as its number shifted
/// left by one, with a low bit that says dirty; most recent first in its set.
struct Level {
    ways: usize,
    lines: Vec<u64>,
}

impl Level {
    fn new(bytes: u64, ways: usize) -> Level {
        let sets = (bytes / 64 / ways as u64).max(1) as usize;
        Level {
            ways,
            lines: vec![EMPTY; sets * ways],
        }
    }

    fn set(&mut self, line: u64) -> &mut [u64] {
        let sets = (self.lines.len() / self.ways) as u64;
        let at = (line % sets) as usize * self.ways;
        &mut self.lines[at..at + self.ways]
    }

    /// Finds a line and makes it the most recent.
    fn touch(&mut self, line: u64, dirty: bool) -> bool {
        let set = self.set(line);
        match set.iter().position(|entry| entry >> 1 == line) {
            Some(way) => {
                set[..=way].rotate_right(1);
                set[0] |= u64::from(dirty);
                true
            }
            None => false,
        }
    }

    /// Puts in a line that is not there; gives the one that has to go.
    fn insert(&mut self, line: u64, dirty: bool) -> Option<(u64, bool)> {
        let set = self.set(line);
        set.rotate_right(1);
        let out = std::mem::replace(&mut set[0], line << 1 | u64::from(dirty));
        (out != EMPTY).then_some((out >> 1, out & 1 == 1))
    }
}

/// A first and second level for each thread and a third for all: written back, allocated on a
/// store, neither inclusive nor exclusive. Copies of a line in two cores are not kept coherent.
pub struct Caches {
    private: Vec<[Level; 2]>,
    shared: Level,
    off_chip: OffChip,
}

impl Caches {
    /// 32 KiB of 8 ways, 512 KiB of 32 and 16 MiB of 16, the last two divided by `scale`.
    pub fn new(threads: u32, scale: u32) -> Caches {
        let scale = u64::from(scale);
        let private = |_| [Level::new(32 << 10, 8), Level::new((512 << 10) / scale, 32)];
        Caches {
            private: (0..threads).map(private).collect(),
            shared: Level::new((16 << 20) / scale, 16),
            off_chip: OffChip::default(),
        }
    }

    /// What went to memory since the start.
    pub fn off_chip(&self) -> OffChip {
        self.off_chip
    }

    /// A load or store of a thread.
    pub fn access(&mut self, thread: usize, line: u64, store: bool, pages: &mut Pages) {
        let [l1, l2] = &mut self.private[thread];
        if l1.touch(line, store) {
            return;
        }
        let l2_out = if l2.touch(line, false) {
            None
        } else {
            if !self.shared.touch(line, false) {
                self.off_chip.reads += 1;
                pages.read(line);
                let out = self.shared.insert(line, false);
                Self::leave(&mut self.off_chip, out, pages);
            }
            l2.insert(line, false)
        };
        let l1_out = l1.insert(line, store);
        // What leaves a level dirty goes into the next.
        let mut below = l2_out;
        if let Some((out, true)) = l1_out
            && !l2.touch(out, true)
        {
            self.sink(below, pages);
            below = self.private[thread][1].insert(out, true);
        }
        self.sink(below, pages);
    }

    fn sink(&mut self, out: Option<(u64, bool)>, pages: &mut Pages) {
        if let Some((line, true)) = out
            && !self.shared.touch(line, true)
        {
            let out = self.shared.insert(line, true);
            Self::leave(&mut self.off_chip, out, pages);
        }
    }

    fn leave(off_chip: &mut OffChip, out: Option<(u64, bool)>, pages: &mut Pages) {
        if let Some((line, true)) = out {
            off_chip.writes += 1;
            pages.write(line);
        }
    }
}
