//! First in, first out.

use super::{Eviction, PolicyInfo, Space};
use crate::lists::Lists;

/// Evicts the page that came in first. One list per set, the newest in front.
pub struct Fifo(Lists);

impl Eviction for Fifo {
    const INFO: PolicyInfo = PolicyInfo {
        name: "fifo",
        meaning: "evicts the page that came in first",
        source: "Cylon section 5.6",
        uses_hits: false,
    };

    fn build(space: &Space) -> Fifo {
        Fifo(Lists::new(
            space.sets as usize,
            (space.sets * space.ways) as usize,
        ))
    }

    fn insert(&mut self, set: u32, slot: u32, _lpn: u32) {
        self.0.push_front(set, slot);
    }

    fn hit(&mut self, _set: u32, _slot: u32) {}

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
