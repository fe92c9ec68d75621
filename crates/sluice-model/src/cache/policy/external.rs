//! Policies from outside this crate: a shared object's, or a class of another language.

use super::{Eviction, Set, Slot};
use sluice_lists::Lists;
use sluice_units::{Lpn, Table};

/// A policy that the caller brings along. The rules are those of [`super::Eviction`], but that
/// this one may be wrong: [`Watched`] checks what it answers.
pub trait External: Send {
    /// The page `lpn`, which is in no slot, is about to be brought in.
    fn miss(&mut self, set: Set, lpn: Lpn);

    /// The page `lpn` is now in `slot`.
    fn insert(&mut self, set: Set, slot: Slot, lpn: Lpn);

    /// The page in `slot` was accessed. Returns how many pages must leave because of that.
    fn hit(&mut self, set: Set, slot: Slot) -> u32;

    /// Chooses a slot to empty and forgets it.
    fn victim(&mut self, set: Set, evictable: &mut dyn FnMut(Slot) -> bool) -> Option<Slot>;

    /// The page in `slot` was discarded, taken out or pinned, or left against the policy's choice.
    fn remove(&mut self, set: Set, slot: Slot);
}

/// A policy of this crate's interface, brought along instead of registered.
pub struct Brought<P>(pub P);

impl<P: Eviction + Send> External for Brought<P> {
    fn miss(&mut self, set: Set, lpn: Lpn) {
        self.0.miss(set, lpn);
    }

    fn insert(&mut self, set: Set, slot: Slot, lpn: Lpn) {
        self.0.insert(set, slot, lpn);
    }

    fn hit(&mut self, set: Set, slot: Slot) -> u32 {
        self.0.hit(set, slot)
    }

    fn victim(&mut self, set: Set, evictable: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        self.0.victim(set, evictable)
    }

    fn remove(&mut self, set: Set, slot: Slot) {
        self.0.remove(set, slot);
    }
}

/// An external policy whose answers are checked.
///
/// Where it names a slot that it does not hold, that is not of the set, or that may not leave, or
/// finds none although there is one, the page that came in first leaves instead, the policy is
/// told to forget it, and the answer is counted as refused.
pub struct Watched {
    policy: Box<dyn External>,
    /// Per set the held slots, the newest in front.
    order: Lists<Set, Slot>,
    held: Table<Slot, bool>,
    refused: u64,
    ways: u32,
}

impl Watched {
    pub(crate) fn new(policy: Box<dyn External>, sets: u32, ways: u32) -> Watched {
        Watched {
            policy,
            order: Lists::new(sets, sets * ways),
            held: Table::filled(sets * ways, false),
            refused: 0,
            ways,
        }
    }

    /// Answers that broke the contract.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    pub(crate) fn miss(&mut self, set: Set, lpn: Lpn) {
        self.policy.miss(set, lpn);
    }

    pub(crate) fn insert(&mut self, set: Set, slot: Slot, lpn: Lpn) {
        self.held[slot] = true;
        self.order.push_front(set, slot);
        self.policy.insert(set, slot, lpn);
    }

    pub(crate) fn hit(&mut self, set: Set, slot: Slot) -> u32 {
        self.policy.hit(set, slot)
    }

    pub(crate) fn victim(
        &mut self,
        set: Set,
        mut evictable: impl FnMut(Slot) -> bool,
    ) -> Option<Slot> {
        let (held, ways) = (&self.held, self.ways);
        let is_held = |slot: Slot| slot.0 / ways == set.0 && held.get(slot) == Some(&true);
        let mut may_leave = |slot| is_held(slot) && evictable(slot);
        let named = self.policy.victim(set, &mut may_leave);
        if let Some(slot) = named
            && may_leave(slot)
        {
            self.forget(set, slot);
            return Some(slot);
        }
        let instead = self.order.oldest(set, evictable);
        self.refused += u64::from(named.is_some() || instead.is_some());
        let slot = instead?;
        self.forget(set, slot);
        self.policy.remove(set, slot);
        Some(slot)
    }

    pub(crate) fn remove(&mut self, set: Set, slot: Slot) {
        self.forget(set, slot);
        self.policy.remove(set, slot);
    }

    pub(crate) fn dump(&self, set: Set) -> Vec<Slot> {
        self.order.iter(set).collect()
    }

    fn forget(&mut self, set: Set, slot: Slot) {
        self.held[slot] = false;
        self.order.remove(set, slot);
    }
}
