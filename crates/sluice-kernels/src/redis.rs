//! A store of strings in memory, as Redis keeps them, under YCSB's requests.
//!
//! Redis's dictionary: a table of chains, the newest entry first, that doubles when it has as many
//! entries as buckets; one bucket of the old table moves with each operation until it is empty. An
//! entry points to the key's string and to an object that points to the value's string. A SET
//! takes new memory for the value and gives the old back, which the next one of that size takes.
//! Requests are parsed from a buffer of the connection, values copied to another. Different here:
//! one command at a time whatever the number of threads, as Redis does; no expiry, eviction or
//! persistence; the contents of a value are kept as the number of the operation that wrote it.

use super::series::{START, Series, Turn, bytes, draws, mix};
use super::{Arena, Array, Kernel, KernelInfo, KernelOptions, Loaded, Mismatch, Recorder};
use sluice_host::{Instr, Program, Step};
use sluice_params::{Declared, Kind, Param, RawConfig, choices};
use sluice_streams::ycsb::{Chooser, Distribution, Mix, Op};
use sluice_units::Bytes;
use std::collections::BTreeMap;

/// Sizes that the allocator rounds to: an entry, a key, an object.
const ENTRY_BYTES: u64 = 24;
const KEY_BYTES: u64 = 32;
const OBJECT_BYTES: u64 = 16;
/// Header and end of a string.
const STRING: u64 = 10;
/// Buckets at the start.
const BUCKETS_MIN: u64 = 4;
/// Memory for values that is free at any time.
const SPARE: u64 = 1;
/// A connection's buffers, and of which the second begins.
const BUFFERS: u64 = 32 << 10;
const REPLY_AT: u64 = 16 << 10;
/// Bytes of our memory for an entry: itself, its value, the value's place, its buckets.
const EACH_OWN: u64 = 34;
/// What a copy moves at once.
const WORD: u64 = 32;
const ROUND: u64 = 16_384;
const STRETCH: u64 = 16;

/// A command: event loop, parsing, look-up of the command, reply.
const COMMAND: u32 = 900;
/// SipHash of a key.
const HASH: u32 = 90;
/// Comparing a key.
const COMPARE: u32 = 12;
/// Taking memory, or giving it back.
const ALLOCATE: u32 = 40;
const NONE: u32 = u32::MAX;

choices! {
    /// A workload of YCSB.
    enum Workload {
        A = "A": "half updates",
        B = "B": "5 % updates",
        C = "C": "no updates",
    }
}

const PARAMS: &[Param] = &[
    bytes("64MB", "assumed: ESF section V-E gives no size"),
    Param {
        key: "value",
        kind: Kind::Count {
            min: 8,
            max: 65_536,
        },
        default: "1000",
        meaning: "bytes of a value",
        source: "YCSB: records of 1 KB",
    },
    Param {
        key: "mix",
        kind: Workload::KIND,
        default: "A",
        meaning: "YCSB's workload",
        source: "assumed: ESF section V-E does not state it",
    },
    START,
];

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "redis",
    meaning: "a store of strings in a chained hash table: zipfian GET and SET",
    source: "ESF section V-E, Redis under YCSB",
    published: None,
    thread_bytes: |_| 0,
    own_bytes: |given, bytes, _| bytes / each(given) * EACH_OWN,
    params: PARAMS,
    make: |options| Box::new(Redis::new(options)),
};

#[derive(Clone, Copy)]
struct Entry {
    key: u64,
    next: u32,
    /// Where its value's string is.
    value: u32,
}

/// A table of chains.
struct Table {
    heads: Vec<u32>,
    at: Array,
}

struct Redis {
    options: KernelOptions,
    mix: Mix,
    popular: Chooser,
    entries: Vec<Entry>,
    /// The table, and the one it grows out of.
    table: Table,
    old: Option<Table>,
    /// Buckets of the old one that have moved.
    moved: usize,
    tables: Array,
    entries_at: Array,
    keys_at: Array,
    objects_at: Array,
    values_at: Array,
    buffers: Array,
    value_bytes: u64,
    /// By place, the operation that wrote it.
    values: Vec<u64>,
    free: Vec<u32>,
    len: u64,
    series: Series,
    read: u64,
    footprint: Bytes,
}

