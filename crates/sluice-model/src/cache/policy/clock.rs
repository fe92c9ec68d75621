//! CLOCK, also called second chance.

use super::{Eviction, PolicyInfo, Space};
use crate::lists::Lists;

/// FIFO in which a page accessed since it came in, or since its last reprieve, goes round again.
///
/// The clock face is a list per set: the hand stands at its back, and a spared page moves to the
/// front, which is the same as leaving it and moving the hand.
pub struct Clock {
    order: Lists,
    /// Per slot: accessed since the hand last passed.
    referenced: Vec<bool>,
}

impl Eviction for Clock {
    const INFO: PolicyInfo = PolicyInfo {
        name: "clock",
        meaning: "FIFO that spares a page once if it was accessed since it last came up",
        source: "Cylon section 5.6 (second chance); Corbato 1968",
        uses_hits: true,
    };

    fn build(space: &Space) -> Clock {
        let slots = (space.sets * space.ways) as usize;
        Clock {
            order: Lists::new(space.sets as usize, slots),
            referenced: vec![false; slots],
        }
    }

    fn insert(&mut self, set: u32, slot: u32, _lpn: u32) {
        self.referenced[slot as usize] = false;
        self.order.push_front(set, slot);
    }

    fn hit(&mut self, _set: u32, slot: u32) {
        self.referenced[slot as usize] = true;
    }

    fn victim(&mut self, set: u32, mut evictable: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut cursor = self.order.back(set);
        // Each slot is spared once at most, so the hand goes round twice at most.
        while let Some(slot) = cursor {
            cursor = self.order.newer(slot);
            if !evictable(slot) {
                continue;
            }
            if !self.referenced[slot as usize] {
                self.order.remove(set, slot);
                return Some(slot);
            }
            self.referenced[slot as usize] = false;
            self.order.move_to_front(set, slot);
            cursor = cursor.or(Some(slot));
        }
        None
    }

    fn remove(&mut self, set: u32, slot: u32) {
        self.order.remove(set, slot);
    }

    fn dump(&self, set: u32) -> Vec<u32> {
        self.order.iter(set).collect()
    }
}
