//! Where a page can be: in the DRAM cache, in the write log and in flash; and its ways from one to
//! another.

use super::arrivals::Arrivals;
use super::back::Back;
use super::below_log::BelowLog;
use super::data_cache::{DataCache, Room};
use super::dram::DeviceDram;
use super::missed::Missed;
use super::observer::Observer;
use crate::cache::{Ahead, Arrival, Evicted, External, Fill};
use crate::config::{DeviceConfig, HintRule};
use crate::ftl::Placement;
use crate::nand::{Origin, Served};
use crate::request::{Effects, Op, Trigger};
use crate::stats::Stats;
use crate::write_log::{LogEntry, WriteLog};
use sluice_units::{LINE_BYTES, Lpn, PageLine, Ps, Slot};
use std::ops::Range;

/// Cache, write log and flash, with the device's clock and its counters.
pub(super) struct Storage<O> {
    now: Ps,
    pub cache: DataCache,
    /// Prefetched pages that the host maps when they arrive.
    pub arrivals: Option<Arrivals>,
    pub dram: DeviceDram,
    pub back: Back<O>,
    log: Option<WriteLog>,
    pub stats: Stats,
    missed: Missed,
    /// Whether a store waits for its program.
    awaits_programs: bool,
    /// See [`Storage::has_more_to_look_at`].
    looks_further: bool,
    /// Whether a page that leaves is programmed behind the read of the next one.
    evicts_behind: bool,
    /// When the place of the page that the policy let go last is free for another.
    left_at: Ps,
}

/// A line that was appended to the write log.
pub(super) struct Appended {
    /// When there was room for it.
    pub at: Ps,
    /// How long it took from then on.
    pub dram: Ps,
}

impl<O: Observer> Storage<O> {
    pub fn new(config: &DeviceConfig, seed: u64, policy: Option<Box<dyn External>>) -> Storage<O> {
        let lines_per_page = (config.page_bytes() / LINE_BYTES) as u32;
        let log = config.write_log.as_ref();
        let mut back = Back::new(config, seed);
        if config.hint == HintRule::Queue {
            back.watch_queues();
        }
        Storage {
            now: Ps::ZERO,
            cache: DataCache::new(config, seed, policy),
            arrivals: Arrivals::new(&config.prefetch),
            dram: DeviceDram::new(config),
            back,
            log: log.map(|log| WriteLog::new(log, lines_per_page)),
            stats: Stats::default(),
            missed: Missed::none(config.pages),
            awaits_programs: config.cache.awaits_programs,
            looks_further: log.is_some() || config.cache.evicts_at_fill,
            evicts_behind: config.cache.evicts_behind,
            left_at: Ps::ZERO,
        }
    }

    /// Counts an access that goes to flash.
    #[inline]
    pub fn count_miss(&mut self, lpn: Lpn) {
        self.stats.misses += 1;
        self.stats.first_misses += u64::from(self.missed.is_first(lpn));
    }

    /// The device's time.
    #[inline]
    pub fn now(&self) -> Ps {
        self.now
    }

    /// Takes the time of a request. One before an earlier request's counts as that.
    #[inline]
    pub fn take_time(&mut self, now: Ps) {
        self.now = self.now.max(now);
    }

    /// Takes the time of a request, and lets what was due before happen first.
    pub fn advance(&mut self, now: Ps) {
        self.take_time(now);
        self.run_log(self.now);
        self.pass();
    }

    /// Sets the event for a policy from outside: a command of the host's changes the cache now.
    pub fn commanded(&mut self) {
        self.cache.begin(self.now, Trigger::Command, false);
    }

    /// Lets flash work in the background up to now.
    #[inline]
    pub fn pass(&mut self) {
        self.back.pass(self.now, &mut self.stats);
    }

    /// Lets happen what was due by then, as far as the device's time has come: a page has arrived.
    pub fn pass_until(&mut self, at: Ps) {
        self.run_log(at);
        self.back.pass(at.min(self.now), &mut self.stats);
    }

    /// Whether an access looks at more than the cache: at a write log, or whether pages arrived.
    #[inline]
    pub fn has_more_to_look_at(&self) -> bool {
        self.looks_further
    }

    /// Whether there is a write log.
    #[inline]
    pub fn has_log(&self) -> bool {
        self.log.is_some()
    }

    fn log_and_below(&mut self) -> Option<(&mut WriteLog, BelowLog<'_, O>, &mut Stats)> {
        let below = BelowLog {
            cache: &mut self.cache,
            dram: &mut self.dram,
            back: &mut self.back,
            now: self.now,
        };
        Some((self.log.as_mut()?, below, &mut self.stats))
    }

