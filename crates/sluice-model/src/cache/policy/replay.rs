//! A policy alone on a trace of pages: a lookup table and nothing else, to count misses fast.

use super::{Eviction, Set, SetIndex, Slot, Space};
use sluice_units::{Links, Lpn, Table};

/// How many accesses' entries of the lookup table, and of the policy's own tables, are read before
/// the first of them is used: that hides the time that memory takes.
const BATCH: usize = 64;

/// Misses of a policy in an empty cache, every access visible and every fill complete at once. Who
/// calls it hands the trace over in parts, and may end it between two.
///
/// # Panics
/// If a page is not below `space.pages`.
pub(super) fn misses<P: Eviction>(space: &Space, parts: &mut dyn Iterator<Item = &[Lpn]>) -> u64 {
    let mut cache = Bare::<P>::new(space);
    let mut misses = 0;
    for batch in parts.flat_map(|part| part.chunks(BATCH)) {
        let read = |page: &Lpn| cache.warm(*page) ^ cache.policy.warm(*page);
        std::hint::black_box(batch.iter().map(read).fold(0, |all, one| all ^ one));
        misses += batch.iter().filter(|page| cache.access(**page)).count() as u64;
    }
    misses
}

struct Bare<P> {
    policy: P,
    /// The slot of each cached page.
    lookup: Links<Lpn, Slot>,
    /// Per slot: the number of its page, or the next free slot + 1.
    page_of: Table<Slot, u32>,
    /// Per set: [slots never used yet, first free slot + 1].
    free: Table<Set, [u32; 2]>,
    sets: u32,
    index: SetIndex,
    ways: u32,
}

impl<P: Eviction> Bare<P> {
    fn new(space: &Space) -> Bare<P> {
        Bare {
            policy: P::build(space),
            lookup: Links::none(space.pages),
            page_of: Table::filled(space.slots(), 0),
            free: Table::filled(space.sets, [0; 2]),
            sets: space.sets,
            index: space.index,
            ways: space.ways,
        }
    }

    /// Reads what a look-up of the page reads.
    #[inline]
    fn warm(&self, page: Lpn) -> u32 {
        self.lookup.get(page).map_or(0, |slot| slot.0)
    }

    /// Says whether the page was missing.
    #[inline]
    fn access(&mut self, page: Lpn) -> bool {
        let set = Set(self.index.set_of(page, self.sets));
        if let Some(slot) = self.lookup.get(page) {
            for _ in 0..self.policy.hit(set, slot) {
                self.evict_for_hit(set, slot);
            }
            return false;
        }
        self.policy.miss(set, page);
        let slot = self.room(set);
        self.page_of[slot] = page.0;
        self.lookup.set(page, Some(slot));
        self.policy.insert(set, slot, page);
        true
    }

    #[inline]
    fn room(&mut self, set: Set) -> Slot {
        let [used, first_free] = &mut self.free[set];
        if let Some(slot) = first_free.checked_sub(1).map(Slot) {
            *first_free = self.page_of[slot];
            return slot;
        }
        if *used < self.ways {
            *used += 1;
            return Slot(set.0 * self.ways + *used - 1);
        }
        let slot = self.policy.victim(set, |_| true).expect("a full set");
        self.lookup.set(Lpn(self.page_of[slot]), None);
        slot
    }

    fn evict_for_hit(&mut self, set: Set, hit: Slot) {
        if let Some(slot) = self.policy.victim(set, |slot| slot != hit) {
            self.lookup.set(Lpn(self.page_of[slot]), None);
            let first_free = &mut self.free[set][1];
            self.page_of[slot] = *first_free;
            *first_free = slot.0 + 1;
        }
    }
}
