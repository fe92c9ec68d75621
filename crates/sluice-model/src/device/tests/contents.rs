//! What each page holds, as a number: an observer for tests.

use crate::config::Settings;
use crate::device::observer::{FlashIo, Observer, Written};
use crate::ftl::{Ftl, ReadOnly};
use crate::layout::{Block, Layout};
use crate::nand::{BadBlock, Flash, Nand, Origin, Served};
use crate::stats::Stats;
use crate::write_log::LogEntry;
use sluice_units::{LINE_BYTES, Lpn, PageLine, Ppn, Ps};
use std::collections::{BTreeMap, BTreeSet};

/// What a page that was never written holds.
pub const ZEROS: u64 = 0;

/// Versions of pages, by where they are. A preconditioned page holds its own number's version.
pub struct Contents {
    /// By PPN; `None` after an erase.
    flash: BTreeMap<Ppn, Option<u64>>,
    cached: BTreeMap<Lpn, u64>,
    /// In the write buffer.
    gathered: BTreeMap<Lpn, u64>,
    /// What is programmed next from there.
    emptied: Option<u64>,
    /// By entry of the write log.
    logged: BTreeMap<LogEntry, u64>,
    /// What the host sends next.
    pub incoming: u64,
    /// What was read last from flash.
    pub last_read: u64,
    /// What the host got past the cache.
    pub passed: u64,
    /// What is programmed next.
    moving: u64,
    lines_per_page: u32,
    /// Blocks that hold pages of the map.
    map_blocks: BTreeSet<Block>,
    /// Blocks that were bad from the factory.
    bad_blocks: BTreeSet<Block>,
    layout: Layout,
}

impl Contents {
    /// What every page of a preconditioned device holds.
    pub fn initial(lpn: Lpn) -> u64 {
        u64::from(lpn) + 1
    }

    /// The one line of a page that is used where there is a write log, so that the page is as new
    /// as that.
    pub fn line_of(lpn: Lpn, lines_per_page: u32) -> PageLine {
        PageLine(lpn.0 % lines_per_page)
    }

    /// What the cache has of a page.
    pub fn of_cached(&self, lpn: Lpn) -> Option<u64> {
        self.cached.get(&lpn).copied()
    }

    /// What the write buffer got last of a page.
    pub fn of_gathered(&self, lpn: Lpn) -> u64 {
        self.gathered[&lpn]
    }

    /// What is written of a page: the cached one, or what the host sends.
    fn sent(&self, lpn: Lpn) -> u64 {
        self.of_cached(lpn).unwrap_or(self.incoming)
    }

    /// What an entry of the write log holds.
    pub fn of_logged(&self, entry: LogEntry) -> u64 {
        self.logged[&entry]
    }

    /// What a page of flash holds, if it was programmed since its block was erased.
    pub fn of_flash(&self, ppn: Ppn) -> Option<u64> {
        self.flash.get(&ppn).copied().flatten()
    }

    fn preset(&mut self, ppn: Ppn, version: u64) {
        let before = self.flash.insert(ppn, Some(version));
        assert_eq!(before, None, "{ppn} belongs to two pages");
    }

    fn over<'a>(&'a mut self, nand: &'a mut Nand) -> Watched<'a> {
        Watched {
            nand,
            contents: self,
        }
    }
}

impl Observer for Contents {
    /// With the contents of a device that is preconditioned.
    fn new(ftl: &Ftl, settings: &Settings, seed: u64) -> Contents {
        let mut contents = Contents {
            flash: BTreeMap::new(),
            cached: BTreeMap::new(),
            gathered: BTreeMap::new(),
            emptied: None,
            logged: BTreeMap::new(),
            incoming: 0,
            last_read: 0,
            passed: 0,
            moving: 0,
            lines_per_page: (settings.page_bytes() / LINE_BYTES) as u32,
            map_blocks: ftl.translation_blocks(),
            bad_blocks: crate::ftl::factory_bad_blocks(settings, seed),
            layout: ftl.layout(),
        };
        for lpn in (0..settings.pages).map(Lpn) {
            if let Some(ppn) = ftl.ppn_of(lpn) {
                contents.preset(ppn, Contents::initial(lpn));
            }
        }
        for ppn in ftl.translation_ppns() {
            contents.preset(ppn, 0);
        }
        contents
    }

    fn read(
        &mut self,
        io: FlashIo<'_>,
        at: Ps,
        lpn: Lpn,
        origin: Origin,
        stats: &mut Stats,
    ) -> Served {
        // A page without a place in flash reads as zeros.
        if origin == Origin::Host {
            self.last_read = ZEROS;
        }
        io.ftl.read(at, lpn, origin, &mut self.over(io.nand), stats)
    }

