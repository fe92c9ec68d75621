//! A policy alone on a trace of pages: a lookup table and nothing else, to count misses fast.

use super::policy::{Eviction, Space};

/// So many accesses' entries of the lookup table, and of the policy's own, are read at once before
/// the first of them is used, which hides the time that memory takes.
const BATCH: usize = 64;

/// Misses of a policy in an empty cache, every access visible and every fill complete at once.
///
/// # Panics
/// If a page is not below `space.pages`.
pub(super) fn misses<P: Eviction>(space: &Space, pages: &[u32]) -> u64 {
    let mut cache = Bare::<P>::new(space);
    let mut misses = 0;
    for batch in pages.chunks(BATCH) {
        let read = |page: &u32| cache.lookup[*page as usize] ^ cache.policy.warm(*page);
        std::hint::black_box(batch.iter().map(read).fold(0, |all, one| all ^ one));
        misses += batch.iter().filter(|page| cache.access(**page)).count() as u64;
    }
    misses
}

struct Bare<P> {
    policy: P,
    /// Per page: slot + 1, or 0.
    lookup: Vec<u32>,
    /// Per slot: its page, or the next free slot + 1.
    page_of: Vec<u32>,
    /// Per set: [slots never used yet, first free slot + 1].
    free: Vec<[u32; 2]>,
    sets: u32,
    ways: u32,
    sheds: bool,
}

impl<P: Eviction> Bare<P> {
    fn new(space: &Space) -> Bare<P> {
        let policy = P::build(space);
        Bare {
            sheds: policy.sheds(),
            policy,
            lookup: vec![0; space.pages as usize],
            page_of: vec![0; space.sets as usize * space.ways as usize],
            free: vec![[0; 2]; space.sets as usize],
            sets: space.sets,
            ways: space.ways,
        }
    }

    /// Says whether the page was missing.
    #[inline]
    fn access(&mut self, page: u32) -> bool {
        let set = if self.sets == 1 { 0 } else { page % self.sets };
        if let Some(slot) = self.lookup[page as usize].checked_sub(1) {
            self.policy.hit(set, slot);
            if self.sheds {
                self.shed(set, slot);
            }
            return false;
        }
        self.policy.miss(set, page);
        let slot = self.room(set);
        self.page_of[slot as usize] = page;
        self.lookup[page as usize] = slot + 1;
        self.policy.insert(set, slot, page);
        true
    }

    #[inline]
    fn room(&mut self, set: u32) -> u32 {
        let [used, first_free] = &mut self.free[set as usize];
        if let Some(slot) = first_free.checked_sub(1) {
            *first_free = self.page_of[slot as usize];
            return slot;
        }
        if *used < self.ways {
            *used += 1;
            return set * self.ways + *used - 1;
        }
        let slot = self.policy.victim(set, |_| true).expect("a full set");
        self.lookup[self.page_of[slot as usize] as usize] = 0;
        slot
    }

    fn shed(&mut self, set: u32, hit: u32) {
        while let Some(slot) = self.policy.surplus(set, |slot| slot != hit) {
            self.lookup[self.page_of[slot as usize] as usize] = 0;
            let first_free = &mut self.free[set as usize][1];
            self.page_of[slot as usize] = *first_free;
            *first_free = slot + 1;
        }
    }
}
