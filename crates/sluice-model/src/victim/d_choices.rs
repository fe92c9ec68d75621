//! The line with the most to gain among a few drawn at random.

use super::{GcInfo, GcSpace, GcVictim};
use sluice_units::Rng;

/// Draws of `ftl.gc_choices` lines that may all be fully valid before every line is looked at.
const DRAWS_MAX: u32 = 8;

/// Held lines of each pool in a dense array, so that one can be drawn.
pub struct DChoices {
    lines_per_pool: u32,
    line_pages: u32,
    choices: u32,
    /// Per pool, in its own stretch: the held lines.
    held: Vec<u32>,
    /// Per line: where it stands in `held`.
    at: Vec<u32>,
    /// Per pool: how many are held.
    counts: Vec<u32>,
    rng: Rng,
}

impl DChoices {
    fn line(&self, pool: u32, index: u32) -> u32 {
        self.held[(pool * self.lines_per_pool + index) as usize]
    }

    fn draw(&mut self, pool: u32, valid: &[u32]) -> Option<u32> {
        let count = u64::from(self.counts[pool as usize]);
        let mut best = None;
        let mut least = self.line_pages;
        for _ in 0..self.choices {
            let index = self.rng.below(count) as u32;
            let line = self.line(pool, index);
            if valid[line as usize] < least {
                least = valid[line as usize];
                best = Some(line);
            }
        }
        best
    }
}

impl GcVictim for DChoices {
    const INFO: GcInfo = GcInfo {
        name: "d-choices",
        meaning: "the most stale pages among `ftl.gc_choices` lines drawn at random",
        source: "Van Houdt, SIGMETRICS 2013",
    };

    fn build(space: &GcSpace) -> DChoices {
        let lines = space.pools as usize * space.lines_per_pool as usize;
        DChoices {
            lines_per_pool: space.lines_per_pool,
            line_pages: space.line_pages,
            choices: space.choices,
            held: vec![0; lines],
            at: vec![0; lines],
            counts: vec![0; space.pools as usize],
            rng: space.rng.clone(),
        }
    }

    fn close(&mut self, line: u32, _stale: u32, _now: u64) {
        let pool = line / self.lines_per_pool;
        let index = self.counts[pool as usize];
        self.held[(pool * self.lines_per_pool + index) as usize] = line;
        self.at[line as usize] = index;
        self.counts[pool as usize] += 1;
    }

    fn invalidate(&mut self, _line: u32, _stale: u32, _now: u64) {}

    fn victim(&mut self, pool: u32, valid: &[u32], _now: u64) -> Option<u32> {
        let count = self.counts[pool as usize];
        if count == 0 {
            return None;
        }
        let drawn = (0..DRAWS_MAX).find_map(|_| self.draw(pool, valid));
        let line = drawn.or_else(|| {
            let mut lines = (0..count).map(|index| self.line(pool, index));
            lines.find(|line| valid[*line as usize] < self.line_pages)
        })?;
        self.remove(line, 0);
        Some(line)
    }

    fn remove(&mut self, line: u32, _stale: u32) {
        let pool = line / self.lines_per_pool;
        self.counts[pool as usize] -= 1;
        let last = self.line(pool, self.counts[pool as usize]);
        let index = self.at[line as usize];
        self.held[(pool * self.lines_per_pool + index) as usize] = last;
        self.at[last as usize] = index;
    }

    fn dump(&self, pool: u32) -> Vec<u32> {
        let count = self.counts[pool as usize];
        (0..count).map(|index| self.line(pool, index)).collect()
    }
}
