//! Least recently used.

use super::{Eviction, PolicyInfo, Space};
use sluice_lists::Lists;

/// Evicts the page whose last access is longest ago. One list per set, the latest in front.
pub struct Lru(Lists);

impl Eviction for Lru {
    const INFO: PolicyInfo = PolicyInfo {
        name: "lru",
        meaning: "evicts the page whose last visible access is longest ago",
        source: "CXL-SSD-Sim, LRU cache policy",
        uses_hits: true,
    };

    fn build(space: &Space) -> Lru {
        Lru(Lists::new(space.sets, space.sets * space.ways))
    }

    fn insert(&mut self, set: u32, slot: u32, _lpn: u32) {
        self.0.push_front(set, slot);
    }

    fn hit(&mut self, set: u32, slot: u32) {
        self.0.move_to_front(set, slot);
    }

    fn victim(&mut self, set: u32, evictable: impl FnMut(u32) -> bool) -> Option<u32> {
        let slot = self.0.oldest(set, evictable)?;
        self.0.remove(set, slot);
        Some(slot)
    }

    fn remove(&mut self, set: u32, slot: u32) {
        self.0.remove(set, slot);
    }

    fn dump(&self, set: u32) -> Vec<u32> {
        self.0.iter(set).collect()
    }
}
