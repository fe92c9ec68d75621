//! The DRAM cache: which page is in which slot, since when, and what happens to it.
//!
//! [`Eviction`] is the seam: one file in `policy/` plus one line in `policy/mod.rs` is a policy.

mod cold;
mod in_flight;
mod inactive;
mod kept;
mod pins;
mod policy;
mod set_index;
mod slots;

pub(crate) use policy::EVICTION_PARAMS;
pub use policy::{
    AnyEviction, Brought, Candidates, EVICTIONS, Event, Eviction, EvictionEntry, External,
    PolicyInfo, Space, Watched,
};

use crate::index::PageIndex;
use crate::request::Trigger;
use cold::Cold;
use in_flight::InFlight;
pub(crate) use in_flight::{Arrival, in_flight_max};
use inactive::Inactive;
use kept::Kept;
use policy::Told;
pub use set_index::SetIndex;
use slots::Slots;
use sluice_units::{IndexType, Lpn, Ps, Table, index_type};

pub use sluice_units::Slot;

index_type! {
    /// Which pages share slots: set `s` has the slots `s * ways .. (s + 1) * ways`.
    pub struct Set;
}

/// The pages in DRAM.
pub(crate) struct Cache {
    /// The slot of each cached page.
    lookup: PageIndex<Slot>,
    slots: Slots,
    policy: AnyEviction,
    /// Pages that leave before those that the policy would name. It holds them all the same.
    cold: Cold,
    /// Pages that the policy has let go and no longer holds.
    inactive: Inactive,
    /// Pages that have no slot of their set yet.
    in_flight: InFlight,
    /// Wrong answers of external policies before the one in force.
    refused_before: u64,
    /// Per set: [slots never used yet, first free slot + 1].
    free: Table<Set, [u32; 2]>,
    /// Per set: pages that the policy does not hold, because they are pinned.
    pinned: Table<Set, u32>,
    kept: Kept,
    pins_per_set: u32,
    sets: u32,
    index: SetIndex,
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
    /// What had it brought in, if it was never accessed.
    pub ahead: Option<Ahead>,
    pub pinned: bool,
    /// It left because the host had said that it would not need it.
    pub cold: bool,
}

/// An access to a page.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    /// When it reaches the cache.
    pub at: Ps,
    pub is_store: bool,
    /// Whether the page differs from flash from now on.
    pub makes_dirty: bool,
}

/// What an access found in the cache.
pub(crate) struct Found {
    pub slot: Slot,
    /// How many pages must leave because of this access; see [`Cache::evict_for_hit`].
    pub surplus: u32,
    /// When the page is, or was, in the cache.
    pub ready_at: Ps,
    /// What had the page brought in, if this is the first access since.
    pub first_use: Option<Ahead>,
    /// Whether the policy had let the page go, and has it back.
    pub reactivated: bool,
}

/// What an access to a page is that is pinned, cold, inactive, in flight or kept.
#[derive(PartialEq, Eq)]
enum Special {
    /// As to any other.
    Plain,
    /// Nothing of the policy's business: the page is pinned or kept, or has no slot of its set yet.
    Foreign,
    /// What brings it back into the policy's hands.
    Reactivated,
}

impl Cache {
    /// An empty cache of these slots; `own` decides instead of the policy if there is one. So many
    /// pages can be in flight without a slot of their set; see [`Cache::evicts_at_fill`].
    pub fn new(
        space: &Space,
        eviction: &EvictionEntry,
        own: Option<Box<dyn External>>,
        pins_per_set: u32,
        inactive_per_set: u32,
        in_flight: u32,
    ) -> Cache {
        let slots = space.slots() + in_flight;
        let policy = match own {
            Some(own) => AnyEviction::External(Watched::new(own, space.sets, space.ways)),
            None => (eviction.build)(space),
        };
        Cache {
            lookup: PageIndex::new(space.pages, slots),
            slots: Slots::new(slots),
            policy,
            cold: Cold::new(space.sets, space.slots()),
            inactive: Inactive::new(space.sets, space.slots(), inactive_per_set),
            in_flight: InFlight::new(space.slots(), in_flight),
            refused_before: 0,
            free: Table::filled(space.sets, [0; 2]),
            pinned: Table::filled(space.sets, 0),
            kept: Kept::none(space.sets),
            pins_per_set,
            sets: space.sets,
            index: space.index,
            ways: space.ways,
            held: 0,
            pins: 0,
        }
    }

