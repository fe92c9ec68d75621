//! First in, first out.

use super::ring::Ring;
use super::{Eviction, PolicyInfo, Space};

/// Evicts the page that came in first.
pub struct Fifo(Ring);

impl Eviction for Fifo {
    const INFO: PolicyInfo = PolicyInfo {
        name: "fifo",
        meaning: "evicts the page that came in first",
        source: "Cylon section 5.6",
        uses_hits: false,
    };

    fn build(space: &Space) -> Fifo {
        let slots = space.sets as usize * space.ways as usize;
        Fifo(Ring::new(space.sets as usize, slots))
    }

    #[inline]
    fn insert(&mut self, set: u32, slot: u32, _lpn: u32) {
        self.0.push(set, slot);
    }

    #[inline]
    fn hit(&mut self, _set: u32, _slot: u32) {}

    #[inline]
    fn victim(&mut self, set: u32, evictable: impl FnMut(u32) -> bool) -> Option<u32> {
        self.0.pop(set, evictable, |_| false)
    }

    fn remove(&mut self, set: u32, slot: u32) {
        self.0.remove(set, slot);
    }

    fn dump(&self, set: u32) -> Vec<u32> {
        self.0.dump(set)
    }
}
