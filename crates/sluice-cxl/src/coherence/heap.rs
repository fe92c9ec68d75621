//! The entry of lowest rank, while ranks and entries come and go.

/// An entry that is not in the heap.
const OUT: u32 = u32::MAX;

/// What decides between entries: the lowest leaves first.
pub type Rank = [u64; 2];

/// A binary heap over numbered entries that knows where each of them is.
#[derive(Clone)]
pub(super) struct Heap {
    order: Vec<u32>,
    place: Vec<u32>,
    rank: Vec<Rank>,
}

impl Heap {
    /// Empty, for entries below `entries`.
    pub fn new(entries: usize) -> Heap {
        Heap {
            order: Vec::with_capacity(entries),
            place: vec![OUT; entries],
            rank: vec![[0; 2]; entries],
        }
    }

    pub fn contains(&self, entry: u32) -> bool {
        self.place[entry as usize] != OUT
    }

    /// The entry that leaves first.
    pub fn first(&self) -> Option<u32> {
        self.order.first().copied()
    }

    /// Puts an entry in, or gives it another rank.
    pub fn set(&mut self, entry: u32, rank: Rank) {
        self.rank[entry as usize] = rank;
        if !self.contains(entry) {
            self.place[entry as usize] = self.order.len() as u32;
            self.order.push(entry);
        }
        self.settle(self.place[entry as usize] as usize);
    }

    /// Takes out an entry that is in.
    pub fn remove(&mut self, entry: u32) {
        let place = std::mem::replace(&mut self.place[entry as usize], OUT) as usize;
        let last = self.order.pop().expect("an entry that is in");
        if last != entry {
            self.put(place, last);
            self.settle(place);
        }
    }

    fn put(&mut self, place: usize, entry: u32) {
        self.order[place] = entry;
        self.place[entry as usize] = place as u32;
    }

    fn rank_at(&self, place: usize) -> Rank {
        self.rank[self.order[place] as usize]
    }

    /// Moves the entry of a place to where it belongs.
    fn settle(&mut self, mut place: usize) {
        let entry = self.order[place];
        let rank = self.rank[entry as usize];
        while place > 0 && rank < self.rank_at((place - 1) / 2) {
            let parent = (place - 1) / 2;
            self.put(place, self.order[parent]);
            place = parent;
        }
        loop {
            let mut child = 2 * place + 1;
            if child >= self.order.len() {
                break;
            }
            if child + 1 < self.order.len() && self.rank_at(child + 1) < self.rank_at(child) {
                child += 1;
            }
            if rank <= self.rank_at(child) {
                break;
            }
            self.put(place, self.order[child]);
            place = child;
        }
        self.put(place, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn the_first_is_the_lowest(
            steps in prop::collection::vec((0u32..24, 0u64..50, any::<bool>()), 1..300),
        ) {
            let (mut heap, mut naive) = (Heap::new(24), BTreeMap::new());
            for (step, (entry, rank, put)) in steps.into_iter().enumerate() {
                let rank = [rank, step as u64];
                if put {
                    heap.set(entry, rank);
                    naive.insert(entry, rank);
                } else if heap.contains(entry) {
                    heap.remove(entry);
                    naive.remove(&entry);
                }
                let lowest = naive.iter().min_by_key(|(_, rank)| **rank);
                prop_assert_eq!(heap.first(), lowest.map(|(entry, _)| *entry));
                for entry in 0..24 {
                    prop_assert_eq!(heap.contains(entry), naive.contains_key(&entry));
                }
            }
        }
    }
}
