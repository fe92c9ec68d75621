//! How many pages are touched before one is touched again: the misses of LRU at every size.

use std::collections::HashMap;

/// Reuse distances (LRU stack distances; Mattson and others 1970).
///
/// Each page has a slot, that of its last touch; slots are in order of time. Pages touched since
/// are the slots in use behind a page's own, which a Fenwick tree counts.
#[derive(Default)]
pub struct Reuse {
    /// The slot of each page, from 1.
    slots: HashMap<u64, usize>,
    /// Sums of slots in use.
    tree: Vec<u32>,
    /// The slot that was given last.
    last: usize,
    /// The page that was touched last.
    page: Option<u64>,
    touches: u64,
    first: u64,
    /// Touches by distance, as far as any has been seen.
    distances: Vec<u64>,
}

const SLOTS_MIN: usize = 1 << 12;

impl Reuse {
    /// Counts a touch of a page.
    pub fn touch(&mut self, page: u64) {
        self.touches += 1;
        if self.page == Some(page) {
            return self.count(0);
        }
        self.page = Some(page);
        if self.last + 1 >= self.tree.len() {
            self.renumber();
        }
        self.last += 1;
        match self.slots.insert(page, self.last) {
            Some(slot) => {
                let distance = self.slots.len() as u64 - self.sum(slot);
                self.count(distance);
                self.add(slot, u32::MAX);
            }
            None => self.first += 1,
        }
        self.add(self.last, 1);
    }

    /// Begins to count anew. Which pages were touched, and in which order, stays known.
    pub fn reset(&mut self) {
        (self.touches, self.first) = (0, 0);
        self.distances.clear();
    }

    /// Touches, among them the first of each page.
    pub fn touches(&self) -> u64 {
        self.touches
    }

    /// First touches of a page, which no cache can hit.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Pages touched so far.
    pub fn pages(&self) -> u64 {
        self.slots.len() as u64
    }

    /// Touches by distance in other pages: of 0, of 1, of 2, and so on to the largest. First
    /// touches have none.
    pub fn distances(&self) -> &[u64] {
        &self.distances
    }

    /// Touches by distance in other pages: of 0, of 1, of 2 to 3, of 4 to 7, and so on.
    pub fn buckets(&self) -> Vec<u64> {
        let mut buckets = Vec::new();
        for (distance, count) in self.distances.iter().enumerate() {
            let bucket = (usize::BITS - distance.leading_zeros()) as usize;
            buckets.resize(bucket + 1, 0);
            buckets[bucket] += count;
        }
        buckets
    }

    /// Misses of LRU with so many pages.
    pub fn lru_misses(&self, pages: u64) -> u64 {
        let held = usize::try_from(pages).unwrap_or(usize::MAX);
        let hits: u64 = self.distances.iter().take(held).sum();
        self.touches - hits
    }

    fn count(&mut self, distance: u64) {
        let distance = distance as usize;
        if distance >= self.distances.len() {
            self.distances.resize(distance + 1, 0);
        }
        self.distances[distance] += 1;
    }

    /// Slots in use up to one.
    fn sum(&self, mut slot: usize) -> u64 {
        let mut sum = 0u64;
        while slot > 0 {
            sum += u64::from(self.tree[slot]);
            slot &= slot - 1;
        }
        sum
    }

    /// Adds to a slot, modulo 2^32.
    fn add(&mut self, mut slot: usize, difference: u32) {
        while slot < self.tree.len() {
            self.tree[slot] = self.tree[slot].wrapping_add(difference);
            slot += slot & slot.wrapping_neg();
        }
    }

    /// Gives the pages the first slots, in order of time, and makes room for as many more.
    fn renumber(&mut self) {
        let mut order: Vec<(usize, u64)> = self.slots.iter().map(|(p, slot)| (*slot, *p)).collect();
        order.sort_unstable();
        let room = (2 * order.len()).max(SLOTS_MIN) + 1;
        self.tree = vec![0; room];
        self.last = 0;
        for (_, page) in order {
            self.last += 1;
            self.slots.insert(page, self.last);
            self.add(self.last, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(32)))]
        #[test]
        fn distances_are_those_of_a_list(
            pages in prop::collection::vec((0..6u32, 0..600u64), 1..9000),
        ) {
            // A list with the page touched last in front.
            let (mut list, mut naive) = (Vec::new(), Vec::new());
            let mut reuse = Reuse::default();
            let pages: Vec<u64> = pages.into_iter().map(|(shift, page)| page >> shift).collect();
            for page in &pages {
                reuse.touch(*page);
                let found = list.iter().position(|other| other == page);
                naive.extend(found);
                found.map(|at| list.remove(at));
                list.insert(0, *page);
            }
            for size in 0..700 {
                let hits = naive.iter().filter(|distance| **distance < size).count();
                prop_assert_eq!(reuse.lru_misses(size as u64), (pages.len() - hits) as u64);
            }
            for (power, count) in reuse.buckets().iter().enumerate() {
                let range = (1 << power) / 2..1 << power;
                let within = naive.iter().filter(|distance| range.contains(*distance)).count();
                prop_assert_eq!(*count, within as u64);
            }
            prop_assert_eq!(reuse.first(), list.len() as u64);
            prop_assert_eq!(reuse.first() + naive.len() as u64, reuse.touches());
            reuse.reset();
            list.iter().rev().for_each(|page| reuse.touch(*page));
            prop_assert_eq!((reuse.first(), reuse.lru_misses(list.len() as u64)), (0, 0));
        }
    }
}
