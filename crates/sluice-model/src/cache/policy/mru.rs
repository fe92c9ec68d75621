//! Most recently used.

use super::{Eviction, PolicyInfo, Set, Slot, Space};
use sluice_lists::Lists;
use sluice_units::Lpn;

/// Evicts the page that was accessed last. One list per set, the latest in front.
pub struct Mru(Lists<Set, Slot>);

impl Eviction for Mru {
    const INFO: PolicyInfo = PolicyInfo {
        name: "mru",
        meaning: "evicts the page accessed last: the best for a loop larger than the cache",
        source: "Chou and DeWitt, VLDB 1985",
        uses_hits: true,
    };

    fn build(space: &Space) -> Mru {
        Mru(Lists::new(space.sets, space.slots()))
    }

    fn insert(&mut self, set: Set, slot: Slot, _lpn: Lpn) {
        self.0.push_front(set, slot);
    }

    fn hit(&mut self, set: Set, slot: Slot) -> u32 {
        self.0.move_to_front(set, slot);
        0
    }

    fn victim(&mut self, set: Set, mut evictable: impl FnMut(Slot) -> bool) -> Option<Slot> {
        let slot = self.0.iter(set).find(|slot| evictable(*slot))?;
        self.0.remove(set, slot);
        Some(slot)
    }

    fn remove(&mut self, set: Set, slot: Slot) {
        self.0.remove(set, slot);
    }

    fn dump(&self, set: Set) -> Vec<Slot> {
        let mut slots: Vec<Slot> = self.0.iter(set).collect();
        slots.reverse();
        slots
    }
}