/// Buckets for so many entries.
fn buckets(entries: u64) -> u64 {
    entries.max(BUCKETS_MIN).next_power_of_two()
}

/// Bytes of a value's string.
fn value_bytes(given: &RawConfig) -> u64 {
    (given.read::<u64>("value") + STRING).next_multiple_of(16)
}

/// Bytes for each entry, with its buckets.
fn each(given: &RawConfig) -> u64 {
    ENTRY_BYTES + KEY_BYTES + OBJECT_BYTES + value_bytes(given) + 16
}

impl Redis {
    fn new(options: &KernelOptions) -> Redis {
        let value_bytes = value_bytes(&options.given);
        let len = (options.bytes() / each(&options.given)).max(64);
        let mut arena = Arena::default();
        // A table of 2^n buckets lies behind all smaller ones.
        let tables = arena.array(2 * buckets(len), 8);
        let mut redis = Redis {
            mix: match options.given.read("mix") {
                Workload::A => Mix::A,
                Workload::B => Mix::B,
                Workload::C => Mix::C,
            },
            popular: Chooser::new(Distribution::Zipfian, len),
            entries: Vec::new(),
            table: table(tables, BUCKETS_MIN),
            old: None,
            moved: 0,
            tables,
            entries_at: arena.array(len, ENTRY_BYTES),
            keys_at: arena.array(len, KEY_BYTES),
            objects_at: arena.array(len, OBJECT_BYTES),
            values_at: arena.array(len + SPARE, value_bytes),
            buffers: arena.array(u64::from(options.threads), BUFFERS),
            value_bytes,
            values: vec![0; (len + SPARE) as usize],
            free: (0..(len + SPARE) as u32).rev().collect(),
            len,
            series: Series::new(options, len, ROUND),
            read: 0,
            footprint: arena.footprint(),
            options: options.clone(),
        };
        let mut unread = Vec::new();
        for key in 0..redis.series.loaded(len) {
            unread.clear();
            let mut rec = Recorder::new(&mut unread);
            redis.rehash(&mut rec);
            redis.set(&mut rec, 0, key, 0);
        }
        redis
    }

    fn wanted(&self, number: u64) -> (Op, u64) {
        let mut rng = draws(self.options.seed, number);
        let op = self.mix.op(&mut rng);
        (op, self.popular.key(&mut rng, self.len))
    }

    /// The tables that an entry can be in, the older first.
    fn tables(&self) -> impl Iterator<Item = &Table> {
        self.old.iter().chain(std::iter::once(&self.table))
    }

    /// Follows the chains of a key.
    fn find(&self, rec: &mut Recorder, key: u64) -> Option<(u32, Loaded)> {
        rec.work(HASH);
        for table in self.tables() {
            let bucket = table.bucket(key);
            let mut before = rec.load(table.at.at(bucket));
            let mut at = table.heads[bucket as usize];
            while at != NONE {
                let entry = &self.entries[at as usize];
                before = rec.load_after(self.entries_at.at(at.into()), before);
                rec.load_after(self.keys_at.at(at.into()), before);
                rec.work(COMPARE);
                if entry.key == key {
                    return Some((at, before));
                }
                at = entry.next;
            }
        }
        None
    }

    fn get(&mut self, rec: &mut Recorder, thread: u32, key: u64) {
        let reply = self.buffers.at(thread.into()) + REPLY_AT;
        let (at, before) = self.find(rec, key).expect("every key was loaded");
        let object = rec.load_after(self.objects_at.at(at.into()), before);
        let value = self.entries[at as usize].value;
        let from = self.values_at.at(value.into());
        for offset in (0..self.value_bytes).step_by(WORD as usize) {
            rec.load_after(from + offset, object);
            rec.store(reply + offset % REPLY_AT);
        }
        self.read = self
            .read
            .wrapping_add(mix(self.values[value as usize] ^ key << 40));
    }

