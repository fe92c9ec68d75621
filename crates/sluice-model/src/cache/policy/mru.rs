//! Most recently used.

use super::{Eviction, PolicyInfo, Space};
use sluice_lists::Lists;

/// Evicts the page that was accessed last. One list per set, the latest in front.
pub struct Mru(Lists);

impl Eviction for Mru {
    const INFO: PolicyInfo = PolicyInfo {
        name: "mru",
        meaning: "evicts the page accessed last: the best for a loop larger than the cache",
        source: "Chou and DeWitt, VLDB 1985",
        uses_hits: true,
    };

    fn build(space: &Space) -> Mru {
        let slots = space.sets as usize * space.ways as usize;
        Mru(Lists::new(space.sets, slots as u32))
    }

    fn insert(&mut self, set: u32, slot: u32, _lpn: u32) {
        self.0.push_front(set, slot);
    }

    fn hit(&mut self, set: u32, slot: u32) {
        self.0.move_to_front(set, slot);
    }

    fn victim(&mut self, set: u32, mut evictable: impl FnMut(u32) -> bool) -> Option<u32> {
        let slot = self.0.iter(set).find(|slot| evictable(*slot))?;
        self.0.remove(set, slot);
        Some(slot)
    }

    fn remove(&mut self, set: u32, slot: u32) {
        self.0.remove(set, slot);
    }

    fn dump(&self, set: u32) -> Vec<u32> {
        let mut slots: Vec<u32> = self.0.iter(set).collect();
        slots.reverse();
        slots
    }
}