    /// Lets the log's compaction go on up to `at`.
    pub fn run_log(&mut self, at: Ps) {
        if let Some((log, mut below, stats)) = self.log_and_below() {
            log.run(at, &mut below, stats);
        }
    }

    /// Begins to compact what is in the log, although it is not full.
    pub fn close_log(&mut self) {
        let now = self.now;
        if let Some((log, mut below, stats)) = self.log_and_below() {
            log.close(now, &mut below, stats);
        }
    }

    /// Compacts the whole log, and waits for flash to do what it has been asked for.
    pub fn settle(&mut self) {
        let now = self.now;
        let compacted = self.log_and_below().map_or(now, |(log, mut below, stats)| {
            log.settle(now, &mut below, stats)
        });
        self.back.empty_buffer(compacted, &mut self.stats);
        let idle_at = self.back.idle_at();
        self.advance(compacted.max(idle_at));
    }

    /// Appends a line of the host to the log, if there is a log that takes it. It reached the
    /// device at `at`, and its turn comes at `from`.
    pub fn append(&mut self, at: Ps, from: Ps, lpn: Lpn, line: PageLine) -> Option<Appended> {
        let (log, mut below, stats) = self.log_and_below()?;
        let (appended_at, entry) = log.append(from, lpn, line, &mut below, stats)?;
        self.back.observer().appended(entry);
        Some(Appended {
            at: appended_at,
            dram: self.dram.append(at, appended_at, entry),
        })
    }

    /// Whether the log takes no line any more, so that stores go to the cache.
    pub fn is_log_over(&self) -> bool {
        self.log.as_ref().is_some_and(WriteLog::is_over)
    }

    /// The log's newest entry of a line.
    pub fn find_logged(&self, lpn: Lpn, line: PageLine) -> Option<LogEntry> {
        self.log.as_ref()?.find(lpn, line)
    }

    /// Whether the log has every line of a page.
    pub fn is_wholly_logged(&self, lpn: Lpn) -> bool {
        self.log.as_ref().is_some_and(|log| log.has_whole(lpn))
    }

    /// How long a load of a line takes that the log has, from `at` on.
    pub fn load_logged(&mut self, at: Ps, lpn: Lpn, line: PageLine) -> Option<Ps> {
        let entry = self.find_logged(lpn, line)?;
        Some(self.dram.load_logged(at, entry))
    }

    /// Forgets what the log has of a page.
    pub fn drop_logged(&mut self, lpn: Lpn) {
        if let Some(log) = &mut self.log {
            log.drop_page(lpn, &mut self.stats);
        }
    }

    /// Makes room for a page at `at`, by pushing another one out if it must, but not `keep`.
    pub fn room<E: Effects>(
        &mut self,
        at: Ps,
        lpn: Lpn,
        keep: Option<Lpn>,
        effects: &mut E,
    ) -> Option<Room> {
        loop {
            let room = self.cache.room(at, lpn, keep);
            if let Some(Room::Free(_)) = room {
                return room;
            }
            self.stats.policy_refused = self.cache.refused();
            let Some(Room::Evicted(victim)) = &room else {
                return None;
            };
            if self.evicted(at, victim, effects) {
                self.deactivate(at, lpn, keep, effects);
                return room;
            }
        }
    }

    /// Whether a page that is brought in gets its place when it arrives. Not if flash is worn out:
    /// there may be no place then, and an access has to know.
    pub fn evicts_at_fill(&self) -> bool {
        self.cache.evicts_at_fill() && !self.back.is_read_only()
    }

    /// Has the policy let a page go for the one that has left; the host unmaps it.
    fn deactivate<E: Effects>(&mut self, at: Ps, lpn: Lpn, keep: Option<Lpn>, effects: &mut E) {
        let Some(page) = self.cache.deactivate(at, lpn, keep) else {
            return;
        };
        self.stats.deactivated += 1;
        if effects.set_aside(page) {
            self.cache.set_dirty(page, true);
        }
    }

    /// Counts a page that the policy chose to leave. Says whether it does; if not, the policy holds
    /// it no longer.
    pub fn evicted<E: Effects>(&mut self, at: Ps, victim: &Evicted, effects: &mut E) -> bool {
        let Some(was_written) = self.leave(at, victim, effects) else {
            return false;
        };
        self.stats.evictions += 1;
        self.stats.cold_evictions += u64::from(victim.cold);
        self.stats.dirty_evictions += u64::from(was_written);
        true
    }