    /// Pages in the cache or on their way there.
    pub fn len(&self) -> u64 {
        u64::from(self.held)
    }

    #[inline]
    fn set_of(&self, lpn: Lpn) -> Set {
        Set(self.index.set_of(lpn, self.sets))
    }

    /// The page in a place, or any other if none is there; none behind the last place.
    pub fn last_in(&self, slot: Slot) -> Option<Lpn> {
        (slot.0 < self.in_flight.end()).then(|| self.slots.lpn(slot))
    }

    #[inline]
    fn slot_of(&self, lpn: Lpn) -> Option<Slot> {
        self.lookup.get(lpn)
    }

    /// Sets the event of the calls to a policy from outside that follow; the event begins at `at`.
    #[inline]
    pub fn begin(&mut self, at: Ps, trigger: Trigger, is_store: bool) {
        if let AnyEviction::External(policy) = &mut self.policy {
            policy.begin(at, trigger, is_store);
        }
    }

    /// Sets the thread whose accesses come from now on, for a policy from outside.
    pub fn by(&mut self, thread: Option<u32>) {
        if let AnyEviction::External(policy) = &mut self.policy {
            policy.by(thread);
        }
    }

    /// Looks the page up for an access, and reports the hit to the policy.
    #[inline]
    pub fn access(&mut self, lpn: Lpn, access: Access) -> Option<Found> {
        let slot = self.slot_of(lpn)?;
        let (first_use, is_special) = self.slots.touch(slot, access.makes_dirty);
        let set = self.set_of(lpn);
        let special = match is_special {
            true => self.access_special(lpn, set, slot),
            false => Special::Plain,
        };
        let surplus = match special {
            Special::Plain | Special::Reactivated => self.policy.hit_told(set, slot, || Told {
                access: Some((access.at, access.is_store)),
                is_dirty: self.slots.is_dirty(slot),
            }),
            Special::Foreign => 0,
        };
        Some(Found {
            slot,
            surplus,
            reactivated: special == Special::Reactivated,
            ready_at: self.slots.ready_at(slot),
            first_use,
        })
    }

    /// Does what the access to a page asks for that is pinned, cold, inactive, in flight or kept.
    #[cold]
    fn access_special(&mut self, lpn: Lpn, set: Set, slot: Slot) -> Special {
        self.warm(set, slot);
        if self.activate(lpn, set, slot) {
            return Special::Reactivated;
        }
        let slots = &self.slots;
        match slots.is_pinned(slot) || slots.is_in_flight(slot) || slots.is_kept(slot) {
            true => Special::Foreign,
            false => Special::Plain,
        }
    }

    /// Gives the policy a page as a newcomer that is cached already.
    fn give_back(&mut self, lpn: Lpn, set: Set, slot: Slot) {
        self.policy.miss(set, lpn);
        self.policy
            .insert_told(set, slot, lpn, self.slots.is_dirty(slot));
    }

    /// Looks the page up without an access.
    pub fn peek(&self, lpn: Lpn) -> Option<Peek> {
        let slot = self.slot_of(lpn)?;
        Some(Peek {
            slot,
            ready_at: self.slots.ready_at(slot),
            is_dirty: self.slots.is_dirty(slot),
            is_pinned: self.slots.is_pinned(slot),
            is_unused: self.slots.ahead(slot).is_some(),
        })
    }

    /// A prefetched page counts as any other from now on.
    pub fn forget_prefetch(&mut self, lpn: Lpn) {
        if let Some(slot) = self.slot_of(lpn) {
            self.slots.set_used(slot);
        }
    }

