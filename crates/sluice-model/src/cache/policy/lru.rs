//! Least recently used.

use super::{Eviction, PolicyInfo, Set, Slot, Space};
use sluice_lists::Lists;
use sluice_units::Lpn;

/// Evicts the page whose last access is longest ago. One list per set, the latest in front.
pub struct Lru(Lists<Set, Slot>);

impl Eviction for Lru {
    const INFO: PolicyInfo = PolicyInfo {
        name: "lru",
        meaning: "evicts the page whose last visible access is longest ago",
        source: "CXL-SSD-Sim, LRU cache policy",
        uses_hits: true,
    };

    fn build(space: &Space) -> Lru {
        Lru(Lists::new(space.sets, space.slots()))
    }

    fn insert(&mut self, set: Set, slot: Slot, _lpn: Lpn) {
        self.0.push_front(set, slot);
    }

    fn hit(&mut self, set: Set, slot: Slot) -> u32 {
        self.0.move_to_front(set, slot);
        0
    }

    fn victim(&mut self, set: Set, evictable: impl FnMut(Slot) -> bool) -> Option<Slot> {
        let slot = self.0.oldest(set, evictable)?;
        self.0.remove(set, slot);
        Some(slot)
    }

    fn remove(&mut self, set: Set, slot: Slot) {
        self.0.remove(set, slot);
    }

    fn dump(&self, set: Set) -> Vec<Slot> {
        self.0.iter(set).collect()
    }
}
