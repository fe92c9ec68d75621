//! From a line to a number, for a bounded number of lines.

/// The number of a slot that holds nothing.
const NONE: u32 = u32::MAX;

/// A hash table of fixed size, linear probing, at most half full: constant time, no allocation.
#[derive(Clone)]
pub(super) struct LineIndex {
    slots: Vec<Slot>,
    len: usize,
}

/// A line beside its number: a search in a table larger than the caches misses once.
#[derive(Clone, Copy)]
struct Slot {
    line: u64,
    /// `NONE` if the slot is empty.
    number: u32,
}

const EMPTY: Slot = Slot {
    line: 0,
    number: NONE,
};

impl LineIndex {
    /// For `capacity` lines; it grows by doubling if there are more.
    pub fn new(capacity: usize) -> LineIndex {
        let slots = (2 * capacity.max(1)).next_power_of_two();
        LineIndex {
            slots: vec![EMPTY; slots],
            len: 0,
        }
    }

    fn home(&self, line: u64) -> usize {
        // Fibonacci hashing: the high bits of the product mix all bits of the line.
        let mixed = line.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> (64 - self.slots.len().trailing_zeros())) as usize
    }

    fn next(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }

    /// The slot of a line, or the empty one where it would go.
    fn slot(&self, line: u64) -> usize {
        let mut slot = self.home(line);
        while self.slots[slot].number != NONE && self.slots[slot].line != line {
            slot = self.next(slot);
        }
        slot
    }

    /// The line's number.
    #[inline]
    pub fn get(&self, line: u64) -> Option<u32> {
        let number = self.slots[self.slot(line)].number;
        (number != NONE).then_some(number)
    }

    /// Gives a line a number below `u32::MAX`, in the place of the one that it may have.
    pub fn set(&mut self, line: u64, number: u32) {
        debug_assert_ne!(number, NONE);
        if 2 * (self.len + 1) > self.slots.len() {
            self.double();
        }
        let slot = self.slot(line);
        self.len += usize::from(self.slots[slot].number == NONE);
        self.slots[slot] = Slot { line, number };
    }

    /// Every line with its number, in order of the lines. For tests and monitors.
    pub fn in_order(&self) -> Vec<(u64, u32)> {
        let taken = self.slots.iter().filter(|slot| slot.number != NONE);
        let mut held: Vec<_> = taken.map(|slot| (slot.line, slot.number)).collect();
        held.sort_unstable();
        held
    }

    fn double(&mut self) {
        let mut larger = LineIndex::new(self.slots.len());
        for Slot { line, number } in self.slots.iter().filter(|slot| slot.number != NONE) {
            larger.set(*line, *number);
        }
        *self = larger;
    }

    /// Takes a line's number away.
    pub fn remove(&mut self, line: u64) -> Option<u32> {
        let mut hole = self.slot(line);
        let number = std::mem::replace(&mut self.slots[hole], EMPTY).number;
        if number == NONE {
            return None;
        }
        self.len -= 1;
        // Whatever probed past the hole moves into it, so that no search ends too early.
        let mask = self.slots.len() - 1;
        let mut slot = self.next(hole);
        while self.slots[slot].number != NONE {
            let home = self.home(self.slots[slot].line);
            if slot.wrapping_sub(home) & mask >= slot.wrapping_sub(hole) & mask {
                self.slots[hole] = std::mem::replace(&mut self.slots[slot], EMPTY);
                hole = slot;
            }
            slot = self.next(slot);
        }
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_is_a_map(
            capacity in 0usize..20,
            steps in prop::collection::vec((0u64..40, 0u32..1000, 0u8..3), 1..300),
        ) {
            let (mut index, mut naive) = (LineIndex::new(capacity), BTreeMap::new());
            for (line, number, step) in steps {
                // Lines far apart as well, as those of interleaved devices are.
                let line = if line % 2 == 0 { line } else { line << 33 };
                if step == 0 {
                    prop_assert_eq!(index.remove(line), naive.remove(&line));
                } else {
                    index.set(line, number);
                    naive.insert(line, number);
                }
                for line in (0..40).flat_map(|line| [line, line << 33]) {
                    prop_assert_eq!(index.get(line), naive.get(&line).copied());
                }
            }
        }
    }
}
