//! A FIFO order whose usual step, evict the oldest and put the newcomer in its slot, moves a hand
//! and changes no link.

use super::Slot;
use sluice_units::{IndexType, Table};

/// Queues of slots, each a circle. The hand is at the oldest slot; the newest is just behind it.
pub(super) struct Ring<Q> {
    /// Per slot in a circle: the number of [its older neighbour, its newer neighbour].
    links: Table<Slot, [u32; 2]>,
    /// Per queue: [slot at the hand + 1, slot just evicted that is still linked + 1].
    hands: Table<Q, [u32; 2]>,
}

const OLDER: usize = 0;
const NEWER: usize = 1;
const HAND: usize = 0;
const HOLE: usize = 1;

impl<Q: IndexType> Ring<Q> {
    pub fn new(queues: u32, slots: u32) -> Ring<Q> {
        Ring {
            links: Table::filled(slots, [0; 2]),
            hands: Table::filled(queues, [0; 2]),
        }
    }

    /// Makes a slot that is not held the newest.
    #[inline]
    pub fn push(&mut self, queue: Q, slot: Slot) {
        let hole = &mut self.hands[queue][HOLE];
        // The hole is just behind the hand: it is the newest already.
        if *hole == slot.0 + 1 {
            *hole = 0;
            return;
        }
        self.close_hole(queue);
        self.link(queue, slot);
    }

    pub fn remove(&mut self, queue: Q, slot: Slot) {
        self.close_hole(queue);
        self.unlink(queue, slot);
    }

    /// Takes out the oldest slot that is `evictable` and not `spared`. A spared slot becomes the
    /// newest, and is asked about again when its turn comes.
    #[inline]
    pub fn pop(
        &mut self,
        queue: Q,
        mut evictable: impl FnMut(Slot) -> bool,
        mut spared: impl FnMut(Slot) -> bool,
    ) -> Option<Slot> {
        self.close_hole(queue);
        let mut slot = Slot(self.hands[queue][HAND].checked_sub(1)?);
        loop {
            let next = self.newer(slot);
            let [hand, hole] = &mut self.hands[queue];
            let at_hand = slot.0 + 1 == *hand;
            let is_last = next.0 + 1 == *hand;
            if !evictable(slot) {
                if is_last {
                    return None;
                }
                slot = next;
            } else if !spared(slot) {
                if at_hand {
                    (*hand, *hole) = (next.0 + 1, slot.0 + 1);
                } else {
                    self.unlink(queue, slot);
                }
                return Some(slot);
            } else if at_hand {
                *hand = next.0 + 1;
                slot = next;
            } else if !is_last {
                self.unlink(queue, slot);
                self.link(queue, slot);
                slot = next;
            }
        }
    }

    /// Unlinks the slot evicted last, which must be done before it is linked elsewhere.
    #[inline]
    pub fn close_hole(&mut self, queue: Q) {
        if let Some(hole) = self.hands[queue][HOLE].checked_sub(1) {
            self.hands[queue][HOLE] = 0;
            self.unlink(queue, Slot(hole));
        }
    }

    fn newer(&self, slot: Slot) -> Slot {
        Slot(self.links[slot][NEWER])
    }

    fn link(&mut self, queue: Q, slot: Slot) {
        let Some(hand) = self.hands[queue][HAND].checked_sub(1) else {
            self.links[slot] = [slot.0; 2];
            self.hands[queue][HAND] = slot.0 + 1;
            return;
        };
        let newest = std::mem::replace(&mut self.links[Slot(hand)][OLDER], slot.0);
        self.links[Slot(newest)][NEWER] = slot.0;
        self.links[slot] = [newest, hand];
    }

    fn unlink(&mut self, queue: Q, slot: Slot) {
        let [older, newer] = self.links[slot];
        self.links[Slot(older)][NEWER] = newer;
        self.links[Slot(newer)][OLDER] = older;
        let hand = &mut self.hands[queue][HAND];
        if *hand == slot.0 + 1 {
            *hand = if newer == slot.0 { 0 } else { newer + 1 };
        }
    }

    /// The slots of a queue, newest first. For tests.
    pub fn dump(&self, queue: Q) -> Vec<Slot> {
        let [hand, hole] = self.hands[queue];
        let Some(oldest) = hand.checked_sub(1).map(Slot) else {
            return Vec::new();
        };
        let newer = |slot: &Slot| Some(self.newer(*slot)).filter(|next| *next != oldest);
        let mut slots: Vec<Slot> = std::iter::successors(Some(oldest), newer).collect();
        slots.retain(|slot| slot.0 + 1 != hole);
        slots.reverse();
        slots
    }
}
