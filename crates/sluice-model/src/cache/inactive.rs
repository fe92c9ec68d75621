//! Pages that the policy has let go and that stay for a while (Turner and Levy, *Segmented FIFO
//! Page Replacement*, SIGMETRICS 1981; the inactive list of an operating system).
//!
//! A host that maps pages unmaps these, so that the device sees the next access to one. Then the
//! policy gets the page back as a newcomer that it remembers. A policy that could see no hit
//! otherwise sees those that matter: of the pages that were to leave.
//!
//! Each such access is a trap. After a page was used once since it had been let go, the next time
//! it counts as used without a look, and after that three times for each look. Otherwise most traps
//! would be those of the few pages that are always in use.

use super::policy::Told;
use super::{AnyEviction, Cache, Set, Slot};
use sluice_lists::Lists;
use sluice_units::{Lpn, Ps};

/// Pages that are taken for used in a row until the search for one to let go is given up, so that
/// an access has a bounded time.
const TRUSTED_MAX: u32 = 8;

/// Per set the inactive pages, those let go first at the back.
pub(super) struct Inactive {
    lists: Lists<Set, Slot>,
    /// How many of a set there can be.
    most: u32,
    /// Pages that are taken for used, until the policy has the page that comes in, and since when:
    /// it gets each page that comes, or comes back, as one that has just missed.
    trusted: Vec<Slot>,
    trusted_at: Ps,
}

impl Inactive {
    pub fn new(sets: u32, slots: u32, most: u32) -> Inactive {
        let (sets, slots) = if most == 0 { (0, 0) } else { (sets, slots) };
        Inactive {
            lists: Lists::new(sets, slots),
            most,
            trusted: Vec::with_capacity(TRUSTED_MAX as usize + 1),
            trusted_at: Ps::ZERO,
        }
    }

    /// Whether there is another place in a set.
    #[inline]
    pub fn has_room(&self, set: Set) -> bool {
        self.most > 0 && self.lists.len(set) < self.most
    }

    /// The page in a slot becomes inactive.
    pub fn add(&mut self, set: Set, slot: Slot) {
        self.lists.push_front(set, slot);
    }

    /// The page in a slot is so no longer.
    pub fn remove(&mut self, set: Set, slot: Slot) {
        self.lists.remove(set, slot);
    }

    /// Whether a set has as many as it can, so that one leaves for the next page.
    #[inline]
    pub fn is_full(&self, set: Set) -> bool {
        self.most > 0 && self.lists.len(set) >= self.most
    }

    /// The page of a set that was let go first, of those that may leave.
    pub fn next(&self, set: Set, evictable: impl FnMut(Slot) -> bool) -> Option<Slot> {
        match self.most {
            0 => None,
            _ => self.lists.oldest(set, evictable),
        }
    }

    /// The pages of a set, the next to leave last.
    pub fn of(&self, set: Set) -> Vec<Slot> {
        match self.most {
            0 => Vec::new(),
            _ => self.lists.iter(set).collect(),
        }
    }
}

impl Cache {
    /// Has the policy let another page of the set of `lpn` go, if one can be inactive, and if it
    /// has one but those that [`Cache::evict`] leaves alone. The host is to unmap it.
    pub fn deactivate(&mut self, lpn: Lpn, now: Ps, keep: Option<Lpn>) -> Option<Lpn> {
        let set = self.set_of(lpn);
        if !self.inactive.has_room(set) {
            return None;
        }
        self.inactive.trusted_at = now;
        for _ in 0..=TRUSTED_MAX {
            let slots = &self.slots;
            let evictable = |slot| slots.ready_at(slot) <= now && Some(slots.lpn(slot)) != keep;
            let is_dirty = |slot| slots.is_dirty(slot);
            let slot = self.policy.victim_told(set, evictable, is_dirty)?;
            let page = self.slots.lpn(slot);
            if !self.slots.take_trust(slot) {
                self.let_go(set, slot);
                return Some(page);
            }
            self.inactive.trusted.push(slot);
        }
        None
    }

    /// Gives the policy the pages back that were taken for used, behind the one that has come in.
    #[inline]
    pub(super) fn give_trusted_back(&mut self, set: Set) {
        if !self.inactive.trusted.is_empty() {
            self.give_all_back(set);
        }
    }

    /// None of them is stored to.
    #[cold]
    fn give_all_back(&mut self, set: Set) {
        let is_store = self.is_store(false);
        for at in 0..self.inactive.trusted.len() {
            let slot = self.inactive.trusted[at];
            self.give_back(self.slots.lpn(slot), set, slot);
            let surplus = self.policy.hit_told(set, slot, || Told {
                access: None,
                is_dirty: self.slots.is_dirty(slot),
            });
            self.let_surplus_go(set, slot, surplus, self.inactive.trusted_at);
        }
        self.inactive.trusted.clear();
        self.is_store(is_store);
    }

    /// Says to a policy from outside whether what follows belongs to a store. Returns what it was.
    fn is_store(&mut self, is_store: bool) -> bool {
        match &mut self.policy {
            AnyEviction::External(policy) => policy.is_store(is_store),
            _ => false,
        }
    }

    /// A page is inactive from now on.
    fn let_go(&mut self, set: Set, slot: Slot) {
        self.slots.set_inactive(slot, true);
        self.inactive.add(set, slot);
    }

    /// The pages become inactive that are too many in a part of the policy because of a hit on the
    /// one in `hit`. The host keeps them mapped.
    fn let_surplus_go(&mut self, set: Set, hit: Slot, surplus: u32, now: Ps) {
        for _ in 0..surplus {
            let slots = &self.slots;
            let evictable = |slot| slots.ready_at(slot) <= now && slot != hit;
            let is_dirty = |slot| slots.is_dirty(slot);
            if let Some(slot) = self.policy.victim_told(set, evictable, is_dirty) {
                self.let_go(set, slot);
            }
        }
    }

    /// Gives the policy a page back that it had let go. Says whether it had.
    pub(super) fn activate(&mut self, lpn: Lpn, set: Set, slot: Slot) -> bool {
        let was_inactive = self.slots.is_inactive(slot);
        if was_inactive {
            self.take_back(set, slot);
            self.slots.trust_more(slot);
            self.give_back(lpn, set, slot);
        }
        was_inactive
    }

    /// A page that the policy had let go is no longer among those.
    pub(super) fn take_back(&mut self, set: Set, slot: Slot) {
        self.slots.set_inactive(slot, false);
        self.inactive.remove(set, slot);
    }

    /// Takes a page out of the hands of the policy, or from among those that it had let go.
    pub(super) fn take_from_policy(&mut self, set: Set, slot: Slot) {
        match self.slots.is_inactive(slot) {
            true => self.take_back(set, slot),
            false => self
                .policy
                .remove_told(set, slot, self.slots.is_dirty(slot)),
        }
    }
}
