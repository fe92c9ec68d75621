//! First in, first out.

use super::ring::Ring;
use super::{Eviction, PolicyInfo, Set, Slot, Space};
use sluice_units::Lpn;

/// Evicts the page that came in first.
pub struct Fifo(Ring<Set>);

impl Eviction for Fifo {
    const INFO: PolicyInfo = PolicyInfo {
        name: "fifo",
        meaning: "evicts the page that came in first",
        source: "Cylon section 5.6",
        uses_hits: false,
    };

    fn build(space: &Space) -> Fifo {
        Fifo(Ring::new(space.sets, space.slots()))
    }

    #[inline]
    fn insert(&mut self, set: Set, slot: Slot, _lpn: Lpn) {
        self.0.push(set, slot);
    }

    #[inline]
    fn hit(&mut self, _set: Set, _slot: Slot) -> u32 {
        0
    }

    #[inline]
    fn victim(&mut self, set: Set, evictable: impl FnMut(Slot) -> bool) -> Option<Slot> {
        self.0.pop(set, evictable, |_| false)
    }

    fn remove(&mut self, set: Set, slot: Slot) {
        self.0.remove(set, slot);
    }

    fn dump(&self, set: Set) -> Vec<Slot> {
        self.0.dump(set)
    }
}
