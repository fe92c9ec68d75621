//! The line with the most to gain among a few drawn at random.

use super::{GcInfo, GcSpace, GcVictim};
use crate::contents::{NoContents, Tables};
use sluice_units::Rng;

/// Draws of `ftl.gc_choices` lines that may all be fully valid before every line is looked at.
const DRAWS_MAX: u32 = 8;

/// Held lines of each pool in a dense array, so that one can be drawn.
pub struct DChoices {
    lines_per_pool: u32,
    choices: u32,
    /// Per pool, in its own stretch: the held lines. Less their places, which is nothing for the
    /// lines that are full at the start.
    held: Vec<u32>,
    /// Per line: its place in `held`, less its number.
    at: Vec<u32>,
    /// Per pool: how many are held.
    counts: Vec<u32>,
    rng: Rng,
}

impl DChoices {
    fn place(&self, pool: u32, index: u32) -> u32 {
        pool * self.lines_per_pool + index
    }

    fn line(&self, pool: u32, index: u32) -> u32 {
        let place = self.place(pool, index);
        self.held[place as usize].wrapping_add(place)
    }

    fn put(&mut self, place: u32, line: u32) {
        self.held[place as usize] = line.wrapping_sub(place);
        self.at[line as usize] = place.wrapping_sub(line);
    }

    fn draw(&mut self, pool: u32, stale: &[u32]) -> Option<u32> {
        let count = u64::from(self.counts[pool as usize]);
        let mut best = None;
        let mut most = 0;
        for _ in 0..self.choices {
            let index = self.rng.below(count) as u32;
            let line = self.line(pool, index);
            if stale[line as usize] > most {
                most = stale[line as usize];
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
            choices: space.choices,
            held: vec![0; lines],
            at: vec![0; lines],
            counts: vec![0; space.pools as usize],
            rng: space.rng.clone(),
        }
    }

    fn begin(&mut self, pool: u32, count: u32) {
        self.counts[pool as usize] = count;
    }

    fn close(&mut self, line: u32, _stale: u32, _now: u64) {
        let pool = line / self.lines_per_pool;
        self.put(self.place(pool, self.counts[pool as usize]), line);
        self.counts[pool as usize] += 1;
    }

    fn invalidate(&mut self, _line: u32, _stale: u32, _now: u64) {}

    fn victim(&mut self, pool: u32, stale: &[u32], _now: u64) -> Option<u32> {
        let count = self.counts[pool as usize];
        if count == 0 {
            return None;
        }
        let drawn = (0..DRAWS_MAX).find_map(|_| self.draw(pool, stale));
        let line = drawn.or_else(|| {
            let mut lines = (0..count).map(|index| self.line(pool, index));
            lines.find(|line| stale[*line as usize] > 0)
        })?;
        self.remove(line, 0);
        Some(line)
    }

    fn remove(&mut self, line: u32, _stale: u32) {
        let pool = line / self.lines_per_pool;
        self.counts[pool as usize] -= 1;
        let last = self.line(pool, self.counts[pool as usize]);
        let place = self.at[line as usize].wrapping_add(line);
        self.put(place, last);
    }

    fn tables(&mut self, tables: &mut dyn Tables) -> Result<(), NoContents> {
        tables.words(&mut self.held)?;
        tables.words(&mut self.at)?;
        tables.words(&mut self.counts)?;
        tables.longs(self.rng.state_mut())
    }

    fn dump(&self, pool: u32) -> Vec<u32> {
        let count = self.counts[pool as usize];
        (0..count).map(|index| self.line(pool, index)).collect()
    }
}
