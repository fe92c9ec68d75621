//! The plain device.

mod doors;

use super::Asked;
use crate::cache::{Cache, Page};
use crate::draw::PAGES;
use crate::log::Log;
use sluice_model::{
    BlockOp, DeviceConfig, Op, Pattern, Precondition, ServedBy, Stats, StoreMiss, WritePolicy,
};
use std::collections::BTreeSet;

pub struct Plain {
    pub stats: Stats,
    /// Whether a look-up of a page reads nothing.
    pub map_is_in_memory: bool,
    cache: Cache,
    log: Option<Log>,
    /// Pages that flash has, old or new.
    flash: BTreeSet<u32>,
    /// Pages that wait to be programmed, the oldest in front; how many there can be, and how many
    /// go together.
    waiting: Vec<u32>,
    waiting_most: usize,
    together: usize,
    missed: BTreeSet<u32>,
    advice: Vec<Pattern>,
    /// Reads that this request has under way.
    reading: u32,
    mshrs: u32,
    degree: u32,
    ahead: u32,
    page_lines: u64,
    through: bool,
    awaits_programs: bool,
    store_miss: StoreMiss,
    loads_around: bool,
    demotes_lines: bool,
}

impl Plain {
    pub fn new(config: &DeviceConfig) -> Plain {
        let nextn = config.prefetch.policy.info.name == "nextn";
        let superpages = config.ftl.write_buffer.unwrap_or(0) as usize;
        let together = config.ftl.superblock_planes as usize;
        Plain {
            stats: Stats::default(),
            map_is_in_memory: config.ftl.mapping_cache_pages.is_none(),
            cache: Cache::new(config),
            log: Log::new(config),
            flash: match config.ftl.precondition {
                Precondition::None => BTreeSet::new(),
                _ => (0..PAGES).collect(),
            },
            waiting: Vec::new(),
            waiting_most: superpages * together,
            together,
            missed: BTreeSet::new(),
            advice: vec![Pattern::Normal; PAGES as usize],
            reading: 0,
            mshrs: config.mshr.entries,
            degree: if nextn { config.prefetch.degree } else { 0 },
            ahead: config.prefetch.sequential.min(config.cache.pages / 4),
            page_lines: config.page_bytes() / 64,
            through: config.cache.write == WritePolicy::Through,
            awaits_programs: config.cache.awaits_programs,
            store_miss: config.cache.store_miss,
            loads_around: config.cache.loads_around,
            demotes_lines: config
                .write_log
                .as_ref()
                .is_some_and(|log| log.demoted == sluice_model::config::Demoted::Lines),
        }
    }

    /// Whether the page is cached, pinned, and in flash or on its way there.
    pub fn has(&mut self, lpn: u32) -> [bool; 3] {
        let is_pinned = self.cache.find(lpn).is_some_and(|page| page.pinned);
        let is_in_flash = self.flash.contains(&lpn) || self.waiting.contains(&lpn);
        [self.cache.has(lpn), is_pinned, is_in_flash]
    }

    /// Pages whose newest contents are in the cache or the log alone.
    pub fn dirty(&mut self) -> Vec<u32> {
        let is_dirty = |lpn: &u32| {
            let logged = self.log.as_ref().map_or(0, |log| log.count(*lpn));
            logged > 0 || self.cache.find(*lpn).is_some_and(|page| page.dirty)
        };
        (0..PAGES).filter(is_dirty).collect()
    }

    pub fn ask(&mut self, asked: Asked) -> [u64; 2] {
        match asked {
            Asked::Access(page, offset, Op::Read) => self.load(page, offset / 64),
            Asked::Access(page, offset, Op::Write) => self.store(page, offset / 64),
            Asked::Command(command) => match self.command(command) {
                Some(changed) => [1, changed.into()],
                None => {
                    self.stats.refused += 1;
                    [0, 0]
                }
            },
            Asked::Block(op, first, count) => {
                let pages = first..first + count as u32;
                self.stats.block_flushes += u64::from(op == BlockOp::Flush);
                let cached = pages.filter(|lpn| self.block(op, *lpn)).count();
                if op == BlockOp::Flush {
                    let waiting = std::mem::take(&mut self.waiting);
                    waiting.into_iter().for_each(|lpn| self.program(lpn));
                }
                [1, cached as u64]
            }
            Asked::Discard(page) => {
                self.stats.trims += 1;
                self.drop_cached(page);
                self.trim(page);
                [0, 0]
            }
            Asked::WrittenLate(page) => {
                self.drop_logged(page);
                match self.cache.find(page) {
                    Some(page) => page.dirty = true,
                    None => {
                        self.stats.late_write_backs += 1;
                        self.write(page);
                    }
                }
                [0, 0]
            }
            Asked::Promote(page) => self.promote(page),
            Asked::Demote(page) => [self.demote(page) as u64, 0],
            Asked::DemoteToFlash(page) => {
                self.stats.migration.demoted += 1;
                self.stats.migration.programs += 1;
                self.drop_cached(page);
                self.write(page);
                [0, 0]
            }
            Asked::Advise(page, count, pattern) => {
                let pages = u64::from(page)..(u64::from(page) + count).min(PAGES.into());
                pages.for_each(|page| self.advice[page as usize] = pattern);
                [0, 0]
            }
            Asked::Compact => {
                self.log.iter_mut().for_each(Log::close);
                [0, 0]
            }
        }
    }

