//! The event queue.

use sluice_units::Ps;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Events in order of time; those of the same time in the order in which they were added.
pub struct Events<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    sequence: u64,
}

struct Entry<T> {
    at: Ps,
    sequence: u64,
    event: T,
}

impl<T> Entry<T> {
    fn key(&self) -> (Ps, u64) {
        (self.at, self.sequence)
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl<T> Events<T> {
    /// An empty queue with memory for `capacity` events.
    pub fn with_capacity(capacity: usize) -> Events<T> {
        Events {
            heap: BinaryHeap::with_capacity(capacity),
            sequence: 0,
        }
    }

    /// Adds an event.
    pub fn push(&mut self, at: Ps, event: T) {
        self.heap.push(Reverse(Entry {
            at,
            sequence: self.sequence,
            event,
        }));
        self.sequence += 1;
    }

    /// Takes the earliest event.
    pub fn pop(&mut self) -> Option<(Ps, T)> {
        self.heap
            .pop()
            .map(|Reverse(entry)| (entry.at, entry.event))
    }

    /// When the earliest event is due.
    pub fn next_at(&self) -> Option<Ps> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }
}
