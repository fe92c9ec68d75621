//! The line with the most to gain.

use super::{GcInfo, GcSpace, GcVictim};
use crate::contents::{NoContents, Tables};
use sluice_lists::Lists;

/// Lines by their number of stale pages. One without any is in no list.
pub struct Greedy {
    lines_per_pool: u32,
    /// Lists of a pool: one for each number of stale pages.
    buckets: u32,
    lists: Lists,
    /// Per pool: no line has more stale pages than this.
    most: Vec<u32>,
}

impl Greedy {
    fn list(&self, line: u32, stale: u32) -> u32 {
        line / self.lines_per_pool * self.buckets + stale
    }

    fn add(&mut self, line: u32, stale: u32) {
        if stale > 0 {
            self.lists.push_front(self.list(line, stale), line);
            let most = &mut self.most[(line / self.lines_per_pool) as usize];
            *most = stale.max(*most);
        }
    }
}

impl GcVictim for Greedy {
    const INFO: GcInfo = GcInfo {
        name: "greedy",
        meaning: "the most stale pages; among equals, the one that has had them longest",
        source: "Desnoyers, SYSTOR 2012",
    };

    fn build(space: &GcSpace) -> Greedy {
        let buckets = space.line_pages + 1;
        Greedy {
            lines_per_pool: space.lines_per_pool,
            buckets,
            lists: Lists::new(space.pools * buckets, space.pools * space.lines_per_pool),
            most: vec![0; space.pools as usize],
        }
    }

    /// A line without a stale page is in no list.
    fn begin(&mut self, _pool: u32, _count: u32) {}

    fn close(&mut self, line: u32, stale: u32, _now: u64) {
        self.add(line, stale);
    }

    fn invalidate(&mut self, line: u32, stale: u32, _now: u64) {
        self.remove(line, stale - 1);
        self.add(line, stale);
    }

    fn victim(&mut self, pool: u32, _stale: &[u32], _now: u64) -> Option<u32> {
        while self.most[pool as usize] > 0 {
            let list = pool * self.buckets + self.most[pool as usize];
            if let Some(line) = self.lists.pop_back(list) {
                return Some(line);
            }
            self.most[pool as usize] -= 1;
        }
        None
    }

    fn remove(&mut self, line: u32, stale: u32) {
        if stale > 0 {
            self.lists.remove(self.list(line, stale), line);
        }
    }

    fn tables(&mut self, tables: &mut dyn Tables) -> Result<(), NoContents> {
        self.lists
            .parts()
            .into_iter()
            .try_for_each(|part| tables.words(part))?;
        tables.words(&mut self.most)
    }

    fn dump(&self, pool: u32) -> Vec<u32> {
        let lists = (1..self.buckets).map(|stale| pool * self.buckets + stale);
        lists.flat_map(|list| self.lists.iter(list)).collect()
    }
}