    /// Puts the pages under another policy, or the same with other parameters.
    ///
    /// They stay where they are. The new policy gets those of each set as newcomers, in the order
    /// in which the old one would have let them go: what was to leave first came in first.
    pub fn change_policy(&mut self, space: &Space, eviction: &EvictionEntry) {
        let mut policy = (eviction.build)(space);
        for set in Set::range(0..self.sets) {
            for slot in self.policy.dump(set).into_iter().rev() {
                policy.miss(set, self.slots.lpn(slot));
                policy.insert_told(set, slot, self.slots.lpn(slot), self.slots.is_dirty(slot));
            }
        }
        self.refused_before += self.policy.refused();
        self.policy = policy;
    }

    /// Whether the policy is one that the caller brought along.
    pub fn has_external_policy(&self) -> bool {
        matches!(self.policy, AnyEviction::External(_))
    }

    /// Reports to the policy that a page which is not cached is about to be brought in.
    pub fn note_miss(&mut self, lpn: Lpn) {
        let set = self.set_of(lpn);
        self.policy.miss(set, lpn);
    }

    /// A slot of the page's set that holds nothing.
    pub fn take_free(&mut self, lpn: Lpn) -> Option<Slot> {
        let set = self.set_of(lpn);
        let [used, first_free] = &mut self.free[set];
        if let Some(slot) = first_free.checked_sub(1).map(Slot) {
            *first_free = self.slots.next_free(slot);
            return Some(slot);
        }
        if *used == self.ways {
            return None;
        }
        *used += 1;
        Some(Slot(set.0 * self.ways + *used - 1))
    }

    /// Pushes a page out of the full set that `lpn` belongs to.
    ///
    /// Pages whose fill ends after `now`, and the page `keep`, stay. `None` if nothing is left.
    pub fn evict(&mut self, lpn: Lpn, now: Ps, keep: Option<Lpn>) -> Option<Evicted> {
        let set = self.set_of(lpn);
        let slots = &self.slots;
        let evictable = |slot| slots.ready_at(slot) <= now && Some(slots.lpn(slot)) != keep;
        let is_dirty = |slot| slots.is_dirty(slot);
        if let Some(slot) = self.cold.next(set, evictable) {
            self.take_from_policy(set, slot);
            return Some(self.push_out(set, slot));
        }
        let slot = match self.inactive.is_full(set) {
            true => match self.inactive.next(set, evictable) {
                Some(slot) => slot,
                None => self.policy.victim_told(set, evictable, is_dirty)?,
            },
            false => match self.policy.victim_told(set, evictable, is_dirty) {
                Some(slot) => slot,
                None => self.inactive.next(set, evictable)?,
            },
        };
        if self.slots.is_inactive(slot) {
            self.take_back(set, slot);
        }
        Some(self.push_out(set, slot))
    }

    /// Answers of an external policy that broke its contract.
    pub fn refused(&self) -> u64 {
        self.refused_before + self.policy.refused()
    }

    /// Pushes a page out because of a hit on `lpn`, which is asked for as often as the hit's
    /// [`Found::surplus`] says. `None` if every page that may leave is still on its way in.
    pub fn evict_for_hit(&mut self, lpn: Lpn, now: Ps) -> Option<Evicted> {
        let set = self.set_of(lpn);
        let slots = &self.slots;
        let evictable = |slot| slots.ready_at(slot) <= now && slots.lpn(slot) != lpn;
        let is_dirty = |slot| slots.is_dirty(slot);
        let slot = self.policy.victim_told(set, evictable, is_dirty)?;
        let evicted = self.push_out(set, slot);
        self.free_slot(set, slot);
        Some(evicted)
    }

    fn push_out(&mut self, set: Set, slot: Slot) -> Evicted {
        debug_assert_eq!(
            slot.0 / self.ways,
            set.0,
            "a policy chose a slot of another set"
        );
        debug_assert!(!self.slots.is_pinned(slot), "a policy chose a pinned page");
        self.leave(set, slot)
    }

    /// Takes the page of a slot out of the lookup.
    fn leave(&mut self, set: Set, slot: Slot) -> Evicted {
        let evicted = Evicted {
            slot,
            lpn: self.slots.lpn(slot),
            dirty: self.slots.is_dirty(slot),
            ahead: self.slots.ahead(slot),
            pinned: self.slots.is_pinned(slot),
            cold: self.slots.is_cold(slot),
        };
        self.warm(set, slot);
        self.lookup.clear(evicted.lpn);
        self.held -= 1;
        evicted
    }

