//! What is asked beside loads and stores: commands, block requests, pages that move.

use super::Plain;
use sluice_model::{BlockOp, Command, ServedBy, StoreMiss};

impl Plain {
    /// Whether it changed anything; nothing if it is refused.
    pub(super) fn command(&mut self, command: Command) -> Option<bool> {
        let lpn = command.lpn().0;
        let found = self.cache.find(lpn).cloned();
        match command {
            Command::Pin(_) => {
                if found.as_ref().is_some_and(|page| page.pinned) {
                    return Some(false);
                }
                if !self.cache.can_pin(lpn) {
                    return None;
                }
                if found.is_none() {
                    self.stats.pin_fills += 1;
                    self.bring(lpn, false, None, None);
                    self.read(lpn);
                }
                self.stats.pins += 1;
                self.cache.pin(lpn);
            }
            Command::Unpin(_) => {
                found.filter(|page| page.pinned)?;
                self.stats.unpins += 1;
                self.cache.unpin(lpn);
            }
            Command::Prefetch(_) if found.is_some() => return Some(false),
            Command::Prefetch(_) => return self.bring_ahead(lpn, None).then_some(true),
            Command::Evict(_) => {
                found.filter(|page| !page.pinned)?;
                let page = self.cache.take(lpn)?;
                self.stats.command_evictions += 1;
                self.stats.flushes += u64::from(self.leave(&page));
            }
            Command::Flush(_) => return Some(self.flush(lpn, found?.dirty)),
            Command::Cold(_) => {
                found.filter(|page| !page.pinned)?;
                let is_new = self.cache.cool(lpn);
                self.stats.cooled += u64::from(is_new);
                return Some(is_new);
            }
        }
        Some(true)
    }

    /// Programs a cached page, or what waits of it. Says whether there was anything to do.
    fn flush(&mut self, lpn: u32, is_dirty: bool) -> bool {
        if is_dirty {
            self.flush_dirty(lpn);
            return true;
        }
        let place = self.waiting.iter().position(|waiting| *waiting == lpn);
        if let Some(place) = place {
            self.waiting.remove(place);
            self.program(lpn);
        }
        place.is_some()
    }

    fn flush_dirty(&mut self, lpn: u32) {
        self.stats.flushes += 1;
        self.drop_logged(lpn);
        self.forget_waiting(lpn);
        self.program(lpn);
        self.cache.find(lpn).expect("a cached page").dirty = false;
    }

    /// Does a block operation to a page. Says whether it was cached.
    pub(super) fn block(&mut self, op: BlockOp, lpn: u32) -> bool {
        let found = self.cache.find(lpn).cloned();
        match op {
            BlockOp::Read => {
                self.stats.block_reads += 1;
                self.stats.block_cache_hits += u64::from(found.is_some());
                let logged = self.log.as_ref().map_or(0, |log| log.count(lpn));
                if found.is_none() && logged < self.page_lines {
                    self.read(lpn);
                }
            }
            BlockOp::Write => {
                self.stats.block_writes += 1;
                self.write_for_store(lpn);
                match &found {
                    Some(page) if page.pinned => {
                        self.cache.find(lpn).expect("a cached page").dirty = false;
                    }
                    _ => _ = self.drop_cached(lpn),
                }
            }
            BlockOp::Trim => {
                self.stats.block_trims += 1;
                self.drop_cached(lpn);
                self.trim(lpn);
            }
            BlockOp::Flush => {
                if found.as_ref().is_some_and(|page| page.dirty) {
                    self.flush_dirty(lpn);
                }
            }
        }
        found.is_some()
    }

    pub(super) fn promote(&mut self, lpn: u32) -> [u64; 2] {
        let logged = self.log.as_ref().map_or(0, |log| log.count(lpn));
        let is_dirty = self.cache.find(lpn).is_some_and(|page| page.dirty) || logged > 0;
        self.drop_cached(lpn);
        self.drop_logged(lpn);
        self.stats.migration.promoted += 1;
        self.stats.migration.promoted_dirty += u64::from(is_dirty);
        [is_dirty.into(), 0]
    }

    pub(super) fn demote(&mut self, lpn: u32) -> ServedBy {
        self.stats.migration.demoted += 1;
        self.drop_logged(lpn);
        if self.demotes_lines {
            let log = self.log.as_mut().expect("a log");
            self.stats.write_log.appends += self.page_lines;
            self.stats.write_log.demoted += self.page_lines;
            (0..self.page_lines).for_each(|line| _ = log.append(lpn, line));
            if let Some(page) = self.cache.find(lpn) {
                page.dirty = false;
            }
            return ServedBy::WriteLog;
        }
        let is_cached = self.cache.has(lpn);
        if !is_cached && self.store_miss == StoreMiss::Around {
            self.stats.migration.programs += 1;
            self.write(lpn);
            return ServedBy::Flash;
        }
        if !is_cached {
            self.stats.migration.fills += 1;
            self.bring(lpn, false, None, None);
        }
        if self.through {
            self.stats.migration.programs += 1;
            self.write(lpn);
        }
        self.cache.find(lpn).expect("a cached page").dirty = !self.through;
        ServedBy::CacheHit
    }
}
