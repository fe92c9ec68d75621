//! Page migration (SkyByte section III-C): pages that the host takes into its own memory, and
//! gives back.

use super::Device;
use crate::cache::Fill;
use crate::config::{StoreMiss, WritePolicy};
use crate::request::{Completion, Effects, Hint, Op, ServedBy};
use sluice_units::{LINE_BYTES, Lpn, Ps};

/// What the device knew of a page when the host took it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Whether the cache or the write log held anything that flash does not have. If not, and if
    /// the host has not written it either, the page need not be given back: flash is as new.
    pub dirty: bool,
}

impl Device {
    /// The host has the page's contents in its own memory from now on: they leave the cache and
    /// the write log, and nothing is programmed. The page's place in flash stays, so that garbage
    /// collection goes on moving it; what is there is stale if the page was dirty.
    ///
    /// The host unmaps the page itself: `effects` is not called for it. A pin ends with it; a host
    /// that leaves pinned pages where they are (SkyByte section IV) asks [`Device::is_pinned`].
    /// Bringing the lines over is the host's affair, but where the cache's DRAM has banks, they
    /// are read there as a whole. In a memory expander the page stays as it is, and clean.
    ///
    /// # Panics
    /// If the page is not on the device.
    pub fn take_page(&mut self, now: Ps, lpn: Lpn) -> Taken {
        self.catch_up(now);
        let lpn = self.known(lpn);
        let mut dirty = false;
        if let Some(found) = self.cache.peek(lpn) {
            dirty = found.is_dirty;
            if let Some(dram) = &mut self.dram {
                dram.move_page(self.now, found.slot, Op::Read);
            }
            self.drop_cached(lpn);
        }
        let dropped = self.stats.write_log.dropped;
        self.drop_logged(lpn);
        dirty |= self.stats.write_log.dropped > dropped;
        self.stats.migration.taken += 1;
        self.stats.migration.taken_dirty += u64::from(dirty);
        Taken { dirty }
    }

    /// The host writes the whole page back, from its own memory. Flash is not read for it.
    ///
    /// Its lines are stores like any others, so they go where stores go: to the write log, if
    /// there is one (SkyByte sections III-C and III-B: the page is copied to the device, which
    /// appends every line that is written), where they replace what it had of the page, and a
    /// compaction that finds them together programs them without a read. Otherwise into the
    /// cache, as a dirty page, or as `cache.write` and `cache.store_miss` say.
    ///
    /// The lines come at once, and are done `device.protocol_latency`, the indices' times and
    /// `cache.hit_latency` later; with each line for itself, if the log is full or in a memory
    /// expander. It is no access: it counts in [`Stats::migration`](crate::Stats::migration).
    ///
    /// # Panics
    /// If the page is not on the device.
    pub fn give_page<E: Effects>(&mut self, now: Ps, lpn: Lpn, effects: &mut E) -> Completion {
        self.catch_up(now);
        let page = self.known(lpn);
        self.stats.migration.given += 1;
        let parts = match self.log {
            Some(_) => self.behind_parts(),
            None => self.front_parts(),
        };
        let at = self.now + parts.total();
        let (done_at, served_by) = if self.memory.is_some() {
            (self.give_memory(lpn), ServedBy::CacheHit)
        } else if self.log.is_some() {
            (self.give_log(at, page), ServedBy::WriteLog)
        } else {
            self.give_cache(at, page, effects)
        };
        Completion {
            done_at,
            served_by,
            hint: Hint::None,
            was_prefetched: false,
        }
    }

    /// The host writes the whole page back, straight to flash: nothing of it stays in the cache or
    /// the write log, and nobody waits. A memory expander has no flash: the page is there.
    ///
    /// # Panics
    /// If the page is not on the device.
    pub fn program_page(&mut self, now: Ps, lpn: Lpn) {
        self.catch_up(now);
        let page = self.known(lpn);
        self.stats.migration.given += 1;
        if self.memory.is_some() {
            self.give_memory(lpn);
            return;
        }
        if self.cache.peek(page).is_some() {
            self.drop_cached(page);
        }
        self.stats.migration.programs += 1;
        self.write_behind(self.now, page);
    }

    /// Appends every line of the page. A cached copy is updated beside it, as for any store.
    fn give_log(&mut self, at: Ps, lpn: u32) -> Ps {
        self.run_log(at);
        self.drop_logged(lpn);
        // First, since a compaction that begins between two lines may take the cached copy.
        self.cache.set_dirty(lpn, false);
        self.back.contents.store(lpn);
        if let (Some(dram), Some(found)) = (&mut self.dram, self.cache.peek(lpn)) {
            dram.move_page(at, found.slot, Op::Write);
        }
        let (mut last, mut done_at) = (at, at);
        for line in 0..self.lines_per_page() as u32 {
            self.run_log(last);
            let Some((log, mut rest, stats)) = self.log_and_rest() else {
                break;
            };
            let (appended_at, place) = log.append(last, lpn, line, &mut rest, stats);
            stats.write_log.given += 1;
            self.back.contents.append(place);
            last = appended_at;
            let time = match &mut self.dram {
                Some(dram) => dram.append(at, last, place),
                None => self.config.cache.hit_latency,
            };
            done_at = done_at.max(last + time);
        }
        done_at
    }

    /// Puts the page into the cache, or around it.
    fn give_cache<E: Effects>(&mut self, at: Ps, lpn: u32, effects: &mut E) -> (Ps, ServedBy) {
        let dram = self.config.cache.hit_latency;
        let found = self.cache.peek(lpn);
        if found.is_none() && self.config.cache.store_miss == StoreMiss::Around {
            self.stats.migration.programs += 1;
            self.write_behind(at, lpn);
            return (at + dram, ServedBy::Flash);
        }
        let (slot, done_at) = match found {
            Some(found) => (found.slot, found.ready_at.max(at + dram)),
            None => {
                let (slot, start) = self.room_at(at, lpn, effects);
                let done_at = start + dram;
                self.cache.insert(slot, lpn, done_at, Fill::Read);
                self.stats.fills += 1;
                self.stats.migration.fills += 1;
                self.back.contents.fill(lpn);
                if let Some(lines) = &mut self.lines {
                    lines.fill(slot);
                }
                (slot, done_at)
            }
        };
        self.back.contents.store(lpn);
        if let Some(dram) = &mut self.dram {
            dram.move_page(done_at, slot, Op::Write);
        }
        let lines_per_page = self.lines_per_page();
        if let Some(lines) = &mut self.lines {
            (0..lines_per_page).for_each(|line| lines.access(slot, line, true));
        }
        let is_back = self.config.cache.write == WritePolicy::Back;
        self.cache.set_dirty(lpn, is_back);
        if !is_back {
            self.stats.migration.programs += 1;
            if let Some(lines) = &mut self.lines {
                lines.program(slot);
            }
            self.write_behind(done_at, lpn);
        }
        (done_at, ServedBy::CacheHit)
    }

    pub(super) fn lines_per_page(&self) -> u64 {
        self.config.page_bytes() / LINE_BYTES
    }
}
