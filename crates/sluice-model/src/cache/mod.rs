//! The DRAM cache: which page is in which slot, since when, and what happens to it.
//!
//! [`Eviction`] is the seam: one file in `policy/` plus one line in `policy/mod.rs` is a policy.

mod policy;
mod replay;
mod slots;

pub(crate) use policy::EVICTION_PARAMS;
pub use policy::{
    AnyEviction, Brought, EVICTIONS, Eviction, EvictionEntry, External, PolicyInfo, Space, Watched,
};

use crate::config::DeviceConfig;
use crate::index::PageIndex;
use slots::Slots;
use sluice_units::{Lpn, Ps, Slot};

/// The pages in DRAM. Slots of set `s` are numbers `s * ways .. (s + 1) * ways`.
pub(crate) struct Cache {
    /// The slot of each cached page.
    lookup: PageIndex<Slot>,
    slots: Slots,
    policy: AnyEviction,
    /// What policies from before the one in force were refused.
    refused_before: u64,
    /// Whether the policy may want a page gone after a hit.
    pub sheds: bool,
    /// Per set: [slots never used yet, first free slot + 1].
    free: Vec<[u32; 2]>,
    /// Per set: pages that the policy does not hold, because they are pinned.
    pinned: Vec<u32>,
    pins_per_set: u32,
    sets: u32,
    ways: u32,
    /// Pages in all sets together, and those of them that are pinned.
    held: u32,
    pins: u32,
}

/// A page that has just left.
pub(crate) struct Evicted {
    pub slot: Slot,
    pub lpn: Lpn,
    pub dirty: bool,
    /// Brought in by a prefetch and never accessed.
    pub unused: bool,
    pub pinned: bool,
}

/// What an access found in the cache.
pub(crate) struct Found {
    pub slot: Slot,
    /// When the page is, or was, in the cache.
    pub ready_at: Ps,
    /// Whether this is the first access since a prefetch brought the page in.
    pub first_use: bool,
}

impl Cache {
    /// An empty cache; `own` decides instead of the policy of the configuration.
    pub fn new(config: &DeviceConfig, seed: u64, own: Option<Box<dyn External>>) -> Cache {
        let space = Space::new(config, seed);
        let sets = space.sets as usize;
        let policy = match own {
            Some(own) => AnyEviction::External(Watched::new(own, space.sets, space.ways)),
            None => (config.cache.eviction.build)(&space),
        };
        Cache {
            lookup: PageIndex::new(config.pages, config.cache.pages),
            slots: Slots::new(config.cache.pages as usize),
            sheds: policy.sheds(),
            policy,
            refused_before: 0,
            free: vec![[0; 2]; sets],
            pinned: vec![0; sets],
            pins_per_set: config.cache.pins_per_set,
            sets: space.sets,
            ways: space.ways,
            held: 0,
            pins: 0,
        }
    }

    /// Pages in the cache or on their way there.
    pub fn len(&self) -> u64 {
        u64::from(self.held)
    }

    /// Pages that are pinned.
    pub fn pins(&self) -> u64 {
        u64::from(self.pins)
    }

    fn set_of(&self, lpn: Lpn) -> u32 {
        if self.sets == 1 { 0 } else { lpn.0 % self.sets }
    }

    pub fn contains(&self, lpn: Lpn) -> bool {
        self.lookup.get(lpn).is_some()
    }

    fn slot_of(&self, lpn: Lpn) -> Option<Slot> {
        self.lookup.get(lpn)
    }

    /// Looks the page up for an access, and tells the policy of the hit.
    #[inline]
    pub fn hit(&mut self, lpn: Lpn, write: bool) -> Option<Found> {
        let slot = self.slot_of(lpn)?;
        let (first_use, is_pinned) = self.slots.touch(slot, write);
        if !is_pinned {
            let set = self.set_of(lpn);
            self.policy.hit(set, slot.0);
        }
        Some(Found {
            slot,
            ready_at: self.slots.ready_at(slot),
            first_use,
        })
    }

    /// Looks the page up without an access.
    pub fn peek(&self, lpn: Lpn) -> Option<Peek> {
        let slot = self.slot_of(lpn)?;
        Some(Peek {
            slot,
            ready_at: self.slots.ready_at(slot),
            is_dirty: self.slots.is_dirty(slot),
            is_pinned: self.slots.is_pinned(slot),
        })
    }

