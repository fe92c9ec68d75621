//! What a line gives for what it costs, times how long it has been left alone.

use super::{GcInfo, GcSpace, GcVictim};
use crate::contents::{NoContents, Tables};
use sluice_lists::Lists;

/// Lines by their number of stale pages, each list in the order of the last change.
///
/// Among lines with the same number of stale pages the oldest is the best, so only the oldest of
/// each list competes.
pub struct CostBenefit {
    lines_per_pool: u32,
    line_pages: u32,
    lists: Lists,
    /// Per line: when its last page became worthless, or when it was filled.
    changed: Vec<u64>,
    /// Per pool: no line has more stale pages than this.
    most: Vec<u32>,
}

impl CostBenefit {
    fn list(&self, pool: u32, stale: u32) -> u32 {
        pool * (self.line_pages + 1) + stale
    }

    fn add(&mut self, line: u32, stale: u32, now: u64) {
        let pool = line / self.lines_per_pool;
        self.changed[line as usize] = now;
        if stale > 0 {
            self.lists.push_front(self.list(pool, stale), line);
            let most = &mut self.most[pool as usize];
            *most = stale.max(*most);
        }
    }
}

impl GcVictim for CostBenefit {
    const INFO: GcInfo = GcInfo {
        name: "cost-benefit",
        meaning: "the highest age * stale / (2 * valid); age is in pages written since the line's \
                  last change",
        source: "Kawaguchi et al., USENIX 1995",
    };

    fn build(space: &GcSpace) -> CostBenefit {
        let lines = space.pools as usize * space.lines_per_pool as usize;
        CostBenefit {
            lines_per_pool: space.lines_per_pool,
            line_pages: space.line_pages,
            lists: Lists::new(space.pools * (space.line_pages + 1), lines as u32),
            changed: vec![0; lines],
            most: vec![0; space.pools as usize],
        }
    }

    /// A line without a stale page is in no list.
    fn begin(&mut self, _pool: u32, _count: u32) {}

    fn close(&mut self, line: u32, stale: u32, now: u64) {
        self.add(line, stale, now);
    }

    fn invalidate(&mut self, line: u32, stale: u32, now: u64) {
        self.remove(line, stale - 1);
        self.add(line, stale, now);
    }

    fn victim(&mut self, pool: u32, _stale: &[u32], now: u64) -> Option<u32> {
        // The best so far: its score as a fraction, its line and number of stale pages.
        let mut best: Option<(u128, u128, u32, u32)> = None;
        for stale in (1..=self.most[pool as usize]).rev() {
            let Some(line) = self.lists.back(self.list(pool, stale)) else {
                continue;
            };
            let age = u128::from(now - self.changed[line as usize]) + 1;
            let (gain, cost) = (age * u128::from(stale), u128::from(self.line_pages - stale));
            if best.is_none_or(|(most, per, ..)| gain * per > most * cost) {
                best = Some((gain, cost, line, stale));
            }
            if best.is_some_and(|(_, cost, ..)| cost == 0) {
                break;
            }
        }
        let (.., line, stale) = best?;
        self.remove(line, stale);
        Some(line)
    }

    fn remove(&mut self, line: u32, stale: u32) {
        if stale > 0 {
            self.lists
                .remove(self.list(line / self.lines_per_pool, stale), line);
        }
    }

    fn tables(&mut self, tables: &mut dyn Tables) -> Result<(), NoContents> {
        self.lists
            .parts()
            .into_iter()
            .try_for_each(|part| tables.words(part))?;
        tables.longs(&mut self.changed)?;
        tables.words(&mut self.most)
    }

    fn dump(&self, pool: u32) -> Vec<u32> {
        let lists = (1..=self.line_pages).map(|stale| self.list(pool, stale));
        lists.flat_map(|list| self.lists.iter(list)).collect()
    }
}
