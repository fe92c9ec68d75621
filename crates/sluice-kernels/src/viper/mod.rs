//! A key-value store in persistent memory, after Viper.
//!
//! Benson, Makait and Rabl, "Viper: an efficient hybrid PMem-DRAM key-value store", VLDB 2021. An
//! index in DRAM has the place of each pair. The pairs lie in pages of 4 KiB, which have a lock and
//! a map of their slots. A pair is written to the next slot of its writer's own page and sent to
//! memory. Then the slot is marked, the mark is sent, and the index gets the place. An update
//! changes eight bytes in place, a delete clears the slot's mark; either is sent too. Pages are
//! filled one after the other, and slots that were deleted are not used again. Different here:
//!
//! - A round is one run of Viper's benchmark with an empty store: `records` are written, then
//!   `ops` inserted, and `ops` each queried, updated and deleted.
//! - What an operation computes beside this is `work`: hashing, key generation, the benchmark.
//! - Contents are kept as the number of times that a key was written.

mod index;

use super::share::{Frame, Phased, Shared, compare, digest};
use super::{Arena, Array, Kernel, KernelInfo, KernelOptions, Loaded, Recorder};
use crate::Mismatch;
use index::{Found, Index, OWN};

use sluice_params::{Kind, Param};
use sluice_streams::zipf::Zipf;
use sluice_units::{Bytes, Rng};
use std::collections::BTreeMap;
use std::ops::Range;

const PAGE: u64 = 4096;
const LINE: u64 = 64;
/// Where the map of a page is, behind its lock, and the slots of eight bytes of it.
const MAP_AT: u64 = 8;
const OF_MAP: u64 = 64;
/// What a copy moves at once.
const WORD: u64 = 16;
/// Operations in a stretch, and in a thread's chunk.
const STRETCH: u64 = 8;
const CHUNK: u64 = 64;
/// Taking a page's lock by compare and swap.
const LOCK: u32 = 4;
/// The skew of YCSB's popular keys.
const THETA: f64 = 0.99;

const NAMES: [&str; 5] = ["write", "insert", "query", "update", "delete"];
const WRITE: usize = 0;
const INSERT: usize = 1;
const QUERY: usize = 2;
const UPDATE: usize = 3;

const SIZES: Kind = Kind::Count { min: 8, max: 2_000 };
const OPS: Kind = Kind::Count {
    min: 1,
    max: 10_000_000,
};

const PARAMS: &[Param] = &[
    Param {
        key: "key",
        kind: SIZES,
        default: "16",
        meaning: "bytes of a key",
        source: "CXL-SSD-Sim section III-C: pairs of 216 B; Viper's benchmark has 16 and 200",
    },
    Param {
        key: "value",
        kind: SIZES,
        default: "200",
        meaning: "bytes of a value",
        source: "as key; 532 B are 32 and 500",
    },
    Param {
        key: "records",
        kind: OPS,
        default: "10000",
        meaning: "pairs written first",
        source: "CXL-SSD-Sim section III-C: 10,000 operations",
    },
    Param {
        key: "ops",
        kind: OPS,
        default: "10000",
        meaning: "pairs inserted, and operations of each other kind; not more than there are pairs",
        source: "CXL-SSD-Sim section III-C: 10,000 operations",
    },
    Param {
        key: "work",
        kind: Kind::Count {
            min: 0,
            max: 1_000_000,
        },
        default: "10000",
        meaning: "instructions of an operation that touch neither index nor pairs",
        source: "assumed: not stated; with 0.6 us of computation CXL-SSD-Sim's CXL-DRAM loses the \
                 14 % of section III-C",
    },
    Param {
        key: "popular",
        kind: Kind::Flag {
            off: "uniform",
            on: "zipf",
        },
        default: "uniform",
        meaning: "which keys are queried and updated",
        source: "Viper's benchmark; CXL-SSD-Sim does not state it",
    },
];

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "viper",
    meaning: "a key-value store in persistent memory: write, insert, query, update, delete",
    source: "Viper, VLDB 2021; CXL-SSD-Sim section III-C",
    published: None,
    thread_bytes: |_| 0,
    own_bytes: |given, _, _| OWN * (given.read::<u64>("records") + given.read::<u64>("ops")),
    params: PARAMS,
    make,
};