    /// Marks a cached page as written, or as programmed. Says whether it was cached.
    pub fn set_dirty(&mut self, lpn: Lpn, dirty: bool) -> bool {
        let slot = self.slot_of(lpn);
        slot.inspect(|slot| self.slots.set_dirty(*slot, dirty))
            .is_some()
    }

    /// A prefetched page counts as any other from now on.
    pub fn forget_prefetch(&mut self, lpn: Lpn) {
        if let Some(slot) = self.slot_of(lpn) {
            self.slots.touch(slot, false);
        }
    }

    /// Puts the pages under another policy, or the same with other parameters.
    ///
    /// They stay where they are. The new policy gets those of each set as newcomers, in the order
    /// in which the old one would have let them go: what was to leave first came in first.
    pub fn change_policy(&mut self, config: &DeviceConfig, seed: u64) {
        let space = Space::new(config, seed);
        let mut policy = (config.cache.eviction.build)(&space);
        for set in 0..self.sets {
            for slot in self.policy.dump(set).into_iter().rev() {
                let lpn = self.slots.lpn(Slot(slot)).0;
                policy.miss(set, lpn);
                policy.insert(set, slot, lpn);
            }
        }
        self.refused_before += self.policy.refused();
        self.sheds = policy.sheds();
        self.policy = policy;
    }

    /// Whether the policy is one that the caller brought along.
    pub fn has_external_policy(&self) -> bool {
        matches!(self.policy, AnyEviction::External(_))
    }

    /// How many pages of a set can be pinned from now on. Those that are stay so.
    pub fn limit_pins(&mut self, per_set: u32) {
        self.pins_per_set = per_set;
    }

    /// Whether another page of the set of `lpn` can be pinned.
    pub fn can_pin(&self, lpn: Lpn) -> bool {
        self.pinned[self.set_of(lpn) as usize] < self.pins_per_set
    }

    /// Takes a cached page that is not pinned out of the policy's hands.
    pub fn pin(&mut self, lpn: Lpn) {
        let (set, slot) = (self.set_of(lpn), self.slot_of(lpn).expect("a cached page"));
        self.policy.remove(set, slot.0);
        self.slots.set_pinned(slot, true);
        self.pinned[set as usize] += 1;
        self.pins += 1;
    }

    /// Gives a pinned page back to the policy, as a newcomer.
    pub fn unpin(&mut self, lpn: Lpn) {
        let (set, slot) = (self.set_of(lpn), self.slot_of(lpn).expect("a cached page"));
        self.forget_pin(set, slot);
        self.policy.miss(set, lpn.0);
        self.policy.insert(set, slot.0, lpn.0);
    }

    fn forget_pin(&mut self, set: u32, slot: Slot) {
        self.slots.set_pinned(slot, false);
        self.pinned[set as usize] -= 1;
        self.pins -= 1;
    }

    /// Tells the policy that a page which is not cached is about to be brought in.
    pub fn announce(&mut self, lpn: Lpn) {
        let set = self.set_of(lpn);
        self.policy.miss(set, lpn.0);
    }

    /// A slot of the page's set that holds nothing.
    pub fn take_free(&mut self, lpn: Lpn) -> Option<Slot> {
        let set = self.set_of(lpn);
        let [used, first_free] = &mut self.free[set as usize];
        if let Some(slot) = first_free.checked_sub(1).map(Slot) {
            *first_free = self.slots.next_free(slot);
            return Some(slot);
        }
        if *used == self.ways {
            return None;
        }
        *used += 1;
        Some(Slot(set * self.ways + *used - 1))
    }

    /// Pushes a page out of the full set that `lpn` belongs to.
    ///
    /// Pages whose fill ends after `now`, and the page `keep`, stay. `None` if nothing is left.
    pub fn evict(&mut self, lpn: Lpn, now: Ps, keep: Option<Lpn>) -> Option<Evicted> {
        let set = self.set_of(lpn);
        let slots = &self.slots;
        let stays = |slot| slots.ready_at(slot) > now || Some(slots.lpn(slot)) == keep;
        let slot = self.policy.victim(set, |slot| !stays(Slot(slot)))?;
        Some(self.push_out(set, Slot(slot)))
    }

