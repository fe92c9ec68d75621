//! The line with the most to gain among those filled first.

use super::{GcInfo, GcSpace, GcVictim};
use sluice_lists::Lists;

/// Lines in the order in which they were filled.
pub struct Windowed {
    lines_per_pool: u32,
    line_pages: u32,
    window: u32,
    filled: Lists,
}

impl Windowed {
    /// A window of so many lines.
    pub(super) fn new(space: &GcSpace, window: u32) -> Windowed {
        Windowed {
            lines_per_pool: space.lines_per_pool,
            line_pages: space.line_pages,
            window,
            filled: Lists::new(space.pools, space.pools * space.lines_per_pool),
        }
    }

    /// The best line of the window, the oldest among equals, or `None` if all are valid.
    fn best(&self, pool: u32, valid: &[u32]) -> Option<u32> {
        let mut best = None;
        let mut least = self.line_pages;
        let mut line = self.filled.back(pool);
        for _ in 0..self.window {
            let Some(at) = line else { break };
            if valid[at as usize] < least {
                least = valid[at as usize];
                best = Some(at);
            }
            line = self.filled.newer(at);
        }
        best
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

    fn close(&mut self, line: u32, _stale: u32, _now: u64) {
        self.filled.push_front(line / self.lines_per_pool, line);
    }

    fn invalidate(&mut self, _line: u32, _stale: u32, _now: u64) {}

    fn victim(&mut self, pool: u32, valid: &[u32], _now: u64) -> Option<u32> {
        for _ in 0..self.filled.len(pool).div_ceil(self.window) {
            if let Some(line) = self.best(pool, valid) {
                self.filled.remove(pool, line);
                return Some(line);
            }
            for _ in 0..self.window.min(self.filled.len(pool)) {
                let line = self.filled.pop_back(pool)?;
                self.filled.push_front(pool, line);
            }
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
