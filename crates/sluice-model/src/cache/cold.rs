//! Pages of which the host has said that it will not need them soon.
//!
//! They stay in their policy's hands, so that one that is accessed after all is where it was.

use super::{Set, Slot};
use sluice_lists::Lists;

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
