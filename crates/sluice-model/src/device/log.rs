//! The write log's part in an access.

use super::dram::CacheDram;
use super::lines::Lines;
use super::{Back, Device};
use crate::cache::Cache;
use crate::nand::ProgramEnd;
use crate::prefetch::Outcome;
use crate::request::{Completion, Effects, Op, Request, ServedBy};
use crate::stats::Stats;
use crate::write_log::{Behind, Programmed, WriteLog};
use sluice_units::{LINE_BYTES, Ps};

/// What the log sees of the rest of the device.
pub(super) struct Rest<'a> {
    cache: &'a mut Cache,
    lines: Option<&'a mut Lines>,
    dram: Option<&'a mut CacheDram>,
    back: &'a mut Back,
    /// The device's time, which the log may be ahead of.
    now: Ps,
}

impl Behind for Rest<'_> {
    fn is_cached(&self, at: Ps, lpn: u32) -> bool {
        let found = self.cache.peek(lpn);
        found.is_some_and(|found| found.ready_at <= at)
    }

    fn read(&mut self, at: Ps, lpn: u32, stats: &mut Stats) -> Ps {
        self.back.pass(at.min(self.now), stats);
        self.back.read_for_log(at, lpn, stats)
    }

    fn program(
        &mut self,
        at: Ps,
        lpn: u32,
        lines: impl Iterator<Item = (u32, u32)>,
        stats: &mut Stats,
    ) -> Programmed {
        let is_cached = self.is_cached(at, lpn);
        if is_cached {
            self.cache.set_dirty(lpn, false);
        }
        let lines = self.back.contents.lift_logged(lpn, is_cached, lines);
        if self.dram.is_some() || self.lines.is_some() {
            self.merge(at, lpn, is_cached, lines);
        }
        self.back.pass(at.min(self.now), stats);
        self.back.write_for_log(at, lpn, stats)
    }

    fn program_end(&mut self, at: Ps, ppn: u32) -> ProgramEnd {
        self.back.program_end(at, ppn)
    }
}

impl Rest<'_> {
    /// Counts the lines that a page is programmed with, and reads them, or the cached page.
    fn merge(
        &mut self,
        at: Ps,
        lpn: u32,
        is_cached: bool,
        lines: impl Iterator<Item = (u32, u32)>,
    ) {
        let mut count = 0;
        for (_, place) in lines {
            count += 1;
            if let Some(dram) = self.dram.as_mut().filter(|_| !is_cached) {
                dram.read_logged(at, place);
            }
        }
        if let (Some(dram), Some(found), true) = (&mut self.dram, self.cache.peek(lpn), is_cached) {
            dram.move_page(at, found.slot, Op::Read);
        }
        if let Some(tracked) = &mut self.lines {
            tracked.program_lines(count);
        }
    }
}

impl Device {
    /// Serves an access that the log serves: every store, and a load whose line it has and whose
    /// page is not in the cache. The log and the cache are looked up side by side.
    pub(super) fn access_log<E: Effects>(
        &mut self,
        lpn: u32,
        req: Request,
        effects: &mut E,
    ) -> Option<Completion> {
        let mut parts = self.behind_parts();
        let at = self.now + parts.protocol + parts.indexing;
        self.run_log(at);
        let line = (req.addr & (self.config.page_bytes() - 1)) / LINE_BYTES;
        parts.dram = self.config.cache.hit_latency;
        let mut first_use = false;
        if req.op == Op::Write {
            let (log, mut rest, stats) = self.log_and_rest()?;
            let (appended_at, place) = log.append(at, lpn, line as u32, &mut rest, stats);
            self.back.contents.append(place);
            parts.stall = appended_at - at;
            if self.config.write_log.as_ref()?.indexes_behind {
                parts.indexing = Ps::ZERO;
            }
            if let Some(dram) = &mut self.dram {
                parts.dram = dram.append(at, appended_at, place);
            }
            first_use = self.update_cached(at, lpn, req, effects);
        } else {
            // A cached page is answered from the cache: every store went there too.
            let found_at = self.now + self.front_parts().total();
            let found = self.cache.peek(lpn);
            let is_cached = found.is_some_and(|found| found.ready_at <= found_at);
            if is_cached {
                return None;
            }
            let place = self.log.as_ref()?.find(lpn, line as u32)?;
            self.stats.write_log.hits += 1;
            if let Some(dram) = &mut self.dram {
                parts.dram = dram.load_logged(at, place);
            }
        }
        let done_at = self.now + parts.total();
        self.count_latency(parts, done_at);
        Some(self.completion(done_at, ServedBy::WriteLog, first_use))
    }

    /// Lets a store change its page in the cache, which stays clean: the log has the line. Says
    /// whether it is the first use of a prefetched page.
    ///
    /// The store is done when the log has it: the cache's copy is written behind it.
    fn update_cached<E: Effects>(
        &mut self,
        at: Ps,
        lpn: u32,
        req: Request,
        effects: &mut E,
    ) -> bool {
        let Some(found) = self.cache.hit(lpn, false) else {
            return false;
        };
        if let Some(lines) = &mut self.lines {
            let line = (req.addr & (self.config.page_bytes() - 1)) / LINE_BYTES;
            lines.access(found.slot, line, false);
        }
        // A page on its way takes the line from its fill.
        if let Some(dram) = self.dram.as_mut().filter(|_| found.ready_at <= at) {
            dram.access(at, found.slot, req.addr, req.op);
        }
        self.back.contents.store(lpn);
        if self.cache.sheds {
            self.shed(at, lpn, effects);
        }
        if found.first_use {
            let outcome = match found.ready_at > at {
                true => Outcome::LateUse,
                false => Outcome::FirstUse,
            };
            self.prefetch_after(at, lpn, outcome, effects);
        }
        found.first_use
    }

    /// The place of the line of a page that tests use.
    #[cfg(test)]
    pub(super) fn logged_place(&self, lpn: u32) -> Option<u32> {
        let lines = (self.config.page_bytes() / LINE_BYTES) as u32;
        self.log.as_ref()?.find(lpn, lpn % lines)
    }

    /// Lets the log's background work go on up to `now`.
    pub(super) fn run_log(&mut self, now: Ps) {
        if let Some((log, mut rest, stats)) = self.log_and_rest() {
            log.run(now, &mut rest, stats);
        }
    }

    /// Writes the page behind the cache, whole and as new as it gets: what the log has of it is
    /// void. Nobody waits for the program.
    pub(super) fn write_behind(&mut self, at: Ps, lpn: u32) {
        self.drop_logged(lpn);
        self.back.write(at, lpn, &mut self.stats);
    }

    /// The page has no contents any more.
    pub(super) fn trim_behind(&mut self, lpn: u32) {
        self.drop_logged(lpn);
        self.back.trim(self.now, lpn, &mut self.stats);
    }

    /// Forgets what the log has of a page.
    pub(super) fn drop_logged(&mut self, lpn: u32) {
        if let Some(log) = &mut self.log {
            log.drop_page(lpn, &mut self.stats);
        }
    }

    pub(super) fn log_and_rest(&mut self) -> Option<(&mut WriteLog, Rest<'_>, &mut Stats)> {
        let rest = Rest {
            cache: &mut self.cache,
            lines: self.lines.as_mut(),
            dram: self.dram.as_mut(),
            back: &mut self.back,
            now: self.now,
        };
        Some((self.log.as_mut()?, rest, &mut self.stats))
    }
}
