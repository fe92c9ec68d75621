//! W-TinyLFU (Einziger, Friedman and Manes, ACM Transactions on Storage 2017).

use super::Variant;
use super::sketch::Sketch;
use super::{Eviction, PolicyInfo, Set, Slot, Space};
use sluice_lists::Lists;
use sluice_params::{Kind, Param};
use sluice_units::{Lpn, Ratio, Table, index_type};

sluice_params::params! {
    /// The parameters of W-TinyLFU.
    struct WTinyLfuParams {
        variant: Variant {
            key: "cache.wtinylfu_variant",
            default: "paper",
            meaning: "W-TinyLFU: which accesses and counters are counted, and where pages enter",
            source: "Einziger et al., ACM ToS 2017",
        }
        window: Ratio {
            key: "cache.wtinylfu_window",
            kind: Kind::Share { max_percent: 100 },
            default: "1%",
            meaning: "W-TinyLFU: the share of a set that is the window, one page at least",
            source: "Einziger et al., ACM ToS 2017: 1 %",
        }
        sample: u32 {
            key: "cache.wtinylfu_sample",
            kind: Kind::Count { min: 1, max: 1_000 },
            default: "32",
            meaning: "W-TinyLFU: counts are halved after this many accesses for each page",
            source: "libCacheSim: 32",
        }
    }
}

index_type! {
    /// Which of the lists of all sets: set `s` has window, probation and protected from `3 * s` on.
    struct List;
}

/// A small LRU window for newcomers before a segmented LRU main part. When a page must leave, the
/// oldest of the window meets the main part's next victim, and the one that the sketch has counted
/// less often goes; the newcomer goes at a tie.
///
/// The main part gives four fifths to its protected segment. In the paper every access is counted
/// once, and only the lowest counters of a page are raised. All are halved at
/// `cache.wtinylfu_sample` accesses for each page of the set, and the number of these accesses with
/// them. A page enters the main part at its probation segment.
///
/// With `cache.wtinylfu_variant = libcachesim` a page is counted when it comes in, when it is up
/// for eviction from the window and at hits in the main part, and all its counters are raised. Hits
/// in the main part alone count towards halving, after as many for each page of the main part. The
/// window takes all room that the main part does not, and a page enters whichever segment has room.
/// Segments are rounded down, so that a page leaves when a hit moves one too many into probation.
pub struct WTinyLfu {
    segments: Lists<List, Slot>,
    /// Per slot: its segment.
    segment: Table<Slot, u8>,
    /// Per slot: the number of its page.
    lpn: Table<Slot, u32>,
    sketch: Sketch,
    /// Per set: accesses since the counters were halved, and half of those before.
    counted: Table<Set, u64>,
    /// Per set: whether a page must leave because of the last hit.
    surplus: Table<Set, bool>,
    sample: u64,
    window_max: u32,
    main_max: u32,
    probation_max: u32,
    protected_max: u32,
    is_libcachesim: bool,
}

const WINDOW: u8 = 0;
const PROBATION: u8 = 1;
const PROTECTED: u8 = 2;

impl WTinyLfu {
    fn list(set: Set, segment: u8) -> List {
        List(3 * set.0 + u32::from(segment))
    }

    fn len(&self, set: Set, segment: u8) -> u32 {
        self.segments.len(WTinyLfu::list(set, segment))
    }

    fn take_out(&mut self, set: Set, slot: Slot) {
        let list = WTinyLfu::list(set, self.segment[slot]);
        self.segments.remove(list, slot);
    }

    fn put_in(&mut self, set: Set, slot: Slot, segment: u8) {
        self.segment[slot] = segment;
        self.segments.push_front(WTinyLfu::list(set, segment), slot);
    }

    fn count(&mut self, set: Set, lpn: Lpn) {
        if self.is_libcachesim {
            self.sketch.raise_all(set, lpn);
        } else {
            self.sketch.raise_lowest(set, lpn);
        }
    }

    /// One access nearer to the halving of all counters, and in the paper of their number.
    fn age(&mut self, set: Set) {
        let counted = &mut self.counted[set];
        *counted += 1;
        if *counted >= self.sample {
            *counted = match self.is_libcachesim {
                true => 0,
                false => *counted / 2,
            };
            self.sketch.halve(set);
        }
    }

    /// Moves a page from the window to the main part.
    fn admit(&mut self, set: Set, slot: Slot) {
        self.take_out(set, slot);
        let has_room = |segment, max| self.len(set, segment) < max;
        let to_protected = self.is_libcachesim
            && !has_room(PROBATION, self.probation_max)
            && has_room(PROTECTED, self.protected_max);
        self.put_in(set, slot, if to_protected { PROTECTED } else { PROBATION });
    }

    /// Moves pages of the window, oldest first, to where the main part has room.
    fn fill_main(&mut self, set: Set) {
        while self.len(set, PROBATION) + self.len(set, PROTECTED) < self.main_max {
            let Some(slot) = self.segments.back(WTinyLfu::list(set, WINDOW)) else {
                return;
            };
            self.admit(set, slot);
            self.count_candidate(set, slot);
        }
    }

    /// Counts a page that was up for eviction, as libCacheSim does.
    fn count_candidate(&mut self, set: Set, slot: Slot) {
        if self.is_libcachesim {
            self.count(set, Lpn(self.lpn[slot]));
        }
    }

