//! Last in, first out.

use super::{Eviction, PolicyInfo, Set, Slot, Space};
use sluice_lists::Lists;
use sluice_units::Lpn;

/// Evicts the page that came in last. One list per set, the newest in front.
pub struct Lifo(Lists<Set, Slot>);

impl Eviction for Lifo {
    const INFO: PolicyInfo = PolicyInfo {
        name: "lifo",
        meaning: "evicts the page that came in last, so the first ones stay for good",
        source: "Cylon section 5.6",
        uses_hits: false,
    };

    fn build(space: &Space) -> Lifo {
        Lifo(Lists::new(space.sets, space.slots()))
    }

    fn insert(&mut self, set: Set, slot: Slot, _lpn: Lpn) {
        self.0.push_front(set, slot);
    }

    fn hit(&mut self, _set: Set, _slot: Slot) -> u32 {
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
