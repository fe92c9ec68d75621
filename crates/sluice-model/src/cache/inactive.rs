//! Pages that the policy has let go and that stay for a while (Turner and Levy, *Segmented FIFO
//! Page Replacement*, SIGMETRICS 1981; the inactive list of an operating system).
//!
//! A host that maps pages unmaps these, so that the device sees the next access to one. Then the
//! policy gets the page back as a newcomer that it remembers. A policy that could see no hit
//! otherwise sees those that matter: of the pages that were to leave.
//!
//! Each such access is a trap. A page that was used once after it had been let go is taken for used
//! the next time, without a look, and after that three times for each look: most traps would be
//! those of the few pages that are always in use.

use super::{Set, Slot};
use sluice_lists::Lists;

/// Per set the inactive pages, those let go first at the back.
pub(super) struct Inactive {
    lists: Lists<Set, Slot>,
    /// How many of a set there can be.
    most: u32,
}

impl Inactive {
    pub fn new(sets: u32, slots: u32, most: u32) -> Inactive {
        let (sets, slots) = if most == 0 { (0, 0) } else { (sets, slots) };
        Inactive {
            lists: Lists::new(sets, slots),
            most,
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
