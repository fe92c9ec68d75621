//! Segmented LRU (Karedla, Love and Wherry, IEEE Computer 1994).

use super::Variant;
use super::{Eviction, PolicyInfo, Set, Slot, Space};
use sluice_lists::Lists;
use sluice_params::{Kind, Param};
use sluice_units::{IndexType, Lpn, Table, index_type};

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

index_type! {
    /// A segment of a set: set `s` has `s * count .. (s + 1) * count`, the lowest first.
    struct Segment;
}

/// LRU lists in a row, called segments. A hit moves a page to the front of the next segment. If
/// that is too long then, its oldest page falls to the front of the segment before. The oldest page
/// of the lowest segment leaves.
///
/// The paper has two segments, probationary and protected. Each of the `cache.slru_segments` but
/// the lowest is bounded to its equal part of the set; the lowest has what is left.
///
/// libCacheSim (`cache.slru_variant`) bounds the lowest too, puts a newcomer into the lowest
/// segment that has room, and lets pages go at a hit when one falls into the lowest segment and
/// makes that too long.
pub struct Slru {
    segments: Lists<Segment, Slot>,
    /// Per slot: the segment of its page, counted from the lowest of the set.
    level: Table<Slot, u8>,
    count: u32,
    size: u32,
    is_libcachesim: bool,
    /// Per set: pages that must leave because of the last hit.
    surplus: Table<Set, u32>,
}

impl Slru {
    fn lowest(&self, set: Set) -> Segment {
        Segment(set.0 * self.count)
    }

    /// The segments of a set, the lowest first.
    fn segments_of(&self, set: Set) -> impl DoubleEndedIterator<Item = Segment> + use<> {
        Segment::range(set.0 * self.count..(set.0 + 1) * self.count)
    }

    fn segment_of(&self, set: Set, slot: Slot) -> Segment {
        Segment(self.lowest(set).0 + u32::from(self.level[slot]))
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
        let count = given.segments.min(space.ways);
        let is_libcachesim = given.variant == Variant::Libcachesim;
        Slru {
            segments: Lists::new(space.sets * count, space.slots()),
            level: Table::filled(space.slots(), 0),
            count,
            size: space.ways / count,
            is_libcachesim,
            surplus: Table::filled(space.sets, 0),
        }
    }

    fn insert(&mut self, set: Set, slot: Slot, _lpn: Lpn) {
        let has_room = |segment: &Segment| self.segments.len(*segment) < self.size;
        let segment = match self.is_libcachesim {
            true => self.segments_of(set).find(has_room),
            false => None,
        };
        let segment = segment.unwrap_or(self.lowest(set));
        self.level[slot] = (segment.0 - self.lowest(set).0) as u8;
        self.segments.push_front(segment, slot);
    }

    #[inline]
    fn hit(&mut self, set: Set, slot: Slot) -> u32 {
        let segment = self.segment_of(set, slot);
        let lowest = self.lowest(set);
        let above = Segment(segment.0 + 1);
        if above.0 == lowest.0 + self.count {
            self.segments.move_to_front(segment, slot);
            return 0;
        }
        self.segments.remove(segment, slot);
        self.segments.push_front(above, slot);
        self.level[slot] += 1;
        if self.segments.len(above) <= self.size {
            return 0;
        }
        // The page left room for one behind it, so nothing falls further.
        let falls = self.segments.pop_back(above).expect("a full segment");
        self.segments.push_front(segment, falls);
        self.level[falls] -= 1;
        if !self.is_libcachesim || segment != lowest {
            return 0;
        }
        self.surplus[set] = self.segments.len(lowest).saturating_sub(self.size);
        self.surplus[set]
    }

    fn victim(&mut self, set: Set, mut evictable: impl FnMut(Slot) -> bool) -> Option<Slot> {
        let mut segments = self.segments_of(set);
        let slot = if let Some(left) = self.surplus[set].checked_sub(1) {
            self.surplus[set] = left;
            self.segments.oldest(self.lowest(set), evictable)?
        } else {
            segments.find_map(|segment| self.segments.oldest(segment, &mut evictable))?
        };
        self.remove(set, slot);
        Some(slot)
    }

    fn remove(&mut self, set: Set, slot: Slot) {
        self.segments.remove(self.segment_of(set, slot), slot);
    }

    fn dump(&self, set: Set) -> Vec<Slot> {
        let segments = self.segments_of(set).rev();
        segments
            .flat_map(|segment| self.segments.iter(segment))
            .collect()
    }
}
