//! The entry of lowest rank in each set, while ranks and entries come and go.

/// An entry that is not in the heap.
const OUT: u32 = u32::MAX;

/// What decides between entries: the lowest leaves first.
pub type Rank = [u64; 2];

/// A binary heap for each set of numbered entries that knows where each of them is.
#[derive(Clone)]
pub(super) struct Heap {
    /// Entries of a set, whose heap is at the front of its part.
    ways: u32,
    order: Vec<u32>,
    /// Of each set, how many are in its heap.
    len: Vec<u32>,
    place: Vec<u32>,
    rank: Vec<Rank>,
}

impl Heap {
    /// Empty, for entries below `entries` in sets of `ways`.
    pub fn new(entries: usize, ways: u32) -> Heap {
        Heap {
            ways,
            order: vec![OUT; entries],
            len: vec![0; entries / ways as usize],
            place: vec![OUT; entries],
            rank: vec![[0; 2]; entries],
        }
    }

    pub fn contains(&self, entry: u32) -> bool {
        self.place[entry as usize] != OUT
    }

    /// The entry of a set that leaves first.
    pub fn first(&self, set: u32) -> Option<u32> {
        let base = set as usize * self.ways as usize;
        (self.len[set as usize] > 0).then(|| self.order[base])
    }

    /// The set of an entry, and where its heap begins.
    fn set_of(&self, entry: u32) -> (usize, usize) {
        let set = (entry / self.ways) as usize;
        (set, set * self.ways as usize)
    }

    /// Puts an entry in, or gives it another rank.
    pub fn set(&mut self, entry: u32, rank: Rank) {
        self.rank[entry as usize] = rank;
        if !self.contains(entry) {
            let (set, base) = self.set_of(entry);
            self.put(base + self.len[set] as usize, entry);
            self.len[set] += 1;
        }
        self.settle(self.place[entry as usize] as usize);
    }

    /// Takes out an entry that is in.
    pub fn remove(&mut self, entry: u32) {
        let place = std::mem::replace(&mut self.place[entry as usize], OUT) as usize;
        let (set, base) = self.set_of(entry);
        self.len[set] -= 1;
        let last = self.order[base + self.len[set] as usize];
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
    fn settle(&mut self, place: usize) {
        let entry = self.order[place];
        let rank = self.rank[entry as usize];
        let (set, base) = self.set_of(entry);
        let (len, mut place) = (self.len[set] as usize, place - base);
        while place > 0 && rank < self.rank_at(base + (place - 1) / 2) {
            let parent = (place - 1) / 2;
            self.put(base + place, self.order[base + parent]);
            place = parent;
        }
        loop {
            let mut child = 2 * place + 1;
            if child >= len {
                break;
            }
            if child + 1 < len && self.rank_at(base + child + 1) < self.rank_at(base + child) {
                child += 1;
            }
            if rank <= self.rank_at(base + child) {
                break;
            }
            self.put(base + place, self.order[base + child]);
            place = child;
        }
        self.put(base + place, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn the_first_of_a_set_is_the_lowest(
            ways in prop::sample::select(vec![1u32, 3, 8, 24]),
            steps in prop::collection::vec((0u32..24, 0u64..50, any::<bool>()), 1..300),
        ) {
            let (mut heap, mut naive) = (Heap::new(24, ways), BTreeMap::new());
            for (step, (entry, rank, put)) in steps.into_iter().enumerate() {
                let rank = [rank, step as u64];
                if put {
                    heap.set(entry, rank);
                    naive.insert(entry, rank);
                } else if heap.contains(entry) {
                    heap.remove(entry);
                    naive.remove(&entry);
                }
                for set in 0..24 / ways {
                    let here = naive.iter().filter(|(entry, _)| **entry / ways == set);
                    let lowest = here.min_by_key(|(_, rank)| **rank);
                    prop_assert_eq!(heap.first(set), lowest.map(|(entry, _)| *entry));
                }
                for entry in 0..24 {
                    prop_assert_eq!(heap.contains(entry), naive.contains_key(&entry));
                }
            }
        }
    }
}