/// A slot: the key that it has, and how often that was written.
#[derive(Clone, Copy)]
struct Pair {
    key: u64,
    version: u64,
}

struct Viper {
    frame: Frame,
    footprint: Bytes,
    pair: u64,
    key: u64,
    records: u64,
    ops: u64,
    work: u32,
    zipf: Option<Zipf>,
    index: Index,
    private: Array,
    pages: Array,
    local: Bytes,
    slots_per_page: u64,
    /// Bytes of a page's lock and map.
    header: u64,
    /// By slot; none if its mark is clear.
    slots: Vec<Option<Pair>>,
    /// Each thread's next slot: 0 if it has no page.
    next: Vec<u64>,
    pages_used: u64,
    /// Sum of what was read.
    read: u64,
    phase: usize,
    /// What the last finished round came to.
    result: u64,
}

fn make(options: &KernelOptions) -> Box<dyn Kernel> {
    Box::new(viper(options))
}

fn viper(options: &KernelOptions) -> Shared<Viper> {
    let count = |key| options.given.read::<u64>(key);
    let scaled = |key| (count(key) / u64::from(options.scale)).max(1);
    let (records, ops) = (scaled("records"), scaled("ops"));
    let threads = u64::from(options.threads);
    let pair = count("key") + count("value");
    let (header, slots_per_page) = layout(pair);
    // A thread may leave a page half full.
    let pages = (records + ops).div_ceil(slots_per_page) + threads;
    let mut arena = Arena::default();
    let index = Index::new(&mut arena, records + ops);
    let private = arena.array(threads, PAGE);
    let local = arena.footprint();
    let zipf: bool = options.given.read("popular");
    let mut viper = Viper {
        frame: Frame::new(options, records, CHUNK),
        pair,
        key: count("key"),
        records,
        ops,
        work: count("work") as u32,
        zipf: zipf.then(|| Zipf::new(records + ops, THETA)),
        index,
        private,
        pages: arena.array(pages, PAGE),
        local,
        footprint: arena.footprint(),
        slots_per_page,
        header,
        slots: vec![None; (pages * slots_per_page) as usize],
        next: vec![0; options.threads as usize],
        pages_used: 0,
        read: 0,
        phase: WRITE,
        result: 0,
    };
    viper.empty();
    Shared(viper)
}

/// Bytes of a page's lock and map, and how many pairs of so many bytes are behind them: as many as
/// a map has bits for.
fn layout(pair: u64) -> (u64, u64) {
    let of_words = (1..).map(|words| {
        let header = MAP_AT + 8 * words;
        (header, (PAGE - header) / pair, words * OF_MAP)
    });
    let mut fitting = of_words.filter(|(_, slots, bits)| slots <= bits);
    let (header, slots, _) = fitting.next().expect("a page has fewer slots than bits");
    (header, slots)
}

