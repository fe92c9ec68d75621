//! The cached pages: which are there, which leave, and what of them has to be written.

use super::line_use::LineUse;
use crate::cache::{Access, Arrival, Cache, Evicted, External, Fill, Found, Peek, in_flight_max};
use crate::config::{DeviceConfig, WritePolicy};
use crate::request::Trigger;
use sluice_units::{Lpn, PageLine, Ps, Slot};

/// The cache under its write policy, with the counting of lines if somebody wants it.
pub(super) struct DataCache {
    cache: Cache,
    line_use: Option<LineUse>,
    /// Whether a store leaves its page dirty. If not, it is written through.
    marks_dirty: bool,
    ways: u32,
    pins_per_set: u32,
}

/// Where there is room for a page.
pub(super) enum Room {
    /// In a slot that held nothing.
    Free(Slot),
    /// In the slot of a page that has just left the cache.
    Evicted(Evicted),
}

impl DataCache {
    pub fn new(config: &DeviceConfig, seed: u64, policy: Option<Box<dyn External>>) -> DataCache {
        let cache = &config.cache;
        let in_flight = match cache.evicts_at_fill {
            true => in_flight_max(config.mshr.entries),
            false => 0,
        };
        DataCache {
            cache: Cache::new(
                &config.space(seed),
                cache.eviction,
                policy,
                cache.pins_per_set,
                cache.inactive_per_set,
                in_flight,
            ),
            line_use: cache.track_lines.then(|| LineUse::new(config, in_flight)),
            marks_dirty: cache.write == WritePolicy::Back,
            ways: cache.ways,
            pins_per_set: cache.pins_per_set,
        }
    }

    /// Looks the page up for an access, which the policy sees.
    #[inline]
    pub fn access(&mut self, at: Ps, lpn: Lpn, is_store: bool) -> Option<Found> {
        let access = Access {
            at,
            is_store,
            makes_dirty: is_store & self.marks_dirty,
        };
        self.cache.access(lpn, access)
    }

    /// Looks the page up for a store that the write log has, so that the page stays clean.
    pub fn access_logged(&mut self, at: Ps, lpn: Lpn) -> Option<Found> {
        let access = Access {
            at,
            is_store: true,
            makes_dirty: false,
        };
        self.cache.access(lpn, access)
    }

    /// Sets the event of the calls to a policy from outside that follow; the event begins at `at`.
    #[inline]
    pub fn begin(&mut self, at: Ps, trigger: Trigger, is_store: bool) {
        self.cache.begin(at, trigger, is_store);
    }

    /// Sets the thread whose accesses come from now on, for a policy from outside.
    pub fn by(&mut self, thread: Option<u32>) {
        self.cache.by(thread);
    }

    /// Looks the page up without an access.
    pub fn peek(&self, lpn: Lpn) -> Option<Peek> {
        self.cache.peek(lpn)
    }

    /// The page in a place, or any other if none is there; none behind the last place.
    pub fn last_in(&self, slot: Slot) -> Option<Lpn> {
        self.cache.last_in(slot)
    }

    /// Whether the page is in the cache or on its way there.
    pub fn contains(&self, lpn: Lpn) -> bool {
        self.cache.peek(lpn).is_some()
    }

    /// Whether the whole page is in the cache at `at`.
    pub fn has(&self, at: Ps, lpn: Lpn) -> bool {
        let found = self.cache.peek(lpn);
        found.is_some_and(|found| found.ready_at <= at)
    }

    /// Whether a store writes its page through to flash.
    pub fn writes_through(&self) -> bool {
        !self.marks_dirty
    }

    /// Whether lines are counted, or stores written through.
    #[inline]
    pub fn watches_lines(&self) -> bool {
        self.line_use.is_some() || !self.marks_dirty
    }

    /// Counts an access to a line of the page in a slot.
    pub fn count_line(&mut self, slot: Slot, line: PageLine, store: bool) {
        if let Some(line_use) = &mut self.line_use {
            line_use.access(slot, line, store);
        }
    }

    /// Counts the lines that the page in a slot is programmed with.
    pub fn count_program(&mut self, slot: Slot) {
        if let Some(line_use) = &mut self.line_use {
            line_use.program(slot);
        }
    }

    /// Counts the lines of the write log that a page is programmed with.
    pub fn count_destage(&mut self, lines: u32) {
        if let Some(line_use) = &mut self.line_use {
            line_use.program_lines(lines);
        }
    }

    /// Whether lines are counted.
    pub fn counts_lines(&self) -> bool {
        self.line_use.is_some()
    }

    /// What is known of lines, if it is counted.
    pub fn line_use(&self) -> Option<&LineUse> {
        self.line_use.as_ref()
    }

    /// Notes whether the cached page differs from what flash, or the write log, will have of it.
    /// Says whether it is cached.
    pub fn set_dirty(&mut self, lpn: Lpn, is_dirty: bool) -> bool {
        self.cache.set_dirty(lpn, is_dirty)
    }

    /// The page counts as one that an access brought in.
    pub fn forget_prefetch(&mut self, lpn: Lpn) {
        self.cache.forget_prefetch(lpn);
    }

    /// Whether pages get a place when they arrive, and not when they are asked for.
    #[inline]
    pub fn evicts_at_fill(&self) -> bool {
        self.cache.evicts_at_fill()
    }

