//! What each page holds, as a number. Only tests have contents: elsewhere this is nothing at all.

#[cfg(not(test))]
pub(in crate::device) use nothing::Contents;
#[cfg(test)]
pub(in crate::device) use watched::{Contents, ZEROS};

#[cfg(not(test))]
mod nothing {
    use crate::config::Settings;
    use crate::ftl::Ftl;
    use crate::nand::Nand;
    use crate::write_log::WriteLog;

    /// Contents do not exist outside of tests, and following them costs nothing.
    pub struct Contents;

    impl Contents {
        pub fn of(_ftl: &Ftl, _settings: &Settings, _seed: u64) -> Contents {
            Contents
        }

        /// The array that the translation layer works on.
        #[inline]
        pub fn over<'a>(&'a mut self, nand: &'a mut Nand) -> &'a mut Nand {
            nand
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

        /// The host's data goes to a place of the write log.
        #[inline]
        pub fn append(&mut self, _place: u32) {}

        /// The page is about to be programmed with these lines of the write log.
        #[inline]
        pub fn lift_logged<L>(&mut self, _lpn: u32, _is_cached: bool, lines: L) -> L {
            lines
        }

        /// The page that came into the cache takes its newest line from the write log.
        #[inline]
        pub fn merge(&mut self, _lpn: u32, _log: Option<&WriteLog>, _lines: u32) {}

        /// A page without a place in flash will read as zeros.
        #[inline]
        pub fn forget_read(&mut self) {}

        /// The page is about to be programmed: from the cache, or with what the host sends.
        #[inline]
        pub fn lift(&mut self, _lpn: u32) {}
    }
}

#[cfg(test)]
mod watched {
    use crate::config::Settings;
    use crate::ftl::Ftl;
    use crate::layout::Layout;
    use crate::nand::{BadBlock, Flash, Nand, Origin, Served};
    use crate::write_log::WriteLog;
    use sluice_units::Ps;
    use std::collections::{BTreeMap, BTreeSet};

    /// What a page that was never written holds.
    pub const ZEROS: u64 = 0;

    /// Versions of pages, by where they are. A preconditioned page holds its own number's version.
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
        layout: Layout,
    }

    impl Contents {
        /// With those of a device that is preconditioned.
        pub fn of(ftl: &Ftl, settings: &Settings, seed: u64) -> Contents {
            let mut contents = Contents {
                flash: BTreeMap::new(),
                cached: BTreeMap::new(),
                logged: BTreeMap::new(),
                incoming: 0,
                last_read: 0,
                passed: 0,
                moving: 0,
                map_blocks: ftl.translation_blocks(),
                bad_blocks: crate::ftl::factory_bad_blocks(settings, seed),
                layout: ftl.layout(),
            };
            for lpn in 0..settings.pages {
                if let Some(ppn) = ftl.ppn_of(lpn) {
                    contents.preset(ppn, Contents::initial(lpn));
                }
            }
            for ppn in ftl.translation_ppns() {
                contents.preset(ppn, 0);
            }
            contents
        }

        pub fn over<'a>(&'a mut self, nand: &'a mut Nand) -> Watched<'a> {
            Watched {
                nand,
                contents: self,
            }
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

        pub fn append(&mut self, place: u32) {
            self.logged.insert(place, self.incoming);
        }

        /// What a place of the write log holds.
        pub fn of_logged(&self, place: u32) -> u64 {
            self.logged[&place]
        }

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

        pub fn merge(&mut self, lpn: u32, log: Option<&WriteLog>, lines: u32) {
            let Some(place) = log.and_then(|log| log.find(lpn, lpn % lines)) else {
                return;
            };
            let logged = self.logged[&place];
            let cached = self.cached.insert(lpn, logged);
            assert!(cached <= Some(logged), "the log has L{lpn} as it was");
        }

        pub fn forget_read(&mut self) {
            self.last_read = ZEROS;
        }

        pub fn lift(&mut self, lpn: u32) {
            self.moving = self.of_cached(lpn).unwrap_or(self.incoming);
        }

        fn preset(&mut self, ppn: u32, version: u64) {
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
    }

    impl Watched<'_> {
        fn assert_good(&self, block: u32) {
            let bad = self.contents.bad_blocks.contains(&block);
            assert!(!bad, "block {block} was bad from the factory");
        }

        fn put(&mut self, ppn: u32, version: u64) {
            self.assert_good(self.contents.layout.block_of(ppn));
            let before = self.contents.at(ppn);
            assert_eq!(before, None, "P{ppn} is programmed twice");
            self.contents.flash.insert(ppn, Some(version));
        }
    }

    impl Flash for Watched<'_> {
        fn read(&mut self, now: Ps, ppn: u32, origin: Origin) -> Served {
            let block = self.contents.layout.block_of(ppn);
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
            for ppn in self.contents.layout.pages_of(block) {
                self.contents.flash.insert(ppn, None);
            }
            self.nand.erase(now, block, origin)
        }

        fn idle_at(&self, block: u32) -> Ps {
            self.nand.idle_at(block)
        }
    }
}
