//! A FIFO order whose usual step, evict the oldest and put the newcomer in its slot, moves a hand
//! and changes no link.

/// Per set, slots in a circle. The hand is at the oldest; the newest is just behind it.
pub(super) struct Ring {
    /// Per slot in the circle: [its older neighbour, its newer neighbour].
    links: Vec<[u32; 2]>,
    /// Per set: [slot at the hand + 1, slot just evicted that is still linked + 1].
    hands: Vec<[u32; 2]>,
}

const OLDER: usize = 0;
const NEWER: usize = 1;
const HAND: usize = 0;
const HOLE: usize = 1;

impl Ring {
    pub fn new(sets: usize, slots: usize) -> Ring {
        Ring {
            links: vec![[0; 2]; slots],
            hands: vec![[0; 2]; sets],
        }
    }

    /// Makes a slot that is not held the newest.
    #[inline]
    pub fn push(&mut self, set: u32, slot: u32) {
        let hole = &mut self.hands[set as usize][HOLE];
        // The hole is just behind the hand: it is the newest already.
        if *hole == slot + 1 {
            *hole = 0;
            return;
        }
        self.close_hole(set);
        self.link(set, slot);
    }

    pub fn remove(&mut self, set: u32, slot: u32) {
        self.close_hole(set);
        self.unlink(set, slot);
    }

    /// Takes out the oldest slot that is `evictable` and not `spared`. A spared slot becomes the
    /// newest, and is asked about again when its turn comes.
    #[inline]
    pub fn pop(
        &mut self,
        set: u32,
        mut evictable: impl FnMut(u32) -> bool,
        mut spared: impl FnMut(u32) -> bool,
    ) -> Option<u32> {
        self.close_hole(set);
        let mut slot = self.hands[set as usize][HAND].checked_sub(1)?;
        loop {
            let next = self.links[slot as usize][NEWER];
            let [hand, hole] = &mut self.hands[set as usize];
            let at_hand = slot + 1 == *hand;
            let is_last = next + 1 == *hand;
            if !evictable(slot) {
                if is_last {
                    return None;
                }
                slot = next;
            } else if !spared(slot) {
                if at_hand {
                    (*hand, *hole) = (next + 1, slot + 1);
                } else {
                    self.unlink(set, slot);
                }
                return Some(slot);
            } else if at_hand {
                *hand = next + 1;
                slot = next;
            } else if !is_last {
                self.unlink(set, slot);
                self.link(set, slot);
                slot = next;
            }
        }
    }

    /// Unlinks the slot evicted last, which must be done before it is linked elsewhere.
    #[inline]
    pub fn close_hole(&mut self, set: u32) {
        if let Some(hole) = self.hands[set as usize][HOLE].checked_sub(1) {
            self.hands[set as usize][HOLE] = 0;
            self.unlink(set, hole);
        }
    }

    fn link(&mut self, set: u32, slot: u32) {
        let Some(hand) = self.hands[set as usize][HAND].checked_sub(1) else {
            self.links[slot as usize] = [slot; 2];
            self.hands[set as usize][HAND] = slot + 1;
            return;
        };
        let newest = std::mem::replace(&mut self.links[hand as usize][OLDER], slot);
        self.links[newest as usize][NEWER] = slot;
        self.links[slot as usize] = [newest, hand];
    }

    fn unlink(&mut self, set: u32, slot: u32) {
        let [older, newer] = self.links[slot as usize];
        self.links[older as usize][NEWER] = newer;
        self.links[newer as usize][OLDER] = older;
        let hand = &mut self.hands[set as usize][HAND];
        if *hand == slot + 1 {
            *hand = if newer == slot { 0 } else { newer + 1 };
        }
    }

    /// The slots of a set, newest first. For tests.
    pub fn dump(&self, set: u32) -> Vec<u32> {
        let [hand, hole] = self.hands[set as usize];
        let Some(oldest) = hand.checked_sub(1) else {
            return Vec::new();
        };
        let mut slots = vec![oldest];
        while self.links[slots[slots.len() - 1] as usize][NEWER] != oldest {
            slots.push(self.links[slots[slots.len() - 1] as usize][NEWER]);
        }
        slots.retain(|slot| slot + 1 != hole);
        slots.reverse();
        slots
    }
}