    /// Makes a slot free that a page has left.
    fn free_slot(&mut self, set: Set, slot: Slot) {
        let first_free = &mut self.free[set][1];
        self.slots.set_free(slot, *first_free);
        *first_free = slot.0 + 1;
    }

    /// When the first fill of the page's set ends that ends after `now`.
    ///
    /// Asked only when every page of the set that is not pinned is in flight. The MSHRs bound
    /// those (but for pages that the host gives back, in flight for the time of a hit), and
    /// `cache.pin_max` the others, so the scan is bounded.
    pub fn next_ready(&self, lpn: Lpn, now: Ps) -> Option<Ps> {
        let first = self.set_of(lpn).0 * self.ways;
        let mine =
            Slot::range(first..first + self.ways).filter(|slot| !self.slots.is_pinned(*slot));
        let ends = mine.map(|slot| self.slots.ready_at(slot));
        ends.filter(|end| *end > now).min()
    }

    /// Puts a page into a slot from [`Cache::take_free`], [`Cache::evict`] or
    /// [`Cache::take_in_flight`].
    pub fn insert(&mut self, slot: Slot, lpn: Lpn, ready_at: Ps, fill: Fill) {
        self.slots.fill(slot, lpn, ready_at, fill);
        self.lookup.set(lpn, slot);
        self.held += 1;
        if self.in_flight.has(slot) {
            return self.send(slot, lpn, ready_at, fill);
        }
        let set = self.set_of(lpn);
        self.policy.insert_told(set, slot, lpn, fill == Fill::Write);
        self.give_trusted_back(set);
    }

    /// Takes a page out, whatever state it is in, if it is cached.
    pub fn take_out(&mut self, lpn: Lpn) -> Option<Evicted> {
        let (set, slot) = (self.set_of(lpn), self.slot_of(lpn)?);
        let in_flight = self.slots.is_in_flight(slot);
        let was_kept = self.release(set, slot);
        let left = self.leave(set, slot);
        match left.pinned {
            true => self.forget_pin(set, slot),
            false if in_flight || was_kept => {}
            false => self.take_from_policy(set, slot),
        }
        if !in_flight {
            self.free_slot(set, slot);
        }
        Some(left)
    }

    /// The state, for the message of a failed test: per set with pages, the pages that the policy
    /// holds in its own order, and those that it has let go, the next to leave last.
    pub fn dump(&self, out: &mut String) {
        for set in Set::range(0..self.sets) {
            let mut held = self.policy.dump(set);
            held.extend(self.inactive.of(set));
            let pins = self.pinned[set];
            if held.is_empty() && pins == 0 {
                continue;
            }
            let pages = held.iter().map(|slot| {
                let mark = if self.slots.is_dirty(*slot) { "*" } else { "" };
                format!(
                    "{}{mark}@{}",
                    self.slots.lpn(*slot),
                    self.slots.ready_at(*slot)
                )
            });
            let pages: Vec<String> = pages.collect();
            *out += &format!("set {}: {pins} pinned; {}\n", set.0, pages.join(" "));
        }
    }
}

/// What is known of a cached page.
pub(crate) struct Peek {
    pub slot: Slot,
    pub ready_at: Ps,
    pub is_dirty: bool,
    pub is_pinned: bool,
    /// Brought in by a prefetch and never accessed.
    pub is_unused: bool,
}

/// Why a page comes into the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fill {
    Read,
    Write,
    Ahead(Ahead),
}

/// What has a page brought in that no access asks for. A slot keeps it by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Ahead {
    /// The prefetcher, which picked it.
    Pick = 1,
    /// An access to a range that is accessed in order.
    Line = 2,
    /// The host, by a command or a hint.
    Command = 3,
}

impl Ahead {
    /// Whether the page counts as a prefetched one; a commanded one has counters of its own.
    #[inline]
    pub fn is_counted(self) -> bool {
        self != Ahead::Command
    }
}
