//! Lines come into a core's caches, and leave them.

use super::core::Core;
use super::tags::{DIRTY, line_of};

impl Core {
    pub(super) fn fill_l1(&mut self, line: u32, flags: u32) {
        let victim = self.l1.insert(line, flags);
        if self.writes_misses && victim != 0 {
            self.misses.end_write(line_of(victim));
        }
        if victim & DIRTY != 0 {
            self.take_below(line_of(victim));
        }
    }

    /// A written line leaves the L1.
    pub(super) fn take_below(&mut self, line: u32) {
        self.stats.levels[0].write_backs += 1;
        match self.l2.peek(line) {
            Some(entry) => *entry |= DIRTY,
            None => self.passed.push(line),
        }
    }

    /// Puts a line into the L2. Returns the line that is written back for it.
    pub(super) fn fill_l2(&mut self, line: u32) -> Option<u32> {
        let victim = self.l2.insert(line, 0);
        if victim == 0 {
            return None;
        }
        let mut above = 0;
        if self.l2_rules {
            above = self.l1.remove(line_of(victim));
            if self.writes_misses {
                self.misses.end_write(line_of(victim));
            }
        }
        let dirty = (victim | above) & DIRTY != 0;
        self.stats.levels[1].write_backs += u64::from(dirty);
        dirty.then(|| line_of(victim))
    }

    pub(super) fn forget(&mut self, line: u32) {
        self.l1.remove(line);
        self.l2.remove(line);
    }
}