/// An invertible mix that is never 0.
fn hash(key: u64) -> u64 {
    let x = (key + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ x >> 32
}

impl Viper {
    fn empty(&mut self) {
        self.index.clear();
        self.slots.fill(None);
        self.next.fill(0);
        (self.pages_used, self.read) = (0, 0);
    }

    /// How many operations a phase has.
    fn length(&self, phase: usize) -> u64 {
        if phase == WRITE {
            self.records
        } else {
            self.ops
        }
    }

    /// The key of an operation.
    fn key_of(&self, phase: usize, number: u64) -> u64 {
        let keys = self.records + self.ops;
        match phase {
            WRITE => number,
            INSERT => self.records + number,
            QUERY | UPDATE => {
                let start = (phase as u64) << 40 | number;
                let mut rng = Rng::from_splitmix(self.frame.options.seed ^ hash(start));
                let rank = match &self.zipf {
                    Some(zipf) => zipf.rank(&mut rng),
                    None => rng.below(keys),
                };
                // Popular keys are anywhere.
                rank.wrapping_mul(step(keys)) % keys
            }
            // Each once, in an order of its own.
            _ => (number * step(keys) % keys + self.frame.options.seed % keys) % keys,
        }
    }

    fn page_at(&self, slot: u64) -> u64 {
        self.pages.at(slot / self.slots_per_page)
    }

    fn pair_at(&self, slot: u64) -> u64 {
        self.page_at(slot) + self.header + slot % self.slots_per_page * self.pair
    }

    /// The word of its page's map that has the mark of a slot.
    fn mark_at(&self, slot: u64) -> u64 {
        self.page_at(slot) + MAP_AT + slot % self.slots_per_page / OF_MAP * 8
    }

    /// Sends the mark of a slot to memory, with its page's lock where the two share a line.
    fn persist_mark(&self, rec: &mut Recorder, slot: u64) {
        let (page, mark) = (self.page_at(slot), self.mark_at(slot));
        let start = if mark - page < LINE { page } else { mark };
        Viper::persist(rec, start, mark + 8 - start);
    }

    /// Addresses of the words of `bytes` from `start` on; none crosses a line.
    fn words(start: u64, bytes: u64) -> impl Iterator<Item = u64> {
        let lines = start / LINE..=(start + bytes - 1) / LINE;
        lines.flat_map(move |line| {
            let from = start.max(line * LINE);
            let until = (start + bytes).min((line + 1) * LINE);
            (from..until).step_by(WORD as usize)
        })
    }

    fn persist(rec: &mut Recorder, start: u64, bytes: u64) {
        (start / LINE..=(start + bytes - 1) / LINE).for_each(|line| rec.flush(line * LINE));
        rec.fence();
    }

    fn operation(&mut self, rec: &mut Recorder, thread: u32, number: u64) {
        let key = self.key_of(self.phase, number);
        rec.load(self.private.at(u64::from(thread)));
        rec.work(self.work);
        match self.phase {
            WRITE | INSERT => self.put(rec, thread, key),
            QUERY => self.get(rec, thread, key),
            UPDATE => self.update(rec, key),
            _ => self.delete(rec, key),
        }
    }

    /// The next slot of a thread's own page, or the first of a new one.
    fn slot(&mut self, rec: &mut Recorder, thread: u32) -> u64 {
        let next = self.next[thread as usize];
        let slot = match next.is_multiple_of(self.slots_per_page) {
            true => {
                self.pages_used += 1;
                let slot = (self.pages_used - 1) * self.slots_per_page;
                let words = (MAP_AT..self.header).step_by(8);
                words.for_each(|at| rec.store(self.page_at(slot) + at));
                slot
            }
            false => next,
        };
        self.next[thread as usize] = slot + 1;
        slot
    }

    fn put(&mut self, rec: &mut Recorder, thread: u32, key: u64) {
        let slot = self.slot(rec, thread);
        let (page, pair) = (self.page_at(slot), self.pair_at(slot));
        rec.load(page);
        rec.work(LOCK);
        rec.store(page);
        Viper::words(pair, self.pair).for_each(|word| rec.store(word));
        Viper::persist(rec, pair, self.pair);
        self.slots[slot as usize] = Some(Pair { key, version: 1 });
        rec.store(self.mark_at(slot));
        self.persist_mark(rec, slot);
        self.index.insert(rec, hash(key), slot as u32);
        rec.store(page);
    }

    /// Finds a pair, locks its page and compares the key.
    fn find(&self, rec: &mut Recorder, key: u64) -> (Found, Loaded) {
        let found = self
            .index
            .get(rec, hash(key))
            .expect("a key that was written");
        let slot = u64::from(found.offset);
        let page = rec.load_after(self.page_at(slot), found.loaded);
        rec.work(LOCK);
        let words = Viper::words(self.pair_at(slot), self.key);
        for word in words {
            rec.load_after(word, found.loaded);
        }
        (found, page)
    }

    fn get(&mut self, rec: &mut Recorder, thread: u32, key: u64) {
        let (found, page) = self.find(rec, key);
        let slot = u64::from(found.offset);
        let buffer = self.private.at(u64::from(thread)) + LINE;
        let value = self.pair_at(slot) + self.key;
        for (at, word) in Viper::words(value, self.pair - self.key).enumerate() {
            rec.load_after(word, found.loaded);
            rec.store(buffer + at as u64 * WORD % (PAGE / 2));
        }
        // Nobody may have written meanwhile.
        rec.load_after(self.page_at(slot), page);
        rec.work(LOCK);
        let pair = self.slots[slot as usize].expect("a slot that is marked");
        self.read = self
            .read
            .wrapping_add(digest([pair.key, pair.version].into_iter()));
    }

    fn update(&mut self, rec: &mut Recorder, key: u64) {
        let (found, page) = self.find(rec, key);
        let slot = u64::from(found.offset);
        rec.store_after(self.page_at(slot), page);
        let value = self.pair_at(slot) + self.key;
        rec.load_after(value, found.loaded);
        rec.store_after(value, found.loaded);
        Viper::persist(rec, value, 8);
        rec.store_after(self.page_at(slot), page);
        let pair = self.slots[slot as usize].as_mut();
        pair.expect("a slot that is marked").version += 1;
    }

    fn delete(&mut self, rec: &mut Recorder, key: u64) {
        let (found, page) = self.find(rec, key);
        let slot = u64::from(found.offset);
        let header = self.page_at(slot);
        rec.store_after(header, page);
        rec.store_after(self.mark_at(slot), page);
        self.persist_mark(rec, slot);
        self.slots[slot as usize] = None;
        self.index.remove(rec, &found);
        rec.store_after(header, page);
    }

    /// What the store holds, found by its index, and what was read.
    fn outcome(&mut self) -> u64 {
        let mut unseen = Vec::new();
        let mut pairs = Vec::new();
        for key in 0..self.records + self.ops {
            unseen.clear();
            let found = self.index.get(&mut Recorder::new(&mut unseen), hash(key));
            let pair = found.and_then(|found| self.slots[found.offset as usize]);
            pairs.extend(pair.map(|pair| (pair.key, pair.version)));
        }
        let marked = self.slots.iter().flatten().count() as u64;
        outcome_of(pairs.into_iter(), marked, self.read)
    }
}

/// A step through all of `keys` numbers that comes to each once.
fn step(keys: u64) -> u64 {
    let divides = |a: u64, b: u64| {
        let (mut a, mut b) = (a, b);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let first = (keys * 5 / 8) | 1;
    (first..)
        .find(|step| divides(*step, keys) == 1)
        .expect("the next prime is one")
}

fn outcome_of(pairs: impl Iterator<Item = (u64, u64)>, marked: u64, read: u64) -> u64 {
    digest(
        pairs
            .flat_map(|(key, version)| [key, version])
            .chain([marked, read]),
    )
}

impl Phased for Viper {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    fn local(&self) -> Bytes {
        self.local
    }

    fn phases(&self) -> &'static [&'static str] {
        &NAMES
    }

    fn phase(&self) -> usize {
        self.phase
    }

    fn footprint(&self) -> Bytes {
        self.footprint
    }

    fn stretch(&self) -> u64 {
        STRETCH
    }

    fn work(&mut self, thread: u32, items: Range<u64>, rec: &mut Recorder) {
        items.for_each(|number| self.operation(rec, thread, number));
    }

    /// A phase is over.
    fn advance(&mut self) {
        self.phase = (self.phase + 1) % NAMES.len();
        if self.phase == WRITE {
            self.result = self.outcome();
            if !self.frame.end_round() {
                self.empty();
            }
        }
        self.frame.share.begin(self.length(self.phase), CHUNK);
    }

    /// Does a round again with an ordered map.
    fn check(&self) -> Result<(), Mismatch> {
        if self.frame.rounds == 0 {
            return Ok(());
        }
        let mut map = BTreeMap::new();
        let mut read = 0_u64;
        for phase in 0..NAMES.len() {
            for number in 0..self.length(phase) {
                let key = self.key_of(phase, number);
                match phase {
                    WRITE | INSERT => drop(map.insert(key, 1)),
                    QUERY => read = read.wrapping_add(digest([key, map[&key]].into_iter())),
                    UPDATE => *map.entry(key).or_insert(0) += 1,
                    _ => drop(map.remove(&key)),
                }
            }
        }
        let pairs = map.len() as u64;
        let plain = outcome_of(map.into_iter(), pairs, read);
        compare("store", self.frame.rounds, self.result, plain)
    }
}

#[cfg(test)]
mod tests;
