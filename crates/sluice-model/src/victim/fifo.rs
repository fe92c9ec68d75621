//! The line that was filled first.

use super::{GcInfo, GcSpace, GcVictim};
use sluice_lists::Lists;

/// Lines in the order in which they were filled.
pub struct Fifo {
    lines_per_pool: u32,
    line_pages: u32,
    filled: Lists,
}

impl GcVictim for Fifo {
    const INFO: GcInfo = GcInfo {
        name: "fifo",
        meaning: "the line filled first; one whose pages are all valid goes to the end instead",
        source: "Desnoyers, SYSTOR 2012 (there LRU)",
    };

    fn build(space: &GcSpace) -> Fifo {
        Fifo {
            lines_per_pool: space.lines_per_pool,
            line_pages: space.line_pages,
            filled: Lists::new(space.pools, space.pools * space.lines_per_pool),
        }
    }

    fn close(&mut self, line: u32, _stale: u32, _now: u64) {
        self.filled.push_front(line / self.lines_per_pool, line);
    }

    fn invalidate(&mut self, _line: u32, _stale: u32, _now: u64) {}

    fn victim(&mut self, pool: u32, valid: &[u32], _now: u64) -> Option<u32> {
        for _ in 0..self.filled.len(pool) {
            let line = self.filled.pop_back(pool)?;
            if valid[line as usize] < self.line_pages {
                return Some(line);
            }
            self.filled.push_front(pool, line);
        }
        None
    }

    fn remove(&mut self, line: u32, _stale: u32) {
        self.filled.remove(line / self.lines_per_pool, line);
    }

    fn dump(&self, pool: u32) -> Vec<u32> {
        self.filled.iter(pool).collect()
    }
}
