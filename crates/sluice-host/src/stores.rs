//! The store buffer: stores that have retired go to the cache in order.

use super::window::NO_MISS;
use std::collections::VecDeque;

/// Stores that may not be in the cache yet, oldest first: when they will be, or not before, and the
/// miss whose answer decides it.
pub(super) struct StoreBuffer {
    entries: VecDeque<(u64, u32)>,
    capacity: usize,
}

impl StoreBuffer {
    pub fn new(capacity: u32) -> StoreBuffer {
        StoreBuffer {
            entries: VecDeque::with_capacity(capacity as usize),
            capacity: capacity as usize,
        }
    }

    /// From when on there is room for one more; `None` if that is not known yet.
    #[inline]
    pub fn room(&mut self) -> Option<u64> {
        if self.entries.len() < self.capacity {
            return Some(0);
        }
        let (at, miss) = self.entries[0];
        if miss != NO_MISS {
            return None;
        }
        self.entries.pop_front();
        Some(at)
    }

    /// The stores that wait for a miss are in the cache at `at`.
    pub fn settle(&mut self, miss: u32, at: u64) {
        for entry in self.entries.iter_mut().filter(|entry| entry.1 == miss) {
            *entry = (entry.0.max(at), NO_MISS);
        }
    }

    /// Adds a store that was given room.
    #[inline]
    pub fn push(&mut self, at: u64, miss: u32) {
        self.entries.push_back((at, miss));
    }
}
