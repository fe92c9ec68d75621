//! Lines come into a core's caches, and leave them, as translations do.

use super::artifact::Artifact;
use super::core::Core;
use super::tags::{DIRTY, PENDING, line_of};
use sluice_units::Ps;

impl<A: Artifact> Core<A> {
    pub(super) fn fill_l1(&mut self, line: u32, flags: u32) {
        let victim = self.l1.insert(line, flags);
        if victim != 0 {
            self.leaves_l1(line_of(victim));
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

    /// Puts a line that is on its way into the L2. Returns the line that is written back for it.
    pub(super) fn fill_l2(&mut self, line: u32) -> Option<u32> {
        let victim = self.l2.insert(line, PENDING);
        if victim == 0 {
            return None;
        }
        let mut above = 0;
        if self.l2_rules {
            above = self.l1.remove(line_of(victim));
            self.leaves_l1(line_of(victim));
        }
        let dirty = (victim | above) & DIRTY != 0;
        self.stats.levels[1].write_backs += u64::from(dirty);
        dirty.then(|| line_of(victim))
    }

    #[inline]
    fn leaves_l1(&mut self, line: u32) {
        self.artifact.leaves_l1(|| self.misses.find_answered(line));
    }

    pub(super) fn forget(&mut self, line: u32) {
        self.l1.remove(line);
        self.l2.remove(line);
    }

    /// The translation of so many pages has changed.
    pub fn shoot_down(&mut self, first: u64, pages: u32, cost: Ps) {
        (first..first + u64::from(pages)).for_each(|page| self.tlb.remove(page));
        self.lose(cost);
    }
}