    /// Takes a page that has left the cache from the host, and programs it if it was written, or if
    /// the host has all programmed. Says whether it was written. `None` if it has not left after
    /// all: it was written, and flash refuses it.
    ///
    /// A host that maps pages has their contents itself, and needs a place for each that it
    /// accesses. So what it wrote leaves all the same.
    pub fn leave<E: Effects>(&mut self, at: Ps, left: &Evicted, effects: &mut E) -> Option<bool> {
        let written = effects.unmap(left.lpn);
        let is_dirty = left.dirty || written;
        let is_programmed = is_dirty || effects.programs_clean();
        self.left_at = Ps::ZERO;
        if is_programmed {
            self.dram.move_page(at, left.slot, Op::Read);
            if !self.write_back(at, left.lpn) && is_dirty && !E::MAPS {
                self.stats.writes_kept += 1;
                self.cache.keep(left);
                return None;
            }
            self.stats.clean_write_backs += u64::from(!is_dirty);
        }
        self.left_unused(left);
        self.cache.leave(left, is_programmed);
        self.back.observer().left(left.lpn);
        Some(is_dirty)
    }

    /// Reads the page into the slot. Says when the host can have it, and what flash took for it.
    pub fn fill(&mut self, slot: Slot, start: Ps, lpn: Lpn, fill: Fill) -> (Ps, Served) {
        let served = self.back.read(start, lpn, Origin::Host, &mut self.stats);
        let ready_at = served.done_at + self.dram.latency();
        self.install(slot, lpn, ready_at, fill);
        self.dram.move_page(ready_at, slot, Op::Write);
        (ready_at, served)
    }

    /// Puts a page into the cache that is there from `ready_at` on.
    pub fn install(&mut self, slot: Slot, lpn: Lpn, ready_at: Ps, fill: Fill) {
        self.cache.fill(slot, lpn, ready_at, fill);
        self.stats.fills += 1;
        let log = self.log.as_ref();
        let logged = |line| log.and_then(|log| log.find(lpn, line));
        self.back.observer().filled(lpn, logged);
    }

    /// Gives a page a slot from [`Storage::room`] that has arrived, and was put into a slot for
    /// pages in flight.
    pub fn land(&mut self, page: &Arrival, slot: Slot) {
        self.cache.land(page, slot);
        self.dram.move_page(page.at, slot, Op::Write);
    }

    /// Writes a page that leaves the cache to flash. Says whether flash takes it.
    fn write_back(&mut self, at: Ps, lpn: Lpn) -> bool {
        if self.evicts_behind {
            return self.write(at, lpn);
        }
        let Some(free_at) = self.back.write_awaited(at, lpn, &mut self.stats) else {
            return false;
        };
        self.drop_logged(lpn);
        self.left_at = free_at;
        true
    }

    /// When the place of the page that left last is free for another, `at` at the earliest.
    pub fn place_free_at(&self, at: Ps) -> Ps {
        self.left_at.max(at)
    }

    /// Writes the page to flash, whole and as new as it gets: what the log has of it is void,
    /// unless flash refuses the page. Nobody waits for the program. Says whether flash takes it.
    pub fn write(&mut self, at: Ps, lpn: Lpn) -> bool {
        let stats = &mut self.stats;
        let is_taken = self.back.write(at, lpn, Placement::default(), stats);
        if is_taken {
            self.drop_logged(lpn);
        }
        is_taken
    }

    /// Writes the page to where the host wants it. Says when it is in a place that the device has
    /// for it, or programmed if stores wait for that. `None` if flash refuses it: the log keeps it.
    pub fn write_to(&mut self, at: Ps, lpn: Lpn, placement: Placement) -> Option<Ps> {
        let stats = &mut self.stats;
        let done_at = match self.awaits_programs {
            true => self.back.write_through(at, lpn, placement, stats)?.done_at,
            false => self.back.write_held(at, lpn, placement, stats)? + self.dram.latency(),
        };
        self.drop_logged(lpn);
        Some(done_at)
    }

    /// Programs the cached page, and says when that is done. `None` if flash refuses it: the page
    /// is dirty as before.
    pub fn flush(&mut self, at: Ps, slot: Slot, lpn: Lpn) -> Option<Ps> {
        self.stats.flushes += 1;
        self.cache.set_dirty(lpn, true);
        let done_at = self.back.flush(at, lpn, &mut self.stats)?;
        self.drop_logged(lpn);
        self.cache.set_dirty(lpn, false);
        self.cache.count_program(slot);
        Some(done_at)
    }

