//! What each page holds, as a number. Only tests have contents: elsewhere this is nothing at all.

/// Contents do not exist outside of tests, and following them costs nothing.
#[cfg(not(test))]
pub(in crate::device) struct Contents;

#[cfg(not(test))]
impl Contents {
    pub fn new() -> Contents {
        Contents
    }

    /// The page came into the cache, with what was read last.
    #[inline]
    pub fn fill(&mut self, _lpn: u32) {}

    /// What was read last goes to the host, past the cache.
    #[inline]
    pub fn pass(&mut self) {}

    /// The host's data goes to the cached page.
    #[inline]
    pub fn store(&mut self, _lpn: u32) {}

    /// The page has left the cache.
    #[inline]
    pub fn leave(&mut self, _lpn: u32) {}
}

#[cfg(test)]
pub(in crate::device) use watched::{Contents, Watched, ZEROS};

#[cfg(test)]
mod watched {
    use crate::layout::Layout;
    use crate::nand::{BadBlock, Flash, Nand, Origin, Served};
    use sluice_units::Ps;
    use std::collections::{BTreeMap, BTreeSet};

    /// What a page that was never written holds.
    pub const ZEROS: u64 = 0;

    /// Versions of pages, by where they are. A preconditioned page holds its own number's version.
    #[derive(Default)]
    pub struct Contents {
        /// By PPN; `None` after an erase.
        flash: BTreeMap<u32, Option<u64>>,
        cached: BTreeMap<u32, u64>,
        /// By place in the write log.
        logged: BTreeMap<u32, u64>,
        /// What the host sends next.
        pub incoming: u64,
        /// What was read last from flash.
        pub last_read: u64,
        /// What the host got past the cache.
        pub passed: u64,
        moving: u64,
        /// Blocks that hold pages of the map.
        pub map_blocks: BTreeSet<u32>,
        /// Blocks that were bad from the factory.
        pub bad_blocks: BTreeSet<u32>,
    }

    impl Contents {
        pub fn new() -> Contents {
            Contents::default()
        }

        /// What every page of a preconditioned device holds.
        pub fn initial(lpn: u32) -> u64 {
            u64::from(lpn) + 1
        }

        pub fn of_cached(&self, lpn: u32) -> Option<u64> {
            self.cached.get(&lpn).copied()
        }

        pub fn fill(&mut self, lpn: u32) {
            self.cached.insert(lpn, self.last_read);
        }

        pub fn pass(&mut self) {
            self.passed = self.last_read;
        }

        pub fn store(&mut self, lpn: u32) {
            if let Some(cached) = self.cached.get_mut(&lpn) {
                *cached = self.incoming;
            }
        }

        pub fn leave(&mut self, lpn: u32) {
            self.cached.remove(&lpn);
        }

        /// The host's data goes to a place of the write log.
        pub fn append(&mut self, place: u32) {
            self.logged.insert(place, self.incoming);
        }

        /// What a place of the write log holds.
        pub fn of_logged(&self, place: u32) -> u64 {
            self.logged[&place]
        }

        /// The page is about to be programmed with these lines of the write log.
        pub fn lift_logged(
            &mut self,
            lpn: u32,
            is_cached: bool,
            lines: impl Iterator<Item = (u32, u32)>,
        ) -> std::vec::IntoIter<(u32, u32)> {
            let lines: Vec<_> = lines.collect();
            let newest = lines.iter().map(|(_, place)| self.logged[place]).max();
            self.moving = newest.expect("a page with a line");
            if let Some(cached) = self.of_cached(lpn).filter(|_| is_cached) {
                assert!(cached >= self.moving, "the cache has L{lpn} as it was");
                self.moving = cached;
            }
            lines.into_iter()
        }

        /// The page that came into the cache takes its newest line from the write log.
        pub fn merge(&mut self, lpn: u32, place: u32) {
            let logged = self.logged[&place];
            let cached = self.cached.insert(lpn, logged);
            assert!(cached <= Some(logged), "the log has L{lpn} as it was");
        }

        /// A page without a place in flash will read as zeros.
        pub fn forget_read(&mut self) {
            self.last_read = ZEROS;
        }

        /// The page is about to be programmed: from the cache, or with what the host sends.
        pub fn lift(&mut self, lpn: u32) {
            self.moving = self.of_cached(lpn).unwrap_or(self.incoming);
        }

        /// What a preconditioned device holds there.
        pub fn preset(&mut self, ppn: u32, version: u64) {
            let before = self.flash.insert(ppn, Some(version));
            assert_eq!(before, None, "P{ppn} belongs to two pages");
        }

        /// What a programmed page holds.
        pub fn of_flash(&self, ppn: u32) -> Option<u64> {
            self.at(ppn)
        }

        fn at(&self, ppn: u32) -> Option<u64> {
            self.flash.get(&ppn).copied().flatten()
        }
    }

    /// A flash array that keeps contents, and takes no page twice.
    pub struct Watched<'a> {
        pub nand: &'a mut Nand,
        pub contents: &'a mut Contents,
        pub layout: Layout,
    }

    impl Watched<'_> {
        fn assert_good(&self, block: u32) {
            let bad = self.contents.bad_blocks.contains(&block);
            assert!(!bad, "block {block} was bad from the factory");
        }

        fn put(&mut self, ppn: u32, version: u64) {
            self.assert_good(self.layout.block_of(ppn));
            let before = self.contents.at(ppn);
            assert_eq!(before, None, "P{ppn} is programmed twice");
            self.contents.flash.insert(ppn, Some(version));
        }
    }

    impl Flash for Watched<'_> {
        fn read(&mut self, now: Ps, ppn: u32, origin: Origin) -> Served {
            let block = self.layout.block_of(ppn);
            self.assert_good(block);
            let found = self.contents.at(ppn);
            let found = found.expect("only a programmed page is read");
            if !self.contents.map_blocks.contains(&block) {
                self.contents.last_read = found;
            }
            self.nand.read(now, ppn, origin)
        }

        fn program(&mut self, now: Ps, ppn: u32, origin: Origin) -> Result<Ps, BadBlock> {
            self.put(ppn, self.contents.moving);
            self.nand.program(now, ppn, origin)
        }

        fn copy(&mut self, now: Ps, from: u32, to: u32, origin: Origin) -> Result<Ps, BadBlock> {
            let found = self.contents.at(from);
            self.put(to, found.expect("only a programmed page is moved"));
            self.nand.copy(now, from, to, origin)
        }

        fn erase(&mut self, now: Ps, block: u32, origin: Origin) -> Result<Ps, BadBlock> {
            self.assert_good(block);
            for ppn in self.layout.pages_of(block) {
                self.contents.flash.insert(ppn, None);
            }
            self.nand.erase(now, block, origin)
        }

        fn idle_at(&self, block: u32) -> Ps {
            self.nand.idle_at(block)
        }
    }
}
