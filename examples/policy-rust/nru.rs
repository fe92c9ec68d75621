//! Not recently used: one bit for each page.

use super::{Eviction, PolicyInfo, Set, Slot, Space};
use sluice_units::{Lpn, Table};

/// Evicts the first page from the hand on that was not accessed since the bits of its set were
/// last cleared; they are cleared when all are set.
pub struct Nru {
    /// Per slot: whether it holds a page.
    held: Table<Slot, bool>,
    /// Per slot: accessed since the bits were last cleared.
    referenced: Table<Slot, bool>,
    /// Per set: the way at which the next search begins.
    hand: Table<Set, u32>,
    ways: u32,
}

impl Nru {
    /// The held slots of a set, from the hand on.
    fn round(&self, set: Set) -> impl Iterator<Item = Slot> {
        let (first, hand) = (set.0 * self.ways, self.hand[set]);
        let ways = (hand..self.ways).chain(0..hand);
        let slots = ways.map(move |way| Slot(first + way));
        slots.filter(|slot| self.held[*slot])
    }
}

impl Eviction for Nru {
    const INFO: PolicyInfo = PolicyInfo {
        name: "nru",
        meaning: "evicts the first page that was not accessed lately, by one bit for each page",
        source: "textbooks; a reference bit for each page, cleared together",
        uses_hits: true,
    };

    fn build(space: &Space) -> Nru {
        Nru {
            held: Table::filled(space.slots(), false),
            referenced: Table::filled(space.slots(), false),
            hand: Table::filled(space.sets, 0),
            ways: space.ways,
        }
    }

    fn insert(&mut self, _set: Set, slot: Slot, _lpn: Lpn) {
        self.held[slot] = true;
        self.referenced[slot] = true;
    }

    fn hit(&mut self, _set: Set, slot: Slot) -> u32 {
        self.referenced[slot] = true;
        0
    }

    fn victim(&mut self, set: Set, mut evictable: impl FnMut(Slot) -> bool) -> Option<Slot> {
        let unused = |slot: &Slot| !self.referenced[*slot];
        let found = self
            .round(set)
            .find(|slot| unused(slot) && evictable(*slot));
        let slot = match found {
            Some(slot) => slot,
            None => {
                let slot = self.round(set).find(|slot| evictable(*slot))?;
                for way in 0..self.ways {
                    self.referenced[Slot(set.0 * self.ways + way)] = false;
                }
                slot
            }
        };
        self.held[slot] = false;
        self.hand[set] = (slot.0 + 1) % self.ways;
        Some(slot)
    }

    fn remove(&mut self, _set: Set, slot: Slot) {
        self.held[slot] = false;
    }

    fn dump(&self, set: Set) -> Vec<Slot> {
        let referenced = |slot: &Slot| self.referenced[*slot];
        let (used, unused): (Vec<Slot>, Vec<Slot>) = self.round(set).partition(referenced);
        unused.into_iter().chain(used).rev().collect()
    }
}