    /// Programs the page if it waits in the write buffer. Says whether it did; `None` if flash
    /// refuses it.
    pub fn flush_buffered(&mut self, at: Ps, lpn: Lpn) -> Option<bool> {
        self.back.flush_buffered(at, lpn, &mut self.stats)
    }

    /// Programs what waits in the write buffer. Says when all is programmed that was written;
    /// `None` if flash refuses some of it.
    pub fn flush_buffer(&mut self, at: Ps) -> Option<Ps> {
        let done_at = self.back.flush_buffer(at, &mut self.stats)?;
        Some(done_at.max(self.back.programmed_at(at)))
    }

    /// Writes the page for a store, which may wait for the program. Says what it waits for; `None`
    /// if flash refuses the page.
    pub fn write_for_store(&mut self, at: Ps, lpn: Lpn) -> Option<Served> {
        if self.awaits_programs {
            let (back, stats) = (&mut self.back, &mut self.stats);
            return back.write_through(at, lpn, Placement::default(), stats);
        }
        self.write(at, lpn).then_some(Served::at_once(at))
    }

    /// Writes the cached page through, since a store changed it.
    pub fn write_through(&mut self, at: Ps, slot: Slot, lpn: Lpn) -> Option<Served> {
        self.stats.write_throughs += 1;
        self.pass();
        let served = self.write_for_store(at, lpn);
        self.written_through(slot, lpn, served.is_some());
        served
    }

    /// The whole cached page went to flash, with what the host may have reported late, or worn
    /// flash refused it.
    pub fn written_through(&mut self, slot: Slot, lpn: Lpn, is_taken: bool) {
        if is_taken {
            self.cache.count_program(slot);
        }
        self.cache.set_dirty(lpn, !is_taken);
    }

    /// Lets a page be the next to leave. Says whether it is there, and was not so already.
    pub fn cool(&mut self, lpn: Lpn) -> bool {
        let is_new = self.cache.cool(lpn, self.now);
        self.stats.cooled += u64::from(is_new);
        is_new
    }

    /// Whether the page has contents in flash, or on their way there.
    pub fn is_in_flash(&self, lpn: Lpn) -> bool {
        self.back.has(lpn)
    }

    /// The host no longer wants the page's contents.
    pub fn discard(&mut self, lpn: Lpn) {
        self.stats.trims += 1;
        self.drop_cached(lpn);
        self.trim(lpn);
    }

    /// The host found out late that the page had been written.
    pub fn written_late(&mut self, lpn: Lpn) {
        if self.cache.set_dirty(lpn, true) {
            // Or a compaction takes the cached page, and leaves an older line in another buffer.
            self.drop_logged(lpn);
        } else {
            self.stats.late_write_backs += 1;
            self.write(self.now, lpn);
        }
    }

    /// The page has no contents any more, but for what the cache has.
    pub fn trim(&mut self, lpn: Lpn) {
        self.drop_logged(lpn);
        self.back.trim(self.now, lpn, &mut self.stats);
    }

    /// Forgets a cached page. Says whether it was cached.
    pub fn drop_cached(&mut self, lpn: Lpn) -> bool {
        let Some(dropped) = self.cache.take_out(lpn) else {
            return false;
        };
        self.back.observer().left(lpn);
        self.stats.drops += 1;
        self.stats.pins_dropped += u64::from(dropped.pinned);
        self.left_unused(&dropped);
        true
    }

    /// Counts a page that was prefetched for nothing: it says nothing of those it stood for.
    #[inline]
    fn left_unused(&mut self, left: &Evicted) {
        if left.ahead.is_some_and(Ahead::is_counted) {
            self.settle_left(left.lpn);
        }
    }

    #[cold]
    fn settle_left(&mut self, lpn: Lpn) {
        self.stats.prefetch_unused += 1;
        self.settle_sample(lpn);
    }

    /// The page was accessed or has left, or its accesses are not seen. If it is a sampled one,
    /// these are the places of those that it stands for, once.
    pub fn settle_sample(&mut self, lpn: Lpn) -> Range<usize> {
        self.arrivals.as_mut().map_or(0..0, |all| all.settle(lpn))
    }

    /// The state in words, for the message of a failed test: counters, then the cache's sets.
    pub fn dump(&self) -> String {
        let mut out = format!("at {}, {:?}\n", self.now, self.stats);
        self.cache.dump(&mut out);
        out
    }
}
