//! What compaction of the write log asks of the cache, of DRAM and of flash.

use super::back::Back;
use super::data_cache::DataCache;
use super::dram::DeviceDram;
use super::observer::Observer;
use crate::nand::{Origin, ProgramEnd};
use crate::request::Op;
use crate::stats::Stats;
use crate::write_log::{Destage, LogEntry, Programmed};
use sluice_units::{Lpn, PageLine, Ppn, Ps, Slot};

/// What is below the log, to which compaction moves its lines.
pub(super) struct BelowLog<'a, O> {
    pub cache: &'a mut DataCache,
    pub dram: &'a mut DeviceDram,
    pub back: &'a mut Back<O>,
    /// The device's time, which the log may be ahead of.
    pub now: Ps,
}

impl<O: Observer> Destage for BelowLog<'_, O> {
    fn is_cached(&self, at: Ps, lpn: Lpn) -> bool {
        self.cache.has(at, lpn)
    }

    fn read(&mut self, at: Ps, lpn: Lpn, stats: &mut Stats) -> Ps {
        self.back.pass(at.min(self.now), stats);
        self.back.read(at, lpn, Origin::Log, stats).done_at
    }

    fn program(
        &mut self,
        at: Ps,
        lpn: Lpn,
        lines: impl Iterator<Item = (PageLine, LogEntry)> + Clone,
        stats: &mut Stats,
    ) -> Option<Programmed> {
        let found = self.cache.peek(lpn);
        let cached = found.filter(|found| found.ready_at <= at);
        let observer = self.back.observer();
        observer.destages(lpn, cached.is_some(), lines.clone());
        self.back.pass(at.min(self.now), stats);
        let programmed = self.back.write_for_log(at, lpn, stats)?;
        if cached.is_some() {
            self.cache.set_dirty(lpn, false);
        }
        if self.dram.has_banks() || self.cache.counts_lines() {
            self.merge(at, cached.map(|found| found.slot), lines);
        }
        Some(programmed)
    }

    fn program_end(&mut self, at: Ps, ppn: Ppn) -> ProgramEnd {
        self.back.program_end(at, ppn)
    }
}

impl<O> BelowLog<'_, O> {
    /// Counts the lines that a page is programmed with, and reads them, or the cached page.
    fn merge(
        &mut self,
        at: Ps,
        cached: Option<Slot>,
        lines: impl Iterator<Item = (PageLine, LogEntry)>,
    ) {
        let mut count = 0;
        for (_, entry) in lines {
            count += 1;
            if cached.is_none() {
                self.dram.read_logged(at, entry);
            }
        }
        if let Some(slot) = cached {
            self.dram.move_page(at, slot, Op::Read);
        }
        self.cache.count_destage(count);
    }
}
