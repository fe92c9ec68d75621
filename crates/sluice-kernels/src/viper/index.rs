//! Viper's index: an extendible hash of segments of 16 KiB (CCEH; Nam and others, FAST 2019).
//!
//! The first bits of a hash choose a segment by the directory, the last ones a line of four
//! entries in it. An entry is in that line or in one of the next seven. A segment that has no room
//! is split in two, and the directory doubled if it must be.

use super::super::{Arena, Array, Loaded, Recorder};

/// Bytes of our memory for a pair: its slot, and its share of the index.
pub(super) const OWN: u64 = 50;
/// Entries of a line of 64 bytes: a hash and an offset each.
const PER_LINE: usize = 4;
const LINES: usize = 256;
/// Lines in which an entry can be.
const PROBED: usize = 8;
const SEGMENT_BYTES: u64 = 16_384 + 64;
/// Where the lines of a segment begin: behind its lock and depth.
const LINES_AT: u64 = 64;
/// Entries that Viper's index has room for at first, and the segments that these are.
const START: usize = 131_072;
const SEGMENTS: usize = START / (LINES * PER_LINE);
/// Comparing an entry; taking and giving back a segment's lock.
const COMPARE: u32 = 3;
const LOCK: u32 = 4;

/// An entry. A hash of 0 is none.
#[derive(Clone, Copy, Default)]
struct Entry {
    hash: u64,
    offset: u32,
}

struct Segment {
    depth: u32,
    entries: Vec<Entry>,
}

impl Segment {
    fn new(depth: u32) -> Segment {
        Segment {
            depth,
            entries: vec![Entry::default(); LINES * PER_LINE],
        }
    }

    /// The entries of the lines where a hash can be, with the place of each.
    fn places(hash: u64) -> impl Iterator<Item = usize> {
        let first = hash as usize % LINES;
        (0..PROBED).flat_map(move |line| {
            let line = (first + line) % LINES;
            line * PER_LINE..(line + 1) * PER_LINE
        })
    }
}

pub(super) struct Index {
    directory: Vec<u32>,
    segments: Vec<Segment>,
    directory_at: Array,
    segments_at: Array,
}

/// An entry that was found, and the load of its offset.
pub(super) struct Found {
    pub offset: u32,
    pub loaded: Loaded,
    segment: usize,
    place: usize,
}

impl Index {
    /// Room for so many keys. Addresses are for four times the segments that they fill.
    pub fn new(arena: &mut Arena, keys: u64) -> Index {
        let most = (SEGMENTS as u64).max(keys / 256).next_power_of_two();
        let mut index = Index {
            directory: Vec::new(),
            segments: Vec::new(),
            directory_at: arena.array(most * 4, 8),
            segments_at: arena.array(most, SEGMENT_BYTES),
        };
        index.clear();
        index
    }

    /// As it was before the first key, for the next round.
    pub fn clear(&mut self) {
        self.directory = (0..SEGMENTS as u32).collect();
        let empty = || Segment::new(SEGMENTS.ilog2());
        self.segments = std::iter::repeat_with(empty).take(SEGMENTS).collect();
    }

    fn number(&self, hash: u64) -> usize {
        (hash >> (64 - self.directory.len().ilog2())) as usize
    }

    fn line_at(&self, segment: usize, place: usize) -> u64 {
        self.segments_at.at(segment as u64) + LINES_AT + (place / PER_LINE) as u64 * 64
    }

    /// Takes the lock of a hash's segment.
    fn lock(&self, rec: &mut Recorder, hash: u64) -> (usize, Loaded) {
        let number = self.number(hash);
        let segment = self.directory[number] as usize;
        let directory = rec.load(self.directory_at.at(number as u64));
        let lock = self.segments_at.at(segment as u64);
        rec.work(LOCK);
        rec.store_after(lock, directory);
        (segment, directory)
    }

    fn unlock(&self, rec: &mut Recorder, segment: usize) {
        rec.work(LOCK);
        rec.store(self.segments_at.at(segment as u64));
    }

    /// The place of an entry with this hash, or of a free one with 0, as the program looks for it.
    fn probe(
        &self,
        rec: &mut Recorder,
        (segment, directory): (usize, Loaded),
        hash: u64,
        wanted: u64,
    ) -> Option<(usize, Loaded)> {
        let mut loaded = directory;
        for (at, place) in Segment::places(hash).enumerate() {
            if at % PER_LINE == 0 {
                loaded = rec.load_after(self.line_at(segment, place), directory);
            }
            rec.work(COMPARE);
            if self.segments[segment].entries[place].hash == wanted {
                return Some((place, loaded));
            }
        }
        None
    }

    /// Looks for a hash.
    pub fn get(&self, rec: &mut Recorder, hash: u64) -> Option<Found> {
        let locked = self.lock(rec, hash);
        let found = self.probe(rec, locked, hash, hash);
        self.unlock(rec, locked.0);
        found.map(|(place, loaded)| Found {
            offset: self.segments[locked.0].entries[place].offset,
            loaded,
            segment: locked.0,
            place,
        })
    }

