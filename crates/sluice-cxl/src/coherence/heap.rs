//! The entry of lowest rank in each set, while ranks and entries come and go.

/// An entry that is not in the heap.
const OUT: u32 = u32::MAX;

/// What decides between entries: the lowest leaves first.
pub type Rank = [u64; 2];

/// Places below a place. With four, a heap larger than the caches is half as deep as with two, and
/// those that are compared lie side by side.
const CHILDREN: usize = 4;

/// A heap for each set of numbered entries that knows where each of them is.
#[derive(Clone)]
pub(super) struct Heap {
    /// Entries of a set, whose heap is at the front of its part.
    ways: u32,
    order: Vec<Ranked>,
    /// The length of each set's heap.
    len: Vec<u32>,
    place: Vec<u32>,
}

/// An entry with its rank.
#[derive(Clone, Copy)]
struct Ranked {
    rank: Rank,
    entry: u32,
}

impl Heap {
    /// Empty, for entries below `entries` in sets of `ways`.
    pub fn new(entries: usize, ways: u32) -> Heap {
        let nothing = Ranked {
            rank: [0; 2],
            entry: OUT,
        };
        Heap {
            ways,
            order: vec![nothing; entries],
            len: vec![0; entries / ways as usize],
            place: vec![OUT; entries],
        }
    }

    pub fn contains(&self, entry: u32) -> bool {
        self.place[entry as usize] != OUT
    }

    /// The entry of a set that leaves first.
    pub fn first(&self, set: u32) -> Option<u32> {
        let base = set as usize * self.ways as usize;
        (self.len[set as usize] > 0).then(|| self.order[base].entry)
    }

    /// The set of an entry, and where its heap begins.
    fn set_of(&self, entry: u32) -> (usize, usize) {
        let set = (entry / self.ways) as usize;
        (set, set * self.ways as usize)
    }

    /// Puts an entry in, or gives it another rank.
    pub fn set(&mut self, entry: u32, rank: Rank) {
        let (set, base) = self.set_of(entry);
        let place = match self.place[entry as usize] {
            OUT => {
                self.len[set] += 1;
                self.len[set] as usize - 1
            }
            place => place as usize - base,
        };
        self.settle(set, place, Ranked { rank, entry });
    }

    /// Takes out an entry that is in.
    pub fn remove(&mut self, entry: u32) {
        let place = std::mem::replace(&mut self.place[entry as usize], OUT) as usize;
        let (set, base) = self.set_of(entry);
        self.len[set] -= 1;
        let last = self.order[base + self.len[set] as usize];
        if last.entry != entry {
            self.settle(set, place - base, last);
        }
    }

    fn put(&mut self, place: usize, ranked: Ranked) {
        self.order[place] = ranked;
        self.place[ranked.entry as usize] = place as u32;
    }

    /// Puts an entry where it belongs, given a place of its set that is free.
    fn settle(&mut self, set: usize, mut place: usize, ranked: Ranked) {
        let (base, len) = (set * self.ways as usize, self.len[set] as usize);
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            let above = self.order[base + parent];
            if above.rank <= ranked.rank {
                break;
            }
            self.put(base + place, above);
            place = parent;
        }
        loop {
            let first = CHILDREN * place + 1;
            let children = base + first.min(len)..base + (first + CHILDREN).min(len);
            let at = children.start;
            let lowest = self.order[children].iter().enumerate();
            let lowest = lowest.min_by_key(|(_, child)| child.rank);
            let Some((child, below)) = lowest.filter(|(_, below)| below.rank < ranked.rank) else {
                break;
            };
            let below = *below;
            self.put(base + place, below);
            place = at + child - base;
        }
        self.put(base + place, ranked);
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