    /// A slot for a page on its way to which the policy will give a place when it arrives; `None`
    /// if as many are on their way as can be.
    pub fn take_in_flight(&mut self) -> Option<Slot> {
        self.cache.take_in_flight()
    }

    /// When the next page arrives that has no place yet.
    pub fn next_landing(&self) -> Option<Ps> {
        self.cache.next_arrival()
    }

    /// The next page without a place that has arrived by then.
    pub fn arrived(&mut self, by: Ps) -> Option<Arrival> {
        self.cache.arrived(by)
    }

    /// Puts a page that has arrived into a slot from [`DataCache::room`].
    pub fn land(&mut self, page: &Arrival, slot: Slot) {
        self.cache.land(page, slot);
        if let Some(line_use) = &mut self.line_use {
            line_use.land(page.from, slot);
        }
    }

    /// Reports to the policy a page that misses and is about to be brought in.
    pub fn count_miss(&mut self, lpn: Lpn) {
        self.cache.note_miss(lpn);
    }

    /// Room for a page in its set at `at`, without pushing out the page `keep`.
    pub fn room(&mut self, at: Ps, lpn: Lpn, keep: Option<Lpn>) -> Option<Room> {
        match self.cache.take_free(lpn) {
            Some(slot) => Some(Room::Free(slot)),
            None => self.cache.evict(lpn, at, keep).map(Room::Evicted),
        }
    }

    /// Has the policy let another page of the set of `lpn` go, which stays; see `cache.inactive`.
    pub fn deactivate(&mut self, at: Ps, lpn: Lpn, keep: Option<Lpn>) -> Option<Lpn> {
        self.cache.deactivate(lpn, at, keep)
    }

    /// When the first page of the set arrives that can then make room for `lpn`. `None` if none can
    /// ever: flash refuses them all.
    pub fn next_arrival(&self, lpn: Lpn, after: Ps) -> Option<Ps> {
        match self.cache.is_stuck(lpn) {
            true => None,
            false => self.cache.next_ready(lpn, after),
        }
    }

    /// Takes a page back that has just left, since flash has refused it.
    pub fn keep(&mut self, left: &Evicted) {
        self.cache.keep(left);
    }

    /// Pushes a page out because of a hit on `lpn`; see [`Found::surplus`].
    pub fn evict_for_hit(&mut self, lpn: Lpn, at: Ps) -> Option<Evicted> {
        self.cache.evict_for_hit(lpn, at)
    }

    /// Puts a page into a slot from [`DataCache::room`] or [`DataCache::take_in_flight`].
    pub fn fill(&mut self, slot: Slot, lpn: Lpn, ready_at: Ps, fill: Fill) {
        self.cache.insert(slot, lpn, ready_at, fill);
        if let Some(line_use) = &mut self.line_use {
            line_use.fill(slot);
        }
    }

    /// Counts a page that left to make room or by a command, and whether it is programmed.
    pub fn leave(&mut self, left: &Evicted, is_programmed: bool) {
        if let Some(line_use) = &mut self.line_use {
            line_use.evict(left.slot);
            if is_programmed {
                line_use.program(left.slot);
            }
        }
    }

    /// Takes the page out, whatever state it is in.
    pub fn take_out(&mut self, lpn: Lpn) -> Option<Evicted> {
        self.cache.take_out(lpn)
    }

    /// Whether another page of the set of `lpn` can be pinned. If not, how many are, the most that
    /// can be, and how many pages the set has.
    pub fn can_pin(&self, lpn: Lpn) -> Result<(), (u32, u32)> {
        match self.cache.can_pin(lpn) {
            true => Ok(()),
            false => Err((self.pins_per_set, self.ways)),
        }
    }

    /// Keeps a cached page in the cache.
    pub fn pin(&mut self, lpn: Lpn) {
        self.cache.pin(lpn);
    }

    /// Lets a pinned page leave again.
    pub fn unpin(&mut self, lpn: Lpn) {
        self.cache.unpin(lpn);
    }

    /// Lets a page that is there at `at` be the next to leave. Says whether it was not so already.
    pub fn cool(&mut self, lpn: Lpn, at: Ps) -> bool {
        self.cache.cool(lpn, at)
    }

    /// How many pages of a set can be pinned from now on.
    pub fn limit_pins(&mut self, per_set: u32) {
        self.pins_per_set = per_set;
        self.cache.limit_pins(per_set);
    }

    /// Whether the policy is one that the caller brought along.
    pub fn has_external_policy(&self) -> bool {
        self.cache.has_external_policy()
    }

    /// Puts the pages under the policy of these settings.
    pub fn change_policy(&mut self, config: &DeviceConfig, seed: u64) {
        self.cache
            .change_policy(&config.space(seed), config.cache.eviction);
    }

    /// Answers of an external policy that broke its contract.
    pub fn refused(&self) -> u64 {
        self.cache.refused()
    }

    /// Pages in the cache or on their way there.
    pub fn len(&self) -> u64 {
        self.cache.len()
    }

    /// Pages that are pinned.
    pub fn pins(&self) -> u64 {
        self.cache.pins()
    }

    /// Writes the sets down for the message of a failed test.
    pub fn dump(&self, out: &mut String) {
        self.cache.dump(out);
    }
}