    /// Adds a hash that is not there.
    pub fn insert(&mut self, rec: &mut Recorder, hash: u64, offset: u32) {
        loop {
            let locked = self.lock(rec, hash);
            let free = self.probe(rec, locked, hash, 0);
            let segment = locked.0;
            if let Some((place, _)) = free {
                self.segments[segment].entries[place] = Entry { hash, offset };
                rec.store_after(self.line_at(segment, place), locked.1);
            } else {
                self.split(rec, segment);
            }
            self.unlock(rec, segment);
            if free.is_some() {
                return;
            }
        }
    }

    /// Takes an entry out.
    pub fn remove(&mut self, rec: &mut Recorder, found: &Found) {
        self.segments[found.segment].entries[found.place] = Entry::default();
        rec.store_after(self.line_at(found.segment, found.place), found.loaded);
    }

    /// Half of a segment's entries go to a new one.
    fn split(&mut self, rec: &mut Recorder, old: usize) {
        let depth = self.segments[old].depth + 1;
        if depth > self.directory.len().ilog2() {
            let twice = self.directory.iter().flat_map(|segment| [*segment; 2]);
            self.directory = twice.collect();
            for number in (0..self.directory.len() as u64).step_by(8) {
                rec.store(self.directory_at.at(number));
            }
        }
        let new = self.segments.len();
        self.segments.push(Segment::new(depth));
        self.segments[old].depth = depth;
        let bit = 1 << (64 - depth);
        for place in 0..LINES * PER_LINE {
            if place % PER_LINE == 0 {
                rec.load(self.line_at(old, place));
                rec.store(self.line_at(new, place));
            }
            rec.work(COMPARE);
            if self.segments[old].entries[place].hash & bit != 0 {
                let moved = std::mem::take(&mut self.segments[old].entries[place]);
                self.segments[new].entries[place] = moved;
            }
        }
        let shift = self.directory.len().ilog2() - depth;
        for (number, segment) in self.directory.iter_mut().enumerate() {
            if *segment as usize == old && number >> shift & 1 == 1 {
                *segment = new as u32;
                rec.store(self.directory_at.at(number as u64));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn spread(key: u64) -> u64 {
        key.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        /// Against an ordered map. The last bits are few, so that segments fill up and split.
        #[test]
        fn an_index_is_a_map(steps in prop::collection::vec((0u64..3_000, 0u8..4), 1..4_000)) {
            let mut arena = Arena::default();
            let mut index = Index::new(&mut arena, 3_000);
            let mut map = BTreeMap::new();
            let mut out = Vec::new();
            let hash = |key| spread(key) & !0xf8 & !(0x1f << 58) | 1;
            for (number, (key, what)) in (1u32..).zip(steps) {
                out.clear();
                let rec = &mut Recorder::new(&mut out);
                let found = index.get(rec, hash(key));
                prop_assert_eq!(found.as_ref().map(|f| f.offset), map.get(&hash(key)).copied());
                match (what, found) {
                    (0, Some(found)) => {
                        index.remove(rec, &found);
                        map.remove(&hash(key));
                    }
                    (_, None) => {
                        index.insert(rec, hash(key), number);
                        map.insert(hash(key), number);
                    }
                    _ => {}
                }
            }
        }
    }

    /// It kept the segments of the round before, and none was split any more.
    #[test]
    fn an_index_that_was_cleared_grows_as_a_new_one_does() {
        let keys = 200_000;
        let mut index = Index::new(&mut Arena::default(), keys);
        let mut rounds = Vec::new();
        for _ in 0..2 {
            let mut hash = sluice_units::Fnv::default();
            for key in 0..keys {
                let mut out = Vec::new();
                index.insert(&mut Recorder::new(&mut out), spread(key), key as u32);
                out.iter().for_each(|instr| hash.word(instr.addr));
            }
            rounds.push((hash, index.segments.len()));
            index.clear();
        }
        assert!(rounds[0].1 > SEGMENTS);
        assert_eq!(rounds[0], rounds[1]);
    }

    #[test]
    fn many_keys_split_segments_and_all_are_found() {
        let keys = 400_000;
        let mut arena = Arena::default();
        let mut index = Index::new(&mut arena, keys);
        let room = arena.footprint().0;
        let mut out = Vec::new();
        for key in 0..keys {
            out.clear();
            index.insert(&mut Recorder::new(&mut out), spread(key), key as u32);
            assert!(out.iter().all(|instr| instr.addr < room));
        }
        assert!(index.segments.len() > START / 1024);
        for key in 0..keys {
            out.clear();
            let found = index.get(&mut Recorder::new(&mut out), spread(key));
            assert_eq!(found.map(|found| found.offset), Some(key as u32));
        }
    }
}
