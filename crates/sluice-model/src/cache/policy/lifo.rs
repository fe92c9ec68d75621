//! Last in, first out.

use super::{Eviction, PolicyInfo, Space};
use sluice_lists::Lists;

/// Evicts the page that came in last. One list per set, the newest in front.
pub struct Lifo(Lists);

impl Eviction for Lifo {
    const INFO: PolicyInfo = PolicyInfo {
        name: "lifo",
        meaning: "evicts the page that came in last, so the first ones stay for good",
        source: "Cylon section 5.6",
        uses_hits: false,
    };

    fn build(space: &Space) -> Lifo {
        Lifo(Lists::new(space.sets, space.sets * space.ways))
    }

    fn insert(&mut self, set: u32, slot: u32, _lpn: u32) {
        self.0.push_front(set, slot);
    }

    fn hit(&mut self, _set: u32, _slot: u32) {}

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