    /// Answers of an external policy that broke its contract.
    pub fn refused(&self) -> u64 {
        self.refused_before + self.policy.refused()
    }

    /// Pushes out the page that the policy wants gone after a hit on `lpn`, if it wants one gone.
    pub fn shed(&mut self, lpn: Lpn, now: Ps) -> Option<Evicted> {
        let set = self.set_of(lpn);
        let slots = &self.slots;
        let stays = |slot| slots.ready_at(slot) > now || slots.lpn(slot) == lpn;
        let slot = Slot(self.policy.surplus(set, |slot| !stays(Slot(slot)))?);
        let evicted = self.push_out(set, slot);
        self.give_back(set, slot);
        Some(evicted)
    }

    fn push_out(&mut self, set: u32, slot: Slot) -> Evicted {
        debug_assert_eq!(
            slot.0 / self.ways,
            set,
            "a policy chose a slot of another set"
        );
        debug_assert!(!self.slots.is_pinned(slot), "a policy chose a pinned page");
        self.leave(slot)
    }

    /// Takes the page of a slot out of the lookup.
    fn leave(&mut self, slot: Slot) -> Evicted {
        let evicted = Evicted {
            slot,
            lpn: self.slots.lpn(slot),
            dirty: self.slots.is_dirty(slot),
            unused: self.slots.is_unused(slot),
            pinned: self.slots.is_pinned(slot),
        };
        self.lookup.clear(evicted.lpn);
        self.held -= 1;
        evicted
    }

    fn give_back(&mut self, set: u32, slot: Slot) {
        let first_free = &mut self.free[set as usize][1];
        self.slots.set_free(slot, *first_free);
        *first_free = slot.0 + 1;
    }

    /// When the first fill of the page's set ends that ends after `now`.
    ///
    /// Asked only when every page of the set that is not pinned is in flight. The MSHRs bound
    /// those (but for pages that the host gives back, in flight for the time of a hit), and
    /// `cache.pin_max` the others, so the scan is bounded.
    pub fn next_ready(&self, lpn: Lpn, now: Ps) -> Option<Ps> {
        let first = self.set_of(lpn) * self.ways;
        let mine = (first..first + self.ways)
            .map(Slot)
            .filter(|slot| !self.slots.is_pinned(*slot));
        let ends = mine.map(|slot| self.slots.ready_at(slot));
        ends.filter(|end| *end > now).min()
    }

    /// Puts a page into a slot from [`Cache::take_free`] or [`Cache::evict`].
    pub fn insert(&mut self, slot: Slot, lpn: Lpn, ready_at: Ps, fill: Fill) {
        self.slots.fill(slot, lpn, ready_at, fill);
        self.lookup.set(lpn, slot);
        self.held += 1;
        let set = self.set_of(lpn);
        self.policy.insert(set, slot.0, lpn.0);
    }

    /// Takes a page out, whatever state it is in, if it is cached.
    pub fn take_out(&mut self, lpn: Lpn) -> Option<Evicted> {
        let (set, slot) = (self.set_of(lpn), self.slot_of(lpn)?);
        let left = self.leave(slot);
        if left.pinned {
            self.forget_pin(set, slot);
        } else {
            self.policy.remove(set, slot.0);
        }
        self.give_back(set, slot);
        Some(left)
    }

    /// The state, for the message of a failed test: per set with pages, the pages that the policy
    /// holds in its own order, the next victim last.
    pub fn dump(&self, out: &mut String) {
        for set in 0..self.sets {
            let held = self.policy.dump(set);
            let pins = self.pinned[set as usize];
            if held.is_empty() && pins == 0 {
                continue;
            }
            let pages = held.iter().copied().map(Slot).map(|slot| {
                let mark = if self.slots.is_dirty(slot) { "*" } else { "" };
                let (lpn, ready_at) = (self.slots.lpn(slot), self.slots.ready_at(slot));
                format!("{lpn}{mark}@{ready_at}")
            });
            let pages: Vec<String> = pages.collect();
            *out += &format!("set {set}: {pins} pinned; {}\n", pages.join(" "));
        }
    }
}

/// What is known of a cached page.
pub(crate) struct Peek {
    pub slot: Slot,
    pub ready_at: Ps,
    pub is_dirty: bool,
    pub is_pinned: bool,
}

/// Why a page comes into the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    Read,
    Write,
    Prefetch,
}
