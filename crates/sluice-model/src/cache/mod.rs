//! The DRAM cache: which page is in which slot, since when, and what happens to it.
//!
//! [`Eviction`] is the seam: one file in `policy/` plus one line in `policy/mod.rs` is a policy.

mod policy;
mod slots;

pub use policy::{AnyEviction, EVICTIONS, Eviction, EvictionEntry, PolicyInfo, Space};

use crate::config::Settings;
use slots::Slots;
use sluice_units::Ps;

/// The pages in DRAM. Slots of set `s` are numbers `s * ways .. (s + 1) * ways`.
pub(crate) struct Cache {
    /// Per LPN: slot + 1, or 0 for a page that is not cached.
    lookup: Vec<u32>,
    slots: Slots,
    policy: AnyEviction,
    /// Per set: [slots never used yet, first free slot + 1].
    free: Vec<[u32; 2]>,
    sets: u32,
    ways: u32,
}

/// A page that has just been pushed out.
pub(crate) struct Evicted {
    pub slot: u32,
    pub lpn: u32,
    pub dirty: bool,
    /// Brought in by a prefetch and never accessed.
    pub unused: bool,
}

/// What an access found in the cache.
pub(crate) struct Found {
    /// When the page is, or was, in the cache.
    pub ready_at: Ps,
    /// Whether this is the first access since a prefetch brought the page in.
    pub first_use: bool,
}

impl Cache {
    pub fn new(settings: &Settings, seed: u64) -> Cache {
        let space = Space::new(settings, seed);
        let sets = space.sets as usize;
        Cache {
            lookup: vec![0; settings.pages as usize],
            slots: Slots::new(settings.cache.pages as usize),
            policy: (settings.cache.eviction.build)(&space),
            free: vec![[0; 2]; sets],
            sets: space.sets,
            ways: space.ways,
        }
    }

    fn set_of(&self, lpn: u32) -> u32 {
        if self.sets == 1 { 0 } else { lpn % self.sets }
    }

    pub fn contains(&self, lpn: u32) -> bool {
        self.lookup[lpn as usize] != 0
    }

    /// Looks the page up for an access, and tells the policy of the hit.
    #[inline]
    pub fn hit(&mut self, lpn: u32, write: bool) -> Option<Found> {
        let slot = self.lookup[lpn as usize].checked_sub(1)?;
        let first_use = self.slots.touch(slot, write);
        let set = self.set_of(lpn);
        self.policy.hit(set, slot);
        Some(Found {
            ready_at: self.slots.ready_at(slot),
            first_use,
        })
    }

    /// Marks a cached page as written. Says whether it was cached.
    pub fn mark_dirty(&mut self, lpn: u32) -> bool {
        let slot = self.lookup[lpn as usize].checked_sub(1);
        slot.inspect(|slot| self.slots.mark_dirty(*slot)).is_some()
    }

    /// Tells the policy that a page which is not cached is about to be brought in.
    pub fn announce(&mut self, lpn: u32) {
        let set = self.set_of(lpn);
        self.policy.miss(set, lpn);
    }

    /// A slot of the page's set that holds nothing.
    pub fn take_free(&mut self, lpn: u32) -> Option<u32> {
        let set = self.set_of(lpn);
        let [used, first_free] = &mut self.free[set as usize];
        if let Some(slot) = first_free.checked_sub(1) {
            *first_free = self.slots.next_free(slot);
            return Some(slot);
        }
        if *used == self.ways {
            return None;
        }
        *used += 1;
        Some(set * self.ways + *used - 1)
    }

    /// Pushes a page out of the full set that `lpn` belongs to.
    ///
    /// Pages whose fill ends after `now`, and the page `keep`, stay. `None` if nothing is left.
    pub fn evict(&mut self, lpn: u32, now: Ps, keep: Option<u32>) -> Option<Evicted> {
        let set = self.set_of(lpn);
        let slots = &self.slots;
        let evictable = |slot| slots.ready_at(slot) <= now && Some(slots.lpn(slot)) != keep;
        let slot = self.policy.victim(set, evictable)?;
        debug_assert_eq!(
            slot / self.ways,
            set,
            "a policy chose a slot of another set"
        );
        let evicted = Evicted {
            slot,
            lpn: self.slots.lpn(slot),
            dirty: self.slots.is_dirty(slot),
            unused: self.slots.is_unused(slot),
        };
        self.lookup[evicted.lpn as usize] = 0;
        Some(evicted)
    }

    /// When the first fill of the page's set ends that ends after `now`.
    ///
    /// Asked only when every page of the set is in flight, so the MSHRs bound the scan.
    pub fn next_ready(&self, lpn: u32, now: Ps) -> Option<Ps> {
        let first = self.set_of(lpn) * self.ways;
        let ends = (first..first + self.ways).map(|slot| self.slots.ready_at(slot));
        ends.filter(|end| *end > now).min()
    }

    /// Puts a page into a slot from [`Cache::take_free`] or [`Cache::evict`].
    pub fn insert(&mut self, slot: u32, lpn: u32, ready_at: Ps, fill: Fill) {
        self.slots.fill(slot, lpn, ready_at, fill);
        self.lookup[lpn as usize] = slot + 1;
        let set = self.set_of(lpn);
        self.policy.insert(set, slot, lpn);
    }

    /// Drops a page, whatever state it is in. Says whether an unused prefetch was lost with it.
    pub fn discard(&mut self, lpn: u32) -> bool {
        let Some(slot) = self.lookup[lpn as usize].checked_sub(1) else {
            return false;
        };
        let set = self.set_of(lpn);
        self.policy.remove(set, slot);
        self.lookup[lpn as usize] = 0;
        let unused = self.slots.is_unused(slot);
        let first_free = &mut self.free[set as usize][1];
        self.slots.set_free(slot, *first_free);
        *first_free = slot + 1;
        unused
    }
}

/// Why a page comes into the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    Read,
    Write,
    Prefetch,
}
