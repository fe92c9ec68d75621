//! Random replacement, the baseline that no pattern can defeat.

use super::{Eviction, PolicyInfo, Set, Slot, Space};
use sluice_units::{IndexType, Lpn, Rng, Table};

/// How often a slot is drawn again that holds no page for the policy. With nine pages in ten
/// pinned, all draws fail once in eight hundred times.
const REDRAWS_MAX: u32 = 64;

/// Evicts a uniformly drawn page. Keeps nothing but its random stream.
pub struct Random {
    rng: Rng,
    ways: u32,
    /// Per slot: whether it is held. In a full set all are, but for pinned pages.
    held: Table<Slot, bool>,
}

impl Eviction for Random {
    const INFO: PolicyInfo = PolicyInfo {
        name: "random",
        meaning: "evicts a page drawn uniformly from the set",
        source: "baseline",
        uses_hits: false,
    };

    fn build(space: &Space) -> Random {
        Random {
            rng: space.rng.clone(),
            ways: space.ways,
            held: Table::filled(space.slots(), false),
        }
    }

    fn insert(&mut self, _set: Set, slot: Slot, _lpn: Lpn) {
        self.held[slot] = true;
    }

    fn hit(&mut self, _set: Set, _slot: Slot) -> u32 {
        0
    }

    /// Draws again for a pinned page. If the page drawn may not leave yet, the next one does.
    fn victim(&mut self, set: Set, mut evictable: impl FnMut(Slot) -> bool) -> Option<Slot> {
        let first = set.0 * self.ways;
        let slot_at = |way| Slot(first + way);
        let mut draw = || self.rng.below(u64::from(self.ways)) as u32;
        let mut drawn = draw();
        for _ in 0..REDRAWS_MAX {
            if self.held[slot_at(drawn)] {
                break;
            }
            drawn = draw();
        }
        let ways = (drawn..self.ways).chain(0..drawn);
        let slot = ways
            .map(slot_at)
            .find(|slot| self.held[*slot] && evictable(*slot))?;
        self.held[slot] = false;
        Some(slot)
    }

    fn remove(&mut self, _set: Set, slot: Slot) {
        self.held[slot] = false;
    }

    fn dump(&self, set: Set) -> Vec<Slot> {
        let slots = Slot::range(set.0 * self.ways..(set.0 + 1) * self.ways);
        slots.filter(|slot| self.held[*slot]).collect()
    }
}