    fn set(&mut self, rec: &mut Recorder, thread: u32, key: u64, number: u64) {
        let request = self.buffers.at(thread.into());
        rec.work(ALLOCATE);
        let value = self.free.pop().expect("there is spare memory");
        self.values[value as usize] = number;
        let to = self.values_at.at(value.into());
        for offset in (0..self.value_bytes).step_by(WORD as usize) {
            rec.load(request + offset % REPLY_AT);
            rec.store(to + offset);
        }
        let at = match self.find(rec, key) {
            Some((at, before)) => {
                rec.load_after(self.objects_at.at(at.into()), before);
                rec.work(ALLOCATE);
                self.free.push(self.entries[at as usize].value);
                self.entries[at as usize].value = value;
                at
            }
            None => self.add(rec, key, value),
        };
        rec.store(self.objects_at.at(at.into()));
    }

    /// A new entry at the head of its chain.
    fn add(&mut self, rec: &mut Recorder, key: u64, value: u32) -> u32 {
        if self.old.is_none() && self.entries.len() == self.table.heads.len() {
            let twice = table(self.tables, 2 * self.table.heads.len() as u64);
            self.old = Some(std::mem::replace(&mut self.table, twice));
            self.moved = 0;
        }
        rec.work(3 * ALLOCATE);
        let at = self.entries.len() as u32;
        let bucket = self.table.bucket(key);
        let head = &mut self.table.heads[bucket as usize];
        self.entries.push(Entry {
            key,
            next: *head,
            value,
        });
        *head = at;
        rec.load(self.table.at.at(bucket));
        rec.store(self.keys_at.at(at.into()));
        rec.store(self.entries_at.at(at.into()));
        rec.store(self.table.at.at(bucket));
        at
    }

    /// Moves a bucket of the old table.
    fn rehash(&mut self, rec: &mut Recorder) {
        let Some(old) = &mut self.old else {
            return;
        };
        let mut before = rec.load(old.at.at(self.moved as u64));
        let mut at = std::mem::replace(&mut old.heads[self.moved], NONE);
        while at != NONE {
            let entry = &mut self.entries[at as usize];
            before = rec.load_after(self.entries_at.at(at.into()), before);
            rec.load_after(self.keys_at.at(at.into()), before);
            rec.work(HASH);
            let bucket = self.table.bucket(entry.key);
            let head = &mut self.table.heads[bucket as usize];
            let next = std::mem::replace(&mut entry.next, *head);
            *head = at;
            rec.store_after(self.entries_at.at(at.into()), before);
            rec.store(self.table.at.at(bucket));
            at = next;
        }
        rec.store(old.at.at(self.moved as u64));
        self.moved += 1;
        if self.moved == old.heads.len() {
            self.old = None;
        }
    }
}

fn table(place: Array, buckets: u64) -> Table {
    Table {
        heads: vec![NONE; buckets as usize],
        at: place.from(buckets),
    }
}

impl Table {
    fn bucket(&self, key: u64) -> u64 {
        mix(key) >> 20 & (self.heads.len() as u64 - 1)
    }
}

impl Program for Redis {
    fn footprint(&self) -> Bytes {
        self.footprint
    }

    fn threads(&self) -> u32 {
        self.options.threads
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        let left = self.series.left(STRETCH);
        let mut rec = Recorder::new(out);
        for _ in 0..left {
            rec.load(self.buffers.at(thread.into()));
            rec.work(COMMAND);
            self.rehash(&mut rec);
            match self.series.take() {
                Turn::Load(key) => self.set(&mut rec, thread, key, 0),
                Turn::Do(number) => match self.wanted(number) {
                    (Op::Read, key) => self.get(&mut rec, thread, key),
                    (_, key) => self.set(&mut rec, thread, key, number + 1),
                },
            }
        }
        if left == 0 { Step::End } else { Step::More }
    }
}

impl Kernel for Redis {
    fn rounds(&self) -> u64 {
        self.series.rounds()
    }

