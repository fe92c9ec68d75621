//! The event queue.

use sluice_units::Ps;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Bits of a time within a stretch: 2048 ps.
const STRETCH_BITS: u32 = 11;
/// Stretches of the wheel: two microseconds all together, twice as far as a core runs ahead.
const STRETCHES: u64 = 1024;
const WORDS: usize = STRETCHES as usize / 64;
/// No entry.
const NONE: u32 = u32::MAX;

/// Events in order of time; those of the same time in the order in which they were added.
///
/// Most are due soon. They stand in a wheel of short stretches of time, a list for each, in order;
/// later ones in a heap. So adding and taking cost the same however many there are.
pub struct Events<T> {
    entries: Vec<Entry<T>>,
    /// The first of the entries that are not in use.
    unused: u32,
    /// First and last entry of each stretch.
    lists: Box<[(u32, u32)]>,
    /// A bit for each list that is not empty.
    filled: [u64; WORDS],
    /// The stretch of the event taken last: there are none before it.
    base: u64,
    /// The earliest of the wheel: its key and its list.
    first: Option<(Key, usize)>,
    far: BinaryHeap<Reverse<Far<T>>>,
    sequence: u64,
}

type Key = (Ps, u64);

struct Entry<T> {
    key: Key,
    next: u32,
    event: Option<T>,
}

struct Far<T> {
    key: Key,
    event: T,
}

impl<T> PartialEq for Far<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<T> Eq for Far<T> {}

impl<T> PartialOrd for Far<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Far<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

/// The stretch that a time is in.
fn stretch(at: Ps) -> u64 {
    at.0 >> STRETCH_BITS
}

impl<T> Events<T> {
    /// An empty queue with memory for `capacity` events.
    pub fn with_capacity(capacity: usize) -> Events<T> {
        Events {
            entries: Vec::with_capacity(capacity),
            unused: NONE,
            lists: vec![(NONE, NONE); STRETCHES as usize].into_boxed_slice(),
            filled: [0; WORDS],
            base: 0,
            first: None,
            far: BinaryHeap::with_capacity(capacity),
            sequence: 0,
        }
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, at: Ps, event: T) {
        let key = (at, self.sequence);
        self.sequence += 1;
        // What comes late is still in order within the earliest list.
        let stretch = stretch(at).max(self.base);
        if stretch >= self.base + STRETCHES {
            return self.far.push(Reverse(Far { key, event }));
        }
        let list = (stretch % STRETCHES) as usize;
        let entry = self.entry(key, event);
        self.link(list, entry, key);
        if self.first.is_none_or(|(first, _)| key < first) {
            self.first = Some((key, list));
        }
    }

    /// Takes the earliest event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Ps, T)> {
        let far = self.far.peek().map(|Reverse(far)| far.key);
        let Some((key, list)) = self.first else {
            let Reverse(far) = self.far.pop()?;
            self.base = self.base.max(stretch(far.key.0));
            return Some((far.key.0, far.event));
        };
        if far.is_some_and(|far| far < key) {
            let Reverse(far) = self.far.pop()?;
            return Some((far.key.0, far.event));
        }
        self.base = self.base.max(stretch(key.0));
        let (head, _) = self.lists[list];
        let entry = &mut self.entries[head as usize];
        let next = std::mem::replace(&mut entry.next, self.unused);
        let event = entry.event.take();
        self.unused = head;
        self.lists[list].0 = next;
        if next == NONE {
            self.filled[list / 64] &= !(1 << (list % 64));
        }
        self.first = self.earliest();
        event.map(|event| (key.0, event))
    }

    /// When the earliest event is due.
    #[inline]
    pub fn next_at(&self) -> Option<Ps> {
        let near = self.first.map(|(key, _)| key.0);
        let far = self.far.peek().map(|Reverse(far)| far.key.0);
        match (near, far) {
            (Some(near), Some(far)) => Some(near.min(far)),
            (near, far) => near.or(far),
        }
    }

    /// An entry that was not in use.
    fn entry(&mut self, key: Key, event: T) -> u32 {
        let (next, event) = (NONE, Some(event));
        let filled = Entry { key, next, event };
        match self.entries.get_mut(self.unused as usize) {
            Some(unused) => {
                let place = self.unused;
                self.unused = unused.next;
                *unused = filled;
                place
            }
            None => {
                self.entries.push(filled);
                self.entries.len() as u32 - 1
            }
        }
    }

    /// Puts an entry into its list, in order. It has the highest sequence number so far.
    fn link(&mut self, list: usize, entry: u32, key: Key) {
        let (head, tail) = self.lists[list];
        if head == NONE {
            self.filled[list / 64] |= 1 << (list % 64);
            self.lists[list] = (entry, entry);
        } else if self.entries[tail as usize].key.0 <= key.0 {
            self.entries[tail as usize].next = entry;
            self.lists[list].1 = entry;
        } else if self.entries[head as usize].key.0 > key.0 {
            self.entries[entry as usize].next = head;
            self.lists[list].0 = entry;
        } else {
            let mut before = head;
            loop {
                let next = self.entries[before as usize].next;
                if self.entries[next as usize].key.0 > key.0 {
                    break;
                }
                before = next;
            }
            let after = std::mem::replace(&mut self.entries[before as usize].next, entry);
            self.entries[entry as usize].next = after;
        }
    }

    /// The first entry of the first list from the base on.
    fn earliest(&self) -> Option<(Key, usize)> {
        let start = (self.base % STRETCHES) as usize;
        let mut word = start / 64;
        let mut bits = self.filled[word] & (u64::MAX << (start % 64));
        // Once round, and the part of the first word before the start.
        for _ in 0..=WORDS {
            if bits != 0 {
                let list = word * 64 + bits.trailing_zeros() as usize;
                let (head, _) = self.lists[list];
                return Some((self.entries[head as usize].key, list));
            }
            word = (word + 1) % WORDS;
            bits = self.filled[word];
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Near and far, of the same time, and earlier than what was taken last.
        #[test]
        fn events_come_in_the_order_of_a_sorted_list(
            steps in prop::collection::vec(
                (0u8..3, prop_oneof![0u64..3, 0u64..5_000, 0u64..3_000_000, 0u64..30_000_000]),
                1..400,
            ),
        ) {
            let mut events = Events::with_capacity(2);
            let mut naive: Vec<(u64, usize)> = Vec::new();
            let mut now = 0u64;
            for (number, (what, delay)) in steps.into_iter().enumerate() {
                if what < 2 {
                    let at = match what {
                        0 => now + delay,
                        _ => (now + delay / 2).saturating_sub(1_000),
                    };
                    events.push(Ps(at), number);
                    naive.push((at, number));
                } else {
                    let least = naive.iter().copied().min();
                    naive.retain(|event| Some(*event) != least);
                    let popped = events.pop();
                    prop_assert_eq!(popped.map(|(at, number)| (at.0, number)), least);
                    now = least.map_or(now, |(at, _)| at);
                }
                let next = naive.iter().map(|(at, _)| Ps(*at)).min();
                prop_assert_eq!(events.next_at(), next);
            }
        }
    }
}
