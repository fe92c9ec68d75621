//! Segmented LRU (Karedla, Love and Wherry, IEEE Computer 1994).

use super::Variant;
use super::{Eviction, PolicyInfo, Space};
use sluice_lists::Lists;
use sluice_params::{Kind, Param};

sluice_params::params! {
    /// The parameters of SLRU.
    struct SlruParams {
        segments: u32 {
            key: "cache.slru_segments",
            kind: Kind::Count { min: 2, max: 64 },
            default: "2",
            meaning: "SLRU: segments of equal size",
            source: "Karedla et al. 1994: probationary and protected; libCacheSim: 4",
        }
        variant: Variant {
            key: "cache.slru_variant",
            default: "paper",
            meaning: "SLRU: where newcomers go, and whether the lowest segment is bounded",
            source: "Karedla et al., IEEE Computer 1994",
        }
    }
}

/// LRU lists in a row. A hit moves a page to the front of the next one; what this pushes out at
/// the back falls to the front of the one before; the lowest one's back leaves.
///
/// The paper has two segments, probationary and protected. Each of the `cache.slru_segments` but
/// the lowest is bounded to its equal part of the set; the lowest has what is left.
///
/// libCacheSim (`cache.slru_variant`) bounds the lowest too, gives a newcomer the lowest segment
/// that has room, and lets pages go at a hit when what falls finds the lowest segment too long.
pub struct Slru {
    segments: Lists,
    segment_of: Vec<u8>,
    count: u32,
    size: u32,
    is_libcachesim: bool,
    /// Whether the segments leave pages over, so that the lowest can get too long.
    has_rest: bool,
    /// Per set: pages to let go of.
    owes: Vec<u8>,
}

impl Slru {
    fn lowest(&self, set: u32) -> u32 {
        set * self.count
    }

    fn list(&self, set: u32, slot: u32) -> u32 {
        self.lowest(set) + u32::from(self.segment_of[slot as usize])
    }
}

impl Eviction for Slru {
    const INFO: PolicyInfo = PolicyInfo {
        name: "slru",
        meaning: "LRU segments in a row: a hit moves a page up, the lowest segment's oldest leaves",
        source: "Karedla, Love and Wherry, IEEE Computer 1994",
        uses_hits: true,
    };

    const PARAMS: &[Param] = SlruParams::PARAMS;

    fn build(space: &Space) -> Slru {
        let given = SlruParams::new(&space.given);
        let slots = space.sets as usize * space.ways as usize;
        let count = given.segments.min(space.ways);
        let is_libcachesim = given.variant == Variant::Libcachesim;
        Slru {
            segments: Lists::new(space.sets * count, slots as u32),
            segment_of: vec![0; slots],
            count,
            size: space.ways / count,
            is_libcachesim,
            has_rest: !space.ways.is_multiple_of(count),
            owes: vec![0; space.sets as usize],
        }
    }

    fn insert(&mut self, set: u32, slot: u32, _lpn: u32) {
        let lowest = self.lowest(set);
        let has_room = |segment: &u32| self.segments.len(lowest + segment) < self.size;
        let segment = match self.is_libcachesim {
            true => (0..self.count).find(has_room).unwrap_or(0),
            false => 0,
        };
        self.segment_of[slot as usize] = segment as u8;
        self.segments.push_front(lowest + segment, slot);
    }

    #[inline]
    fn hit(&mut self, set: u32, slot: u32) {
        let list = self.list(set, slot);
        let lowest = self.lowest(set);
        if list + 1 == lowest + self.count {
            return self.segments.move_to_front(list, slot);
        }
        self.segments.remove(list, slot);
        self.segments.push_front(list + 1, slot);
        self.segment_of[slot as usize] += 1;
        if self.segments.len(list + 1) <= self.size {
            return;
        }
        // The page left room for one behind it, so nothing falls further.
        let falls = self.segments.pop_back(list + 1).expect("a full segment");
        self.segments.push_front(list, falls);
        self.segment_of[falls as usize] -= 1;
        if self.is_libcachesim && list == lowest {
            let over = self.segments.len(list).saturating_sub(self.size);
            self.owes[set as usize] = over as u8;
        }
    }

    fn victim(&mut self, set: u32, mut evictable: impl FnMut(u32) -> bool) -> Option<u32> {
        let lowest = self.lowest(set);
        let mut lists = lowest..lowest + self.count;
        let slot = lists.find_map(|list| self.segments.oldest(list, &mut evictable))?;
        self.segments.remove(self.list(set, slot), slot);
        Some(slot)
    }

    fn sheds(&self) -> bool {
        self.is_libcachesim && self.has_rest
    }

    fn surplus(&mut self, set: u32, evictable: impl FnMut(u32) -> bool) -> Option<u32> {
        let owes = &mut self.owes[set as usize];
        *owes = owes.checked_sub(1)?;
        let slot = self.segments.oldest(self.lowest(set), evictable)?;
        self.segments.remove(self.lowest(set), slot);
        Some(slot)
    }

    fn remove(&mut self, set: u32, slot: u32) {
        self.segments.remove(self.list(set, slot), slot);
    }

    fn dump(&self, set: u32) -> Vec<u32> {
        let lowest = self.lowest(set);
        let lists = (lowest..lowest + self.count).rev();
        lists.flat_map(|list| self.segments.iter(list)).collect()
    }
}
