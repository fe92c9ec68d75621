//! Which line of a host's cache leaves.

use sluice_lists::Lists;
use sluice_params::choices;

choices! {
    /// Replacement in a host's cache.
    #[derive(Hash)]
    pub enum Replacement {
        Lru = "lru": "the line whose last use is longest ago",
        Fifo = "fifo": "the line that came in first",
    }
}

/// The places of each set: those never used or empty, and the others in order.
#[derive(Clone)]
pub(super) struct ReplacementOrder {
    used: Lists,
    /// Places without a line, a list for each set.
    empty: Lists,
    ways: u32,
    sets: u32,
    replacement: Replacement,
}

impl ReplacementOrder {
    pub fn new(lines: u32, ways: u32, replacement: Replacement) -> ReplacementOrder {
        let sets = lines / ways;
        let mut empty = Lists::new(sets, lines);
        for place in 0..lines {
            empty.push_front(place / ways, place);
        }
        ReplacementOrder {
            used: Lists::new(sets, lines),
            empty,
            ways,
            sets,
            replacement,
        }
    }

    /// The set that an index picks.
    pub fn set_of(&self, index: u64) -> u32 {
        (index % u64::from(self.sets)) as u32
    }

    /// Places in a set.
    pub fn ways(&self) -> u32 {
        self.ways
    }

    /// The line in a place was used.
    #[inline]
    pub fn touch(&mut self, place: u32) {
        if self.replacement == Replacement::Lru {
            self.used.move_to_front(place / self.ways, place);
        }
    }

    /// A place in a set, empty or the first to leave; it is in no list until `enter`. None if all
    /// are held.
    pub fn place(&mut self, set: u32, held: impl Fn(u32) -> bool) -> Option<u32> {
        self.empty.pop_back(set).or_else(|| {
            let place = self.used.oldest(set, |place| !held(place))?;
            self.used.remove(set, place);
            Some(place)
        })
    }

    /// A line is in its place.
    pub fn enter(&mut self, place: u32) {
        self.used.push_front(place / self.ways, place);
    }

    /// A place became empty.
    pub fn leave(&mut self, place: u32) {
        let set = place / self.ways;
        self.used.remove(set, place);
        self.empty.push_front(set, place);
    }

    /// The places in use, those of one set from the newest to the oldest.
    pub fn in_order(&self) -> impl Iterator<Item = u32> {
        (0..self.sets).flat_map(|set| self.used.iter(set))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two places, taken in order; the first is used again.
    fn first_to_leave(replacement: Replacement) -> usize {
        let mut order = ReplacementOrder::new(2, 2, replacement);
        let places = [(); 2].map(|()| {
            let place = order.place(0, |_| false).unwrap();
            order.enter(place);
            place
        });
        order.touch(places[0]);
        let leaves = order.place(0, |_| false);
        let mut places = places.iter();
        places.position(|place| Some(*place) == leaves).unwrap()
    }

    #[test]
    fn a_use_counts_for_lru_alone() {
        assert_eq!(first_to_leave(Replacement::Lru), 1);
        assert_eq!(first_to_leave(Replacement::Fifo), 0);
    }
}
