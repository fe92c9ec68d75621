//! Orphans: pages that are mapped although the model has evicted them.

use super::{Host, MAPPED, ORPHAN, PENDING};

/// Orphans that are listed: one for every thread that waits. A fork may leave more.
pub(super) const MAX: usize = 4096;

impl Host {
    /// Notes a page that the model has evicted and that stays for a moment. False if it cannot.
    pub(super) fn keep_orphan(&mut self, lpn: u64) -> bool {
        let room = self.orphan_count < MAX;
        if room {
            self.orphans[self.orphan_count] = lpn;
            self.orphan_count += 1;
        }
        self.has_more_orphans |= !room && self.progress.all_stay;
        room || self.progress.all_stay
    }

    /// Unmaps one page that the model evicted while it was needed. Its thread has had its turn
    /// since. Returns the page and whether it was written.
    pub fn next_orphan(&mut self) -> Option<(u64, bool)> {
        if self.progress.all_stay {
            return None;
        }
        let listed = self.next_listed_orphan();
        if listed.is_some() || !self.has_more_orphans {
            return listed;
        }
        self.list_orphans();
        self.next_listed_orphan()
    }

    /// Lists as many orphans as there is room for: far more than can be held.
    fn list_orphans(&mut self) {
        const LEAVES: u8 = ORPHAN | MAPPED;
        let is_orphan = |lpn: &usize| self.state[*lpn] & (LEAVES | PENDING) == LEAVES;
        let mut all = self.used.runs().flatten().filter(is_orphan);
        self.orphan_count = 0;
        for (to, lpn) in self.orphans.iter_mut().zip(&mut all) {
            *to = lpn as u64;
            self.orphan_count += 1;
        }
        self.has_more_orphans = self.orphan_count == MAX;
    }

    fn next_listed_orphan(&mut self) -> Option<(u64, bool)> {
        for at in (0..self.orphan_count).rev() {
            let lpn = self.orphans[at];
            if self.progress.holds(lpn) {
                continue;
            }
            self.orphan_count -= 1;
            self.orphans[at] = self.orphans[self.orphan_count];
            if self.state[lpn as usize] & (ORPHAN | MAPPED | PENDING) == ORPHAN | MAPPED {
                self.state[lpn as usize] &= !ORPHAN;
                let written = self.take_away(lpn);
                self.residency.set(lpn, 0);
                return Some((lpn, written));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::MAX;
    use crate::rig;

    /// They pushed each other out of the cache, and a child found zeros where the C library has
    /// its streams.
    #[test]
    fn pages_that_a_fork_needs_are_there_together_and_leave_after_it() {
        const PAGES: u64 = MAX as u64 + 100;
        let engine = rig::engine(&[("device.capacity", "32MiB"), ("cache.policy", "lru")]);
        engine.core().host.progress.all_stay = true;
        for lpn in 0..PAGES {
            rig::touch(engine, 1 + lpn, lpn, true);
            rig::store(engine, lpn, 7 + lpn);
        }
        assert!((0..PAGES).all(|lpn| rig::load(engine, lpn) == 7 + lpn));
        engine.core().host.progress.all_stay = false;
        rig::touch(engine, 1 + PAGES, PAGES, false);
        assert_eq!(engine.core().host.mapped(), 4, "as many as are cached");
        assert!((0..PAGES - 3).all(|lpn| !rig::is_there(engine, lpn)));
        for lpn in [0, PAGES / 2, PAGES - 4] {
            rig::touch(engine, 2 + PAGES + lpn, lpn, false);
            assert_eq!(rig::load(engine, lpn), 7 + lpn);
        }
    }
}
