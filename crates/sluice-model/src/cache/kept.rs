//! Pages that stay because worn flash has refused them: no other place has what was stored to them.
//!
//! The policy does not hold them, as it does not hold pinned ones, so that it looks at no page in
//! vain. A page is kept until its contents end, are taken by the host, or are elsewhere.

use super::{Cache, Evicted, Fill, Set, Slot};
use sluice_units::{Lpn, Ps, Table};

/// Per set: how many pages are kept.
pub(super) struct Kept(Table<Set, u32>);

impl Kept {
    pub fn none(sets: u32) -> Kept {
        Kept(Table::filled(sets, 0))
    }
}

impl Cache {
    /// Takes a page back that has just left.
    pub fn keep(&mut self, left: &Evicted) {
        let (set, slot) = (self.set_of(left.lpn), left.slot);
        if self.free[set][1] == slot.0 + 1 {
            self.take_free(left.lpn);
        }
        self.slots.fill(slot, left.lpn, Ps::ZERO, Fill::Write);
        self.lookup.set(left.lpn, slot);
        self.held += 1;
        if self.in_flight.has(slot) {
            self.slots.set_in_flight(slot);
        } else {
            self.slots.set_kept(slot, true);
            self.kept.0[set] += 1;
        }
    }

    /// Marks a cached page as written, or as programmed. Says whether it was cached.
    pub fn set_dirty(&mut self, lpn: Lpn, dirty: bool) -> bool {
        let Some(slot) = self.slot_of(lpn) else {
            return false;
        };
        self.slots.set_dirty(slot, dirty);
        if !dirty && self.slots.is_kept(slot) {
            let set = self.set_of(lpn);
            self.release(set, slot);
            self.give_back(lpn, set, slot);
        }
        true
    }

    /// The page in a slot is no longer kept. Says whether it was.
    pub(super) fn release(&mut self, set: Set, slot: Slot) -> bool {
        let was_kept = self.slots.is_kept(slot);
        if was_kept {
            self.slots.set_kept(slot, false);
            self.kept.0[set] -= 1;
        }
        was_kept
    }

    /// Whether every page of the set of `lpn` is kept or pinned.
    pub fn is_stuck(&self, lpn: Lpn) -> bool {
        let set = self.set_of(lpn);
        let kept = self.kept.0[set];
        kept > 0 && kept + self.pinned[set] >= self.ways
    }
}