    /// Time passes: what is under way ends, and full buffers of the log go to flash.
    pub fn rest(&mut self) {
        self.cache.rest();
        self.reading = 0;
        let full = self.log.as_mut().map(|log| std::mem::take(&mut log.full));
        for buffer in full.into_iter().flatten() {
            self.stats.write_log.compactions += 1;
            for (lpn, lines) in buffer {
                let lines = lines.len() as u64;
                if let Some(page) = self.cache.find(lpn) {
                    page.dirty = false;
                } else if lines < self.page_lines {
                    self.stats.write_log.compaction_reads += 1;
                    self.read(lpn);
                }
                self.stats.write_log.pages_flushed += 1;
                self.stats.write_log.lines_flushed += lines;
                self.forget_waiting(lpn);
                self.program(lpn);
            }
        }
    }

    /// Reads a page from behind the cache.
    fn read(&mut self, lpn: u32) {
        match self.waiting.contains(&lpn) {
            true => self.stats.write_buffer_reads += 1,
            false => self.stats.flash_reads += u64::from(self.flash.contains(&lpn)),
        }
    }

    fn program(&mut self, lpn: u32) {
        self.stats.host_programs += 1;
        self.flash.insert(lpn);
    }

    /// Writes a page to where it waits to be programmed, or to flash.
    fn write(&mut self, lpn: u32) {
        self.drop_logged(lpn);
        if self.waiting_most == 0 {
            return self.program(lpn);
        }
        match self.waiting.contains(&lpn) {
            true => self.stats.write_buffer_saved += 1,
            false => self.waiting.push(lpn),
        }
        if self.waiting.len() == self.waiting_most {
            let oldest: Vec<u32> = self.waiting.drain(..self.together).collect();
            oldest.into_iter().for_each(|lpn| self.program(lpn));
        }
    }

    /// Writes a page that somebody waits for until it is programmed.
    fn write_for_store(&mut self, lpn: u32) {
        if !self.awaits_programs {
            return self.write(lpn);
        }
        self.drop_logged(lpn);
        self.forget_waiting(lpn);
        self.program(lpn);
    }

    fn forget_waiting(&mut self, lpn: u32) {
        let before = self.waiting.len();
        self.waiting.retain(|waiting| *waiting != lpn);
        self.stats.write_buffer_saved += (before - self.waiting.len()) as u64;
    }

    fn drop_logged(&mut self, lpn: u32) {
        let lines = self.log.as_mut().and_then(|log| log.open.remove(&lpn));
        self.stats.write_log.dropped += lines.map_or(0, |lines| lines.len() as u64);
    }

    fn trim(&mut self, lpn: u32) {
        self.drop_logged(lpn);
        self.forget_waiting(lpn);
        self.flash.remove(&lpn);
    }

    fn left_unused(&mut self, page: &Page) {
        self.stats.prefetch_unused += u64::from(page.ahead == Some(true));
    }

    fn drop_cached(&mut self, lpn: u32) -> bool {
        let Some(page) = self.cache.take(lpn) else {
            return false;
        };
        self.stats.drops += 1;
        self.stats.pins_dropped += u64::from(page.pinned);
        self.left_unused(&page);
        true
    }

    /// A page leaves the cache. Says whether it was written.
    fn leave(&mut self, page: &Page) -> bool {
        self.left_unused(page);
        if page.dirty {
            self.write(page.lpn);
        }
        page.dirty
    }

    /// Makes room for a page, and puts it there. Says whether there was room.
    fn bring(&mut self, lpn: u32, dirty: bool, ahead: Option<bool>, keep: Option<u32>) -> bool {
        if self.cache.is_full(lpn) {
            let Some(victim) = self.cache.evict(lpn, keep) else {
                return false;
            };
            self.stats.evictions += 1;
            self.stats.cold_evictions += u64::from(victim.cold.is_some());
            self.stats.dirty_evictions += u64::from(self.leave(&victim));
        }
        self.stats.fills += 1;
        self.cache.insert(lpn, dirty, ahead);
        true
    }

