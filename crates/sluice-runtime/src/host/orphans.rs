//! Orphans: pages that are mapped although the model has evicted them.

use super::{Host, MAPPED, ORPHAN, PENDING};

/// Orphans that are listed: one for every thread that waits. A fork may leave more.
pub(super) const MAX: usize = 4096;

impl Host {
    /// Notes a page that the model has evicted and that stays for a moment. False if it cannot.
    pub(super) fn keep_orphan(&mut self, lpn: u64) -> bool {
        // It is noted when it stays no longer.
        if self.progress.waited.has(lpn) {
            return true;
        }
        let room = self.orphan_count < MAX;
        if room {
            self.orphans[self.orphan_count] = lpn;
            self.orphan_count += 1;
        }
        self.has_more_orphans |= !room && self.progress.all_stay;
        room || self.progress.all_stay
    }

    /// A page is waited for no longer. It leaves soon, if the model has evicted it meanwhile.
    pub fn stays_no_more(&mut self, lpn: u64) {
        if self.state[lpn as usize] & ORPHAN != 0 {
            self.has_more_orphans |= !self.keep_orphan(lpn);
        }
    }

    /// In the child of a fork nobody waits for a page.
    pub fn forget_waits(&mut self) {
        self.has_more_orphans |= self.progress.waited.forget();
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

    /// Those for which there was no room on the list left although somebody waited for them.
    #[test]
    fn pages_that_are_waited_for_stay_however_many_and_leave_after_it() {
        const PAGES: u64 = MAX as u64 + 100;
        let engine = rig::engine(&[("device.capacity", "32MiB"), ("cache.policy", "lru")]);
        let here = sluice_region::thread_id();
        for lpn in 0..PAGES {
            match lpn % 2 {
                0 => engine.begin_wait(&[rig::page(engine, lpn)]),
                _ => engine.hold(here, &[rig::page(engine, lpn)]),
            }
            rig::touch(engine, 1 + lpn, lpn, true);
            rig::store(engine, lpn, 7 + lpn);
        }
        assert!((0..PAGES).all(|lpn| rig::load(engine, lpn) == 7 + lpn));
        for lpn in 0..PAGES {
            engine.let_go(here, &[rig::page(engine, lpn)]);
            if lpn % 2 == 0 {
                engine.end_wait(&[rig::page(engine, lpn)]);
            }
        }
        rig::touch(engine, 1 + PAGES, PAGES, false);
        assert_eq!(engine.core().host.mapped(), 4, "as many as are cached");
        assert!((0..PAGES - 3).all(|lpn| !rig::is_there(engine, lpn)));
    }

    /// A thread that was gone had its page for ever.
    #[test]
    fn a_page_leaves_whose_thread_is_gone() {
        let engine = rig::engine(&[("cache.policy", "lru")]);
        let gone = std::thread::spawn(sluice_region::thread_id)
            .join()
            .expect("a number");
        let here = sluice_region::thread_id();
        engine.hold(gone, &[rig::page(engine, 0)]);
        engine.hold(here, &[rig::page(engine, 1)]);
        (0..8).for_each(|lpn| rig::touch(engine, 1 + lpn, lpn, false));
        assert!([0, 1].into_iter().all(|lpn| rig::is_there(engine, lpn)));
        engine.forget_gone();
        rig::touch(engine, 9, 8, false);
        assert!(!rig::is_there(engine, 0) && rig::is_there(engine, 1));
    }
}
