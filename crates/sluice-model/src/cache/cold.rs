//! Pages of which the host has said that it will not need them soon.
//!
//! They stay in their policy's hands, so that one that is accessed after all is where it was.

use super::{Cache, Set, Slot};
use sluice_lists::Lists;
use sluice_units::{Lpn, Ps};

/// Per set the cold pages, those that went cold first at the back.
pub(super) struct Cold(Lists<Set, Slot>);

impl Cold {
    pub fn new(sets: u32, slots: u32) -> Cold {
        Cold(Lists::new(sets, slots))
    }

    /// The page in a slot goes cold, which is not cold yet.
    pub fn add(&mut self, set: Set, slot: Slot) {
        self.0.push_front(set, slot);
    }

    /// The page in a slot is cold no longer.
    pub fn remove(&mut self, set: Set, slot: Slot) {
        self.0.remove(set, slot);
    }

    /// The page of a set that went cold first, of those that may leave. It stays noted.
    ///
    /// Only pages that were there went cold, so that there is at most one that may not leave: the
    /// one whose access is being served.
    pub fn next(&self, set: Set, evictable: impl FnMut(Slot) -> bool) -> Option<Slot> {
        match self.0.len(set) {
            0 => None,
            _ => self.0.oldest(set, evictable),
        }
    }
}

impl Cache {
    /// Lets a page be the next of its set to leave, behind those that are to leave already. Says
    /// whether it is in the cache at `at`, not pinned, and was not so before.
    pub fn cool(&mut self, lpn: Lpn, at: Ps) -> bool {
        let Some(slot) = self.slot_of(lpn) else {
            return false;
        };
        let slots = &mut self.slots;
        let stays = slots.is_pinned(slot) || slots.is_kept(slot);
        if stays || slots.is_cold(slot) || slots.ready_at(slot) > at {
            return false;
        }
        slots.set_cold(slot, true);
        self.cold.add(self.set_of(lpn), slot);
        true
    }

    /// A page is no colder than any other.
    pub(super) fn warm(&mut self, set: Set, slot: Slot) {
        if self.slots.is_cold(slot) {
            self.slots.set_cold(slot, false);
            self.cold.remove(set, slot);
        }
    }
}
