//! The line with the most to gain among those filled first.

use super::{GcInfo, GcSpace, GcVictim};
use crate::contents::{NoContents, Tables};
use sluice_lists::Lists;
use std::ops::Range;

/// Lines in the order in which they were filled.
///
/// First come those that were full at the start and have been looked for by number, then the others
/// of them, a range of numbers, then those that were filled since or sent to the end.
pub struct Windowed {
    lines_per_pool: u32,
    window: u32,
    /// Per pool two lists, [`EARLY`] and [`LATE`], on both sides of `untouched`.
    filled: Lists,
    /// Per pool.
    untouched: Vec<Range<u32>>,
    /// Per line: which of the two lists it is in, if in any.
    which: Vec<u8>,
}

const EARLY: u32 = 0;
const LATE: u32 = 1;

fn list(pool: u32, which: u32) -> u32 {
    2 * pool + which
}

impl Windowed {
    /// A window of so many lines.
    pub(super) fn new(space: &GcSpace, window: u32) -> Windowed {
        let lines = space.pools * space.lines_per_pool;
        Windowed {
            lines_per_pool: space.lines_per_pool,
            window,
            filled: Lists::new(2 * space.pools, lines),
            untouched: vec![0..0; space.pools as usize],
            which: vec![0; lines as usize],
        }
    }

    /// The lines of a pool, those filled first first.
    fn oldest(&self, pool: u32) -> impl Iterator<Item = u32> {
        let from = move |which| {
            let back = self.filled.back(list(pool, which));
            std::iter::successors(back, |line| self.filled.newer(*line))
        };
        let untouched = self.untouched[pool as usize].clone();
        from(EARLY).chain(untouched).chain(from(LATE))
    }

    /// The best line of the window, the oldest among equals, or `None` if all are valid.
    fn best(&self, pool: u32, stale: &[u32]) -> Option<u32> {
        let mut best = None;
        let mut most = 0;
        for line in self.oldest(pool).take(self.window as usize) {
            if stale[line as usize] > most {
                most = stale[line as usize];
                best = Some(line);
            }
        }
        best
    }

    fn len(&self, pool: u32) -> u32 {
        let untouched = self.untouched[pool as usize].len() as u32;
        self.filled.len(list(pool, EARLY)) + untouched + self.filled.len(list(pool, LATE))
    }

    fn push_late(&mut self, pool: u32, line: u32) {
        self.which[line as usize] = LATE as u8;
        self.filled.push_front(list(pool, LATE), line);
    }

    fn pop_oldest(&mut self, pool: u32) -> Option<u32> {
        let early = self.filled.pop_back(list(pool, EARLY));
        let line = early.or_else(|| self.untouched[pool as usize].next());
        line.or_else(|| self.filled.pop_back(list(pool, LATE)))
    }
}

impl GcVictim for Windowed {
    const INFO: GcInfo = GcInfo {
        name: "windowed-greedy",
        meaning: "the most stale pages among the `ftl.gc_window` lines filled first; a window of \
                  all valid ones goes to the end",
        source: "Hu et al., SYSTOR 2009",
    };

    fn build(space: &GcSpace) -> Windowed {
        Windowed::new(space, space.window)
    }

    fn begin(&mut self, pool: u32, count: u32) {
        let first = pool * self.lines_per_pool;
        self.untouched[pool as usize] = first..first + count;
    }

    fn close(&mut self, line: u32, _stale: u32, _now: u64) {
        self.push_late(line / self.lines_per_pool, line);
    }

    fn invalidate(&mut self, _line: u32, _stale: u32, _now: u64) {}

    fn victim(&mut self, pool: u32, stale: &[u32], _now: u64) -> Option<u32> {
        for _ in 0..self.len(pool).div_ceil(self.window) {
            if let Some(line) = self.best(pool, stale) {
                self.remove(line, 0);
                return Some(line);
            }
            for _ in 0..self.window.min(self.len(pool)) {
                let line = self.pop_oldest(pool)?;
                self.push_late(pool, line);
            }
        }
        None
    }

    fn remove(&mut self, line: u32, _stale: u32) {
        let pool = line / self.lines_per_pool;
        while self.untouched[pool as usize].contains(&line) {
            let early = self.untouched[pool as usize].next();
            early.inspect(|line| self.filled.push_front(list(pool, EARLY), *line));
        }
        let which = u32::from(self.which[line as usize]);
        self.filled.remove(list(pool, which), line);
    }

    fn tables(&mut self, tables: &mut dyn Tables) -> Result<(), NoContents> {
        self.filled
            .parts()
            .into_iter()
            .try_for_each(|part| tables.words(part))?;
        tables.bytes(&mut self.which)?;
        let untouched = self.untouched.iter();
        let mut ends: Vec<u32> = untouched
            .flat_map(|lines| [lines.start, lines.end])
            .collect();
        tables.words(&mut ends)?;
        for (untouched, ends) in self.untouched.iter_mut().zip(ends.chunks_exact(2)) {
            *untouched = ends[0]..ends[1];
        }
        Ok(())
    }

    fn dump(&self, pool: u32) -> Vec<u32> {
        let mut lines: Vec<u32> = self.oldest(pool).collect();
        lines.reverse();
        lines
    }
}