    fn write(
        &mut self,
        io: FlashIo<'_>,
        at: Ps,
        page: Written,
        stats: &mut Stats,
    ) -> Result<(), ReadOnly> {
        let Written {
            lpn,
            placement,
            origin,
        } = page;
        // What compaction writes is known since [`Observer::destages`].
        if origin != Origin::Log {
            let emptied = self.emptied.take();
            self.moving = emptied.unwrap_or_else(|| self.sent(lpn));
        }
        let flash = &mut self.over(io.nand);
        io.ftl.write(at, lpn, placement, origin, flash, stats)
    }

    fn trim(&mut self, io: FlashIo<'_>, at: Ps, lpn: Lpn, stats: &mut Stats) {
        io.ftl.trim(at, lpn, &mut self.over(io.nand), stats);
    }

    fn advance(&mut self, io: FlashIo<'_>, at: Ps, stats: &mut Stats) {
        io.ftl.advance(at, &mut self.over(io.nand), stats);
    }

    fn filled(&mut self, lpn: Lpn, logged: impl Fn(PageLine) -> Option<LogEntry>) {
        self.cached.insert(lpn, self.last_read);
        let line = Contents::line_of(lpn, self.lines_per_page);
        if let Some(entry) = logged(line) {
            let logged = self.of_logged(entry);
            let cached = self.cached.insert(lpn, logged);
            assert!(cached <= Some(logged), "the log has {lpn} as it was");
        }
    }

    fn bypassed(&mut self) {
        self.passed = self.last_read;
    }

    fn stored(&mut self, lpn: Lpn) {
        if let Some(cached) = self.cached.get_mut(&lpn) {
            *cached = self.incoming;
        }
    }

    fn left(&mut self, lpn: Lpn) {
        self.cached.remove(&lpn);
    }

    fn gathered(&mut self, lpn: Lpn) {
        self.gathered.insert(lpn, self.sent(lpn));
    }

    fn regained(&mut self, lpn: Lpn) {
        self.last_read = self.of_gathered(lpn);
    }

    fn emptied(&mut self, lpn: Lpn) {
        self.emptied = Some(self.of_gathered(lpn));
    }

    fn overtaken(&mut self, lpn: Lpn) {
        self.gathered.remove(&lpn);
    }

    fn appended(&mut self, entry: LogEntry) {
        self.logged.insert(entry, self.incoming);
    }

    fn destages(
        &mut self,
        lpn: Lpn,
        is_cached: bool,
        lines: impl Iterator<Item = (PageLine, LogEntry)>,
    ) {
        let newest = lines.map(|(_, entry)| self.logged[&entry]).max();
        self.moving = newest.expect("a page with a line");
        if let Some(cached) = self.of_cached(lpn).filter(|_| is_cached) {
            assert!(cached >= self.moving, "the cache has {lpn} as it was");
            self.moving = cached;
        }
    }
}

/// A flash array that keeps contents, and takes no page twice.
struct Watched<'a> {
    nand: &'a mut Nand,
    contents: &'a mut Contents,
}

impl Watched<'_> {
    fn assert_good(&self, block: Block) {
        let bad = self.contents.bad_blocks.contains(&block);
        assert!(!bad, "{block:?} was bad from the factory");
    }

    fn put(&mut self, ppn: Ppn, version: u64) {
        self.assert_good(self.contents.layout.block_of(ppn));
        let before = self.contents.of_flash(ppn);
        assert_eq!(before, None, "{ppn} is programmed twice");
        self.contents.flash.insert(ppn, Some(version));
    }
}

impl Flash for Watched<'_> {
    fn read(&mut self, now: Ps, ppn: Ppn, origin: Origin) -> Option<Served> {
        let block = self.contents.layout.block_of(ppn);
        self.assert_good(block);
        let found = self.contents.of_flash(ppn);
        let found = found.expect("only a programmed page is read");
        if !self.contents.map_blocks.contains(&block) {
            self.contents.last_read = found;
        }
        self.nand.read(now, ppn, origin)
    }

    fn program(&mut self, now: Ps, ppn: Ppn, origin: Origin) -> Result<(), BadBlock> {
        self.put(ppn, self.contents.moving);
        self.nand.program(now, ppn, origin)
    }

    fn copy(&mut self, now: Ps, from: Ppn, to: Ppn, origin: Origin) -> Result<(), BadBlock> {
        let found = self.contents.of_flash(from);
        self.put(to, found.expect("only a programmed page is moved"));
        self.nand.copy(now, from, to, origin)
    }

    fn erase(&mut self, now: Ps, block: Block, origin: Origin) -> Result<(), BadBlock> {
        self.assert_good(block);
        for ppn in self.contents.layout.pages_of(block) {
            self.contents.flash.insert(ppn, None);
        }
        self.nand.erase(now, block, origin)
    }

    fn idle_at(&self, block: Block) -> Ps {
        self.nand.idle_at(block)
    }
}