    /// Brings a page in that nobody waits for, as a prefetched one or by a command.
    fn bring_ahead(&mut self, lpn: u32, keep: Option<u32>) -> bool {
        let by_command = keep.is_none();
        let has_room = self.reading < self.mshrs;
        if !has_room || !self.bring(lpn, false, Some(!by_command), keep) {
            self.stats.prefetch_dropped += u64::from(!by_command);
            return false;
        }
        match by_command {
            true => self.stats.command_fills += 1,
            false => self.stats.prefetch_issued += 1,
        }
        self.reading += 1;
        self.read(lpn);
        true
    }

    fn load(&mut self, lpn: u32, line: u64) -> [u64; 2] {
        self.stats.loads += 1;
        if self.cache.has(lpn) {
            return self.hit(lpn, false);
        }
        if self.log.as_ref().is_some_and(|log| log.has(lpn, line)) {
            self.stats.write_log.hits += 1;
            return [ServedBy::WriteLog as u64, 0];
        }
        self.miss(lpn);
        self.reading += 1;
        if self.loads_around {
            self.stats.read_arounds += 1;
        } else {
            self.bring(lpn, false, None, None);
        }
        self.read(lpn);
        self.prefetch(lpn, true);
        [ServedBy::Flash as u64, 0]
    }

    fn store(&mut self, lpn: u32, line: u64) -> [u64; 2] {
        self.stats.stores += 1;
        if let Some(log) = &mut self.log {
            self.stats.write_log.appends += 1;
            self.stats.write_log.superseded += u64::from(log.append(lpn, line));
            let ahead = self.cache.hit(lpn, false);
            self.first_use(lpn, ahead);
            return [ServedBy::WriteLog as u64, ahead.is_some().into()];
        }
        if self.cache.has(lpn) {
            return self.hit(lpn, true);
        }
        self.miss(lpn);
        match self.store_miss {
            StoreMiss::Rmw | StoreMiss::Merge => {
                self.reading += 1;
                self.bring(lpn, !self.through, None, None);
                self.read(lpn);
                self.write_through(lpn);
            }
            around => {
                if around == StoreMiss::Around {
                    self.reading += 1;
                    self.read(lpn);
                }
                self.stats.write_arounds += 1;
                self.write_for_store(lpn);
            }
        }
        self.prefetch(lpn, true);
        [ServedBy::Flash as u64, 0]
    }

    fn hit(&mut self, lpn: u32, is_store: bool) -> [u64; 2] {
        self.stats.hits += 1;
        let ahead = self.cache.hit(lpn, is_store && !self.through);
        if is_store {
            self.write_through(lpn);
        }
        self.first_use(lpn, ahead);
        [ServedBy::CacheHit as u64, ahead.is_some().into()]
    }

    fn write_through(&mut self, lpn: u32) {
        if self.through {
            self.stats.write_throughs += 1;
            self.write_for_store(lpn);
            self.cache.find(lpn).expect("a cached page").dirty = false;
        }
    }

    fn miss(&mut self, lpn: u32) {
        self.stats.misses += 1;
        self.stats.first_misses += u64::from(self.missed.insert(lpn));
    }

    fn first_use(&mut self, lpn: u32, ahead: Option<bool>) {
        self.stats.prefetch_used += u64::from(ahead == Some(true));
        if ahead.is_some() {
            self.prefetch(lpn, false);
        }
    }

    /// What follows a miss, or the first use of a page that was brought in before.
    fn prefetch(&mut self, lpn: u32, is_miss: bool) {
        match self.advice[lpn as usize] {
            Pattern::Random => self.stats.random_quiet += u64::from(self.degree > 0),
            Pattern::Sequential => self.follow_line(lpn),
            Pattern::Normal if is_miss => {
                for next in (lpn + 1..=lpn + self.degree).filter(|next| *next < PAGES) {
                    if !self.cache.has(next) {
                        self.bring_ahead(next, Some(lpn));
                    }
                }
            }
            Pattern::Normal => {}
        }
    }

    fn follow_line(&mut self, lpn: u32) {
        let is_in_line = |advice: &[Pattern], lpn: u32| advice[lpn as usize] == Pattern::Sequential;
        for back in (2..2 + 2 * self.ahead).take_while(|back| *back <= lpn) {
            let passed = lpn - back;
            if !is_in_line(&self.advice, passed) || !self.cache.cool(passed) {
                break;
            }
            self.stats.cooled += 1;
            self.stats.sequential_passed += 1;
        }
        for next in lpn + 1..=(lpn + self.ahead).min(PAGES - 1) {
            if !is_in_line(&self.advice, next) {
                return;
            }
            if self.cache.has(next) {
                continue;
            }
            if !self.bring_ahead(next, Some(lpn)) {
                return;
            }
            self.stats.sequential_prefetches += 1;
        }
    }
}
