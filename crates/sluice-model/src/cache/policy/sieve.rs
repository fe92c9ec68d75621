//! SIEVE (Zhang et al., NSDI 2024).

use super::{Eviction, PolicyInfo, Set, Slot, Space};
use sluice_lists::Lists;
use sluice_units::{Links, Lpn, Table};

/// FIFO order that is never changed: a hand goes from the oldest to the newest, lets pages pass
/// that were accessed since it last came by, and evicts the first that was not.
///
/// A newcomer enters in front of the hand's whole way, so pages behind the hand are old and good.
pub struct Sieve {
    order: Lists<Set, Slot>,
    /// Per slot: accessed since the hand last passed.
    visited: Table<Slot, bool>,
    /// The slot that the hand of each set is at. A hand that is at none starts from the oldest.
    hands: Links<Set, Slot>,
}

impl Eviction for Sieve {
    const INFO: PolicyInfo = PolicyInfo {
        name: "sieve",
        meaning: "a hand passes over pages accessed since it last came by, and never moves them",
        source: "Zhang et al., NSDI 2024, algorithm 1",
        uses_hits: true,
    };

    fn build(space: &Space) -> Sieve {
        Sieve {
            order: Lists::new(space.sets, space.slots()),
            visited: Table::filled(space.slots(), false),
            hands: Links::none(space.sets),
        }
    }

    #[inline]
    fn insert(&mut self, set: Set, slot: Slot, _lpn: Lpn) {
        self.visited[slot] = false;
        self.order.push_front(set, slot);
    }

    #[inline]
    fn hit(&mut self, _set: Set, slot: Slot) -> u32 {
        self.visited[slot] = true;
        0
    }

    #[inline]
    fn victim(&mut self, set: Set, mut evictable: impl FnMut(Slot) -> bool) -> Option<Slot> {
        let mut cursor = self.hands.get(set);
        // The rest of the way, once round to clear marks, and once more to find a cleared one.
        for _ in 0..3 {
            let mut at = cursor.take().or_else(|| self.order.back(set));
            while let Some(slot) = at {
                at = self.order.newer(slot);
                if !evictable(slot) {
                    continue;
                }
                if !std::mem::take(&mut self.visited[slot]) {
                    self.hands.set(set, at);
                    self.order.remove(set, slot);
                    return Some(slot);
                }
            }
        }
        None
    }

    fn remove(&mut self, set: Set, slot: Slot) {
        if self.hands.get(set) == Some(slot) {
            self.hands.set(set, self.order.newer(slot));
        }
        self.order.remove(set, slot);
    }

    /// In the order in which the hand comes by.
    fn dump(&self, set: Set) -> Vec<Slot> {
        let mut slots: Vec<Slot> = self.order.iter(set).collect();
        let hand = self.hands.get(set);
        if let Some(at) = slots.iter().position(|slot| Some(*slot) == hand) {
            slots.rotate_left(at + 1);
        }
        slots
    }
}
