//! SIEVE (Zhang et al., NSDI 2024).

use super::{Eviction, PolicyInfo, Space};
use sluice_lists::Lists;

/// FIFO order that is never changed: a hand goes from the oldest to the newest, lets pages pass
/// that were accessed since it last came by, and evicts the first that was not.
///
/// A newcomer enters in front of the hand's whole way, so pages behind the hand are old and good.
pub struct Sieve {
    order: Lists,
    /// Per slot: accessed since the hand last passed.
    visited: Vec<bool>,
    /// Per set: the slot that the hand is at + 1, or 0 if it starts from the oldest.
    hands: Vec<u32>,
}

impl Eviction for Sieve {
    const INFO: PolicyInfo = PolicyInfo {
        name: "sieve",
        meaning: "a hand passes over pages accessed since it last came by, and never moves them",
        source: "Zhang et al., NSDI 2024, algorithm 1",
        uses_hits: true,
    };

    fn build(space: &Space) -> Sieve {
        let slots = space.sets as usize * space.ways as usize;
        Sieve {
            order: Lists::new(space.sets, slots as u32),
            visited: vec![false; slots],
            hands: vec![0; space.sets as usize],
        }
    }

    #[inline]
    fn insert(&mut self, set: u32, slot: u32, _lpn: u32) {
        self.visited[slot as usize] = false;
        self.order.push_front(set, slot);
    }

    #[inline]
    fn hit(&mut self, _set: u32, slot: u32) {
        self.visited[slot as usize] = true;
    }

    #[inline]
    fn victim(&mut self, set: u32, mut evictable: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut cursor = self.hands[set as usize].checked_sub(1);
        // The rest of the way, once round to clear marks, and once more to find a cleared one.
        for _ in 0..3 {
            let mut at = cursor.take().or_else(|| self.order.back(set));
            while let Some(slot) = at {
                at = self.order.newer(slot);
                if !evictable(slot) {
                    continue;
                }
                if !std::mem::take(&mut self.visited[slot as usize]) {
                    self.hands[set as usize] = at.map_or(0, |next| next + 1);
                    self.order.remove(set, slot);
                    return Some(slot);
                }
            }
        }
        None
    }

    fn remove(&mut self, set: u32, slot: u32) {
        if self.hands[set as usize] == slot + 1 {
            self.hands[set as usize] = self.order.newer(slot).map_or(0, |next| next + 1);
        }
        self.order.remove(set, slot);
    }

    /// In the order in which the hand comes by.
    fn dump(&self, set: u32) -> Vec<u32> {
        let mut slots: Vec<u32> = self.order.iter(set).collect();
        let at = |slot: &u32| slot + 1 == self.hands[set as usize];
        if let Some(place) = slots.iter().position(at) {
            slots.rotate_left(place + 1);
        }
        slots
    }
}
