//! Lookups in a B+-tree, as an index of a database has them.
//!
//! After the BTree of Achermann et al., "Mitosis: transparently self-replicating page-tables for
//! large-memory machines", 2020. Keys are inserted into a tree in random order, each with a record
//! of its own on the heap. Then keys that are there are looked up, each as likely. A node is that
//! of `store`, 32 entries; the original's have four to twenty.

use super::series::{START, Series, Turn, bytes, draws, mix};
use super::store::{FAN, Tree, TreePlan};
use super::{Arena, Array, Kernel, KernelInfo, KernelOptions, Mismatch, Recorder};
use sluice_host::{Instr, Program, Step};
use sluice_params::Param;
use sluice_units::Bytes;
use std::collections::BTreeMap;

/// A record, with the allocator's word.
const RECORD_BYTES: u64 = 32;
/// A key's share of the nodes, which are half full at worst.
const NODE_SHARE: u64 = 34;
/// Operations in a round, and in a stretch.
const ROUND: u64 = 16_384;
const STRETCH: u64 = 64;
/// Entries that a node is built with: what random insertions leave.
const FILL: usize = 22;

/// The loop, the next key, two calls.
const LOOKUP: u32 = 30;
/// What a look-up takes, and allocating the record.
const INSERT: u32 = 80;

const PARAMS: &[Param] = &[
    bytes("64MB", "assumed: ESF section V-E gives no size"),
    START,
];

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "btree",
    meaning: "lookups of random keys in a B+-tree",
    source: "ESF section V-E, BTree of Mitosis",
    published: None,
    thread_bytes: |_| 0,
    own_bytes: |_, bytes, _| bytes / 5 * 3,
    params: PARAMS,
    make: |options| Box::new(BTree::new(options)),
};

struct BTree {
    options: KernelOptions,
    tree: Tree,
    place: Array,
    /// What each record holds.
    records: Vec<u32>,
    series: Series,
    /// Sum of what was read.
    read: u64,
    footprint: Bytes,
}

impl BTree {
    fn new(options: &KernelOptions) -> BTree {
        let len = (options.bytes() / (RECORD_BYTES + NODE_SHARE)).max(FAN as u64);
        let mut arena = Arena::default();
        let plan = TreePlan::new(&mut arena, 0, FILL, len);
        let place = arena.array(len, RECORD_BYTES);
        let series = Series::new(options, len, ROUND);
        let loaded = series.loaded(len);
        let mut entries: Vec<(u64, u32)> = (0..loaded).map(|r| (mix(r), r as u32)).collect();
        entries.sort_unstable();
        let mut records: Vec<u32> = (0..loaded).map(contents).collect();
        records.resize(len as usize, 0);
        BTree {
            options: options.clone(),
            tree: Tree::build(plan, entries.into_iter()),
            place,
            records,
            series,
            read: 0,
            footprint: arena.footprint(),
        }
    }

    fn insert(&mut self, rec: &mut Recorder, record: u64) {
        rec.work(INSERT);
        rec.store(self.place.at(record));
        self.records[record as usize] = contents(record);
        self.tree.insert(rec, mix(record), record as u32);
    }

    fn look_up(&mut self, rec: &mut Recorder, number: u64) {
        rec.work(LOOKUP);
        let key = mix(self.wanted(number));
        let entry = self.tree.get(rec, key).expect("every key was loaded");
        rec.load_after(self.place.at(entry.value.into()), entry.loaded);
        self.read += u64::from(self.records[entry.value as usize]);
    }

    /// The record that a lookup is for.
    fn wanted(&self, number: u64) -> u64 {
        draws(self.options.seed, number).below(self.records.len() as u64)
    }
}

fn contents(record: u64) -> u32 {
    (mix(record ^ 0x5bd1_e995) >> 7) as u32
}

impl Program for BTree {
    fn footprint(&self) -> Bytes {
        self.footprint
    }

    fn threads(&self) -> u32 {
        self.options.threads
    }

    fn fill(&mut self, _thread: u32, out: &mut Vec<Instr>) -> Step {
        let left = self.series.left(STRETCH);
        let mut rec = Recorder::new(out);
        for _ in 0..left {
            match self.series.take() {
                Turn::Load(record) => self.insert(&mut rec, record),
                Turn::Do(number) => self.look_up(&mut rec, number),
            }
        }
        if left == 0 { Step::End } else { Step::More }
    }
}

impl Kernel for BTree {
    fn rounds(&self) -> u64 {
        self.series.rounds()
    }

    /// Does the look-ups in the standard library's map: another tree, written by others.
    fn check(&self) -> Result<(), Mismatch> {
        let loaded = self.series.loaded(self.records.len() as u64);
        let map: BTreeMap<u64, u32> = (0..loaded).map(|r| (mix(r), r as u32)).collect();
        let mut pairs = map.iter().map(|(k, v)| (*k, *v));
        let mut entries = self.tree.entries().into_iter();
        loop {
            let (is, due) = (entries.next(), pairs.next());
            if is != due {
                let [is, due] = [is, due].map(|entry| format!("{entry:x?}"));
                return Err(Mismatch::new("the tree's next entry", is, due));
            }
            if is.is_none() {
                break;
            }
        }
        let read = |number| u64::from(contents(map[&mix(self.wanted(number))].into()));
        let due: u64 = (0..self.series.done()).map(read).sum();
        if due != self.read {
            let is = self.read;
            return Err(Mismatch::new("the sum of the records read", is, due));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::drive::{given, run};
    use super::*;

    #[test]
    fn a_tree_that_was_built_is_one_that_was_loaded() {
        for threads in [1, 3] {
            let told = ["built", "empty"].map(|start| {
                let mut kernel = BTree::new(&given(&INFO, threads, 1, &[("start", start)], 200));
                let told = run(&mut kernel, 1);
                assert_eq!((kernel.check(), kernel.rounds()), (Ok(()), 1));
                kernel.read += 1;
                assert!(kernel.check().is_err());
                told
            });
            assert_eq!(told[0].stores, 0);
            assert!(told[1].stores > 5_000);
        }
    }

    #[test]
    fn it_has_the_memory_that_was_asked_for() {
        let kernel = BTree::new(&given(&INFO, 1, 1, &[("bytes", "8MB")], 1));
        assert!(kernel.footprint().0.abs_diff(8_000_000) < 400_000);
    }
}