    /// Whether a page of the window was used more often than one of the main part.
    fn wins(&self, set: Set, candidate: Slot, main: Slot) -> bool {
        let frequency = |slot: Slot| self.sketch.estimate(set, Lpn(self.lpn[slot]));
        frequency(candidate) > frequency(main)
    }

    /// The next page of the main part to leave.
    fn main_victim(&self, set: Set, mut evictable: impl FnMut(Slot) -> bool) -> Option<Slot> {
        [PROBATION, PROTECTED].into_iter().find_map(|segment| {
            self.segments
                .oldest(WTinyLfu::list(set, segment), &mut evictable)
        })
    }
}

impl Eviction for WTinyLfu {
    const INFO: PolicyInfo = PolicyInfo {
        name: "wtinylfu",
        meaning: "a window for newcomers, then admission by how often a page was used lately",
        source: "Einziger, Friedman and Manes, ACM ToS 2017",
        uses_hits: true,
    };

    const PARAMS: &[Param] = WTinyLfuParams::PARAMS;

    fn build(space: &Space) -> WTinyLfu {
        let given = WTinyLfuParams::new(&space.given);
        let window_max = given.window.floor_of(u64::from(space.ways)) as u32;
        let window_max = window_max.clamp(1, space.ways);
        let main_max = space.ways - window_max;
        let is_libcachesim = given.variant == Variant::Libcachesim;
        let sampled = if is_libcachesim { main_max } else { space.ways };
        WTinyLfu {
            segments: Lists::new(3 * space.sets, space.slots()),
            segment: Table::filled(space.slots(), WINDOW),
            lpn: Table::filled(space.slots(), 0),
            sketch: Sketch::new(space.sets, main_max),
            counted: Table::filled(space.sets, 0),
            surplus: Table::filled(space.sets, false),
            sample: u64::from(given.sample) * u64::from(sampled),
            window_max,
            main_max,
            probation_max: main_max / 5,
            protected_max: (u64::from(main_max) * 4 / 5) as u32,
            is_libcachesim,
        }
    }

    fn miss(&mut self, set: Set, lpn: Lpn) {
        if !self.is_libcachesim {
            self.count(set, lpn);
            self.age(set);
        }
    }

    fn insert(&mut self, set: Set, slot: Slot, lpn: Lpn) {
        self.lpn[slot] = lpn.0;
        self.put_in(set, slot, WINDOW);
        if self.is_libcachesim {
            // The window takes all the room there is until a page must leave.
            return self.count(set, lpn);
        }
        let window = WTinyLfu::list(set, WINDOW);
        if self.segments.len(window) > self.window_max
            && let Some(oldest) = self.segments.back(window)
        {
            self.admit(set, oldest);
        }
    }

    fn hit(&mut self, set: Set, slot: Slot) -> u32 {
        let segment = self.segment[slot];
        if segment == PROBATION {
            self.take_out(set, slot);
            self.put_in(set, slot, PROTECTED);
            if self.len(set, PROTECTED) > self.protected_max {
                let list = WTinyLfu::list(set, PROTECTED);
                let oldest = self.segments.pop_back(list).expect("it is over its limit");
                self.put_in(set, oldest, PROBATION);
                self.surplus[set] =
                    self.is_libcachesim && self.len(set, PROBATION) > self.probation_max;
            }
        } else {
            self.segments
                .move_to_front(WTinyLfu::list(set, segment), slot);
        }
        if segment != WINDOW || !self.is_libcachesim {
            self.count(set, Lpn(self.lpn[slot]));
            self.age(set);
        }
        u32::from(self.surplus[set])
    }

    fn victim(&mut self, set: Set, mut evictable: impl FnMut(Slot) -> bool) -> Option<Slot> {
        if std::mem::take(&mut self.surplus[set]) {
            let slot = self.main_victim(set, evictable)?;
            self.take_out(set, slot);
            return Some(slot);
        }
        if self.is_libcachesim {
            self.fill_main(set);
        }
        let window = WTinyLfu::list(set, WINDOW);
        let candidate = self.segments.oldest(window, &mut evictable);
        let main = self.main_victim(set, &mut evictable);
        let slot = match (candidate, main) {
            (Some(candidate), Some(main)) => {
                let admitted = self.wins(set, candidate, main);
                if admitted {
                    self.take_out(set, main);
                    self.admit(set, candidate);
                } else {
                    self.take_out(set, candidate);
                }
                self.count_candidate(set, candidate);
                return Some(if admitted { main } else { candidate });
            }
            (one, other) => one.or(other)?,
        };
        self.take_out(set, slot);
        Some(slot)
    }

    fn remove(&mut self, set: Set, slot: Slot) {
        self.take_out(set, slot);
    }

    fn dump(&self, set: Set) -> Vec<Slot> {
        let held = [PROTECTED, PROBATION, WINDOW]
            .into_iter()
            .flat_map(|segment| self.segments.iter(WTinyLfu::list(set, segment)));
        let candidate = self.segments.back(WTinyLfu::list(set, WINDOW));
        let main = self.main_victim(set, |_| true);
        let next = match (candidate, main) {
            (Some(candidate), Some(main)) if self.wins(set, candidate, main) => Some(main),
            (candidate, main) => candidate.or(main),
        };
        held.filter(|slot| Some(*slot) != next)
            .chain(next)
            .collect()
    }
}