    /// Sends the requests to the standard library's map instead.
    fn check(&self) -> Result<(), Mismatch> {
        let mut map: BTreeMap<u64, u64> =
            (0..self.series.loaded(self.len)).map(|k| (k, 0)).collect();
        let mut read = 0_u64;
        for number in 0..self.series.done() {
            match self.wanted(number) {
                (Op::Read, key) => read = read.wrapping_add(mix(map[&key] ^ key << 40)),
                (_, key) => {
                    map.insert(key, number + 1);
                }
            }
        }
        if self.entries.len() != map.len() {
            return Err(Mismatch::new(
                "the number of entries",
                self.entries.len(),
                map.len(),
            ));
        }
        for (key, due) in &map {
            let found = self.find(&mut Recorder::new(&mut Vec::new()), *key);
            let is = found.map(|(at, _)| self.values[self.entries[at as usize].value as usize]);
            if is != Some(*due) {
                return Err(Mismatch::new(
                    format!("the last write of key {key}"),
                    format!("{is:?}"),
                    due,
                ));
            }
        }
        if read != self.read {
            let is = self.read;
            return Err(Mismatch::new(
                "the digest of the values read",
                format!("{is:x}"),
                format!("{read:x}"),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::drive::{given, run};
    use super::*;
    use sluice_units::LINE_BYTES;

    #[test]
    fn it_answers_as_a_map_while_its_table_grows() {
        for (start, mix) in [("built", "A"), ("empty", "B"), ("empty", "A")] {
            let set = [("start", start), ("mix", mix), ("value", "20")];
            let mut kernel = Redis::new(&given(&INFO, 3, 1, &set, 400));
            run(&mut kernel, 2);
            assert_eq!((kernel.check(), kernel.rounds()), (Ok(()), 1));
            assert!(kernel.table.heads.len() as u64 >= kernel.len);
            let place = kernel.entries[0].value as usize;
            kernel.values[place] ^= 1;
            assert!(kernel.check().is_err());
        }
    }

    #[test]
    fn an_old_table_is_searched_until_its_last_bucket_has_moved() {
        let set = [("start", "empty"), ("value", "8")];
        let mut kernel = Redis::new(&given(&INFO, 1, 1, &set, 400));
        let mut grew = 0;
        while kernel.series.done() == 0 {
            kernel.fill(0, &mut Vec::new());
            grew += u32::from(kernel.old.is_some());
            assert_eq!(kernel.check(), Ok(()));
        }
        assert!(grew > 3);
    }

    /// Ranks were drawn among as many as there are keys and then scattered. So a third of the keys
    /// were never asked for, and the most popular one was twice as popular as YCSB's.
    #[test]
    fn keys_are_as_popular_as_those_of_ycsb() {
        let kernel = Redis::new(&given(&INFO, 1, 1, &[("value", "20")], 1_000));
        let mut counts = vec![0_u32; kernel.len as usize];
        let draws = 200_000;
        (0..draws).for_each(|number| counts[kernel.wanted(number).1 as usize] += 1);
        assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
        // YCSB's zeta of 10^10 items is 26.469; what lies on the same key by chance comes on top.
        let share = f64::from(counts.into_iter().max().unwrap_or(0)) / draws as f64;
        assert!((1.0..1.2).contains(&(share * 26.469)), "{share}");
    }

    #[test]
    fn updates_are_half_of_mix_a_and_none_of_c() {
        let stores = ["A", "C"].map(|mix| {
            let kernel = Redis::new(&given(&INFO, 1, 1, &[("mix", mix)], 64));
            let updates = (0..10_000).filter(|n| kernel.wanted(*n).0 == Op::Update);
            updates.count()
        });
        assert!((4_800..5_200).contains(&stores[0]) && stores[1] == 0);
    }

    #[test]
    fn it_has_the_memory_that_was_asked_for() {
        let kernel = Redis::new(&given(&INFO, 1, 1, &[("bytes", "8MB")], 1));
        assert!(
            kernel.footprint().0.abs_diff(8_000_000) < 400_000,
            "{}",
            kernel.footprint().0
        );
    }
    #[test]
    fn lines_of_a_value_are_all_copied() {
        let mut kernel = Redis::new(&given(&INFO, 1, 1, &[], 64));
        let mut out = Vec::new();
        kernel.get(&mut Recorder::new(&mut out), 0, 5);
        let first = kernel.values_at.at(0);
        let lines = out
            .iter()
            .filter(|i| i.addr >= first)
            .map(|i| i.addr / LINE_BYTES);
        let lines: std::collections::BTreeSet<u64> = lines.collect();
        assert!(lines.len() as u64 >= kernel.value_bytes / LINE_BYTES);
    }
}
