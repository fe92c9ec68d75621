//! The index of an in-memory store: a B+-tree whose nodes have addresses.
//!
//! N-Store has one pointer-linked B+-tree for each index of a table. A node here is eight lines:
//! four of keys, four of values or children. Its users look keys up and insert them; `tpcc`, which
//! removes some, has an index of its own.

mod node;

use super::{Arena, Array, Loaded, Recorder};
use node::Node;

pub(super) use node::FAN;

/// Bytes of a node: keys, then values.
const NODE_BYTES: u64 = 16 * FAN as u64;
const VALUES_AT: u64 = 8 * FAN as u64;
/// Keys in a line.
const LINE_KEYS: usize = 8;
/// More levels than a tree of 2^32 nodes can have.
const LEVELS_MAX: usize = 16;

/// Comparing a line of keys with a vector instruction: compare, mask to a register, branch.
const COMPARE: u32 = 3;
/// From the mask to the entry: count zeros, shift, add.
const LOCATE: u32 = 3;
/// Moving a line of entries up or down by one: load, permute, store, loop.
const SHIFT: u32 = 2;
/// Taking or giving back a node: free list, parent's bounds.
const ALLOCATE: u32 = 40;

/// The nodes from the root to a leaf, and the entry taken in each.
struct Path {
    steps: [(u32, usize); LEVELS_MAX],
    depth: usize,
}

impl Path {
    fn leaf(&self) -> (u32, usize) {
        self.steps[self.depth - 1]
    }
}

/// An entry found, and the load that brought its value.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) value: u32,
    pub(super) loaded: Loaded,
}

/// A B+-tree from keys below 2^64 - 1 to rows.
pub(super) struct Tree {
    nodes: Vec<Node>,
    at: Array,
    capacity: usize,
    root: u32,
    /// Levels of nodes, the leaves' included.
    height: usize,
}

/// Where a tree's nodes are.
#[derive(Clone, Copy)]
pub(super) struct TreePlan {
    at: Array,
    capacity: u64,
    fill: usize,
}

impl TreePlan {
    /// Room for a tree built from `initial` entries, `fill` in a node, that grows to `rows`.
    /// Nodes that grew are half full at worst.
    pub(super) fn new(arena: &mut Arena, initial: u64, fill: usize, rows: u64) -> TreePlan {
        let leaves = initial.div_ceil(fill as u64) + 1;
        let grown = (rows - initial).div_ceil(FAN as u64 / 2) * u64::from(rows > initial);
        let all = leaves + grown;
        let capacity = all + all.div_ceil(fill as u64 / 2) + LEVELS_MAX as u64;
        TreePlan {
            at: arena.array(capacity, NODE_BYTES),
            capacity,
            fill,
        }
    }
}

impl Tree {
    /// A tree of entries in ascending order of their keys.
    pub(super) fn build(plan: TreePlan, entries: impl Iterator<Item = (u64, u32)>) -> Tree {
        let mut tree = Tree {
            nodes: Vec::new(),
            at: plan.at,
            capacity: plan.capacity as usize,
            root: 0,
            height: 1,
        };
        let mut level = tree.level(plan.fill, entries);
        while level.len() > 1 {
            // What is above the greatest key of all belongs to the last child.
            level.last_mut().expect("not empty").0 = u64::MAX;
            level = tree.level(plan.fill, level.into_iter());
            tree.height += 1;
        }
        tree.root = level[0].1;
        tree
    }

    /// Nodes of `fill` entries each; their greatest keys and numbers.
    fn level(&mut self, fill: usize, entries: impl Iterator<Item = (u64, u32)>) -> Vec<(u64, u32)> {
        let mut nodes = Vec::new();
        let mut node = Node::EMPTY;
        for (key, value) in entries {
            if node.used == fill {
                nodes.push((node.keys[fill - 1], self.take(node)));
                node = Node::EMPTY;
            }
            node.insert(node.used, key, value);
        }
        if node.used > 0 || nodes.is_empty() {
            nodes.push((node.keys[node.used.max(1) - 1], self.take(node)));
        }
        nodes
    }

    fn take(&mut self, node: Node) -> u32 {
        assert!(self.nodes.len() < self.capacity, "the plan has room");
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    /// The value of a key.
    pub(super) fn get(&self, rec: &mut Recorder, key: u64) -> Option<Entry> {
        let (path, before) = self.descend(rec, key);
        let (id, at) = path.leaf();
        let leaf = &self.nodes[id as usize];
        let found = at < leaf.used && leaf.keys[at] == key;
        found.then(|| self.entry(rec, id, at, before))
    }

    /// Inserts a key that is not there.
    pub(super) fn insert(&mut self, rec: &mut Recorder, key: u64, value: u32) {
        let (path, before) = self.descend(rec, key);
        let (leaf, at) = path.leaf();
        let (mut key, mut value, mut level) = (key, value, path.depth - 1);
        let (mut id, mut at) = (leaf, at);
        loop {
            let full = self.nodes[id as usize].used == FAN;
            if !full {
                self.put(rec, id, at, key, value, before);
                return;
            }
            let (bound, right) = self.split(rec, id, at, (key, value), before);
            if level == 0 {
                let mut root = Node::EMPTY;
                root.insert(0, bound, id);
                root.insert(1, u64::MAX, right);
                self.root = self.take(root);
                self.height += 1;
                self.clear_keys(rec, self.root, 0);
                rec.store(self.value_at(self.root, 0));
                return;
            }
            level -= 1;
            // The old entry, with the old bound, becomes the right half's.
            let (parent, slot) = path.steps[level];
            self.nodes[parent as usize].values[slot] = right;
            (key, value, id, at) = (bound, id, parent, slot);
        }
    }

    /// Every entry, ascending.
    pub(super) fn entries(&self) -> Vec<(u64, u32)> {
        let mut out = Vec::new();
        self.collect(self.root, self.height, &mut out);
        out
    }

    fn collect(&self, id: u32, height: usize, out: &mut Vec<(u64, u32)>) {
        let node = &self.nodes[id as usize];
        for (key, value) in node.keys.iter().zip(node.values).take(node.used) {
            if height == 1 {
                out.push((*key, value));
            } else {
                self.collect(value, height - 1, out);
            }
        }
    }

    fn key_at(&self, id: u32, entry: usize) -> u64 {
        self.at.at(u64::from(id)) + 8 * entry as u64
    }

    fn value_at(&self, id: u32, entry: usize) -> u64 {
        self.key_at(id, entry) + VALUES_AT
    }

    fn entry(&self, rec: &mut Recorder, id: u32, at: usize, before: Loaded) -> Entry {
        let node = &self.nodes[id as usize];
        rec.work(LOCATE);
        let loaded = rec.load_after(self.value_at(id, at), before);
        Entry {
            value: node.values[at],
            loaded,
        }
    }

    /// To the leaf that has the key or would; the load of the line of keys that decided.
    fn descend(&self, rec: &mut Recorder, key: u64) -> (Path, Loaded) {
        let mut path = Path {
            steps: [(0, 0); LEVELS_MAX],
            depth: 0,
        };
        let (mut id, mut before) = (self.root, None);
        loop {
            let node = &self.nodes[id as usize];
            let at = node.position(key);
            let keys = self.search(rec, id, at, before);
            path.steps[path.depth] = (id, at);
            path.depth += 1;
            if path.depth == self.height {
                return (path, keys);
            }
            rec.work(LOCATE);
            before = Some(rec.load_after(self.value_at(id, at), keys));
            id = node.values[at];
        }
    }

    /// Compares a line of keys after the other, up to the one that has the place.
    fn search(&self, rec: &mut Recorder, id: u32, at: usize, before: Option<Loaded>) -> Loaded {
        let last = (at / LINE_KEYS).min(FAN / LINE_KEYS - 1);
        let mut compare = |line: usize| {
            let addr = self.key_at(id, line * LINE_KEYS);
            let loaded = match before {
                Some(before) => rec.load_after(addr, before),
                None => rec.load(addr),
            };
            rec.work(COMPARE);
            loaded
        };
        (0..last).for_each(|line| {
            compare(line);
        });
        compare(last)
    }

    fn put(&mut self, rec: &mut Recorder, id: u32, at: usize, key: u64, value: u32, b: Loaded) {
        self.shift(rec, id, at, b);
        self.nodes[id as usize].insert(at, key, value);
    }

    /// Moves the entries from `at` on by one: every line of keys and values from there to the place
    /// that the last one goes to.
    fn shift(&self, rec: &mut Recorder, id: u32, at: usize, before: Loaded) {
        let last = self.nodes[id as usize].used;
        for entry in (at / LINE_KEYS * LINE_KEYS..=last).step_by(LINE_KEYS) {
            for addr in [self.key_at(id, entry), self.value_at(id, entry)] {
                let line = rec.load_after(addr, before);
                rec.work(SHIFT);
                rec.store_after(addr, line);
            }
        }
    }

    /// Makes the keys from `entry` on those of entries that are not used.
    fn clear_keys(&self, rec: &mut Recorder, id: u32, entry: usize) {
        let lines = (entry..FAN).step_by(LINE_KEYS);
        lines.for_each(|entry| rec.store(self.key_at(id, entry)));
    }

    /// Splits a full node and puts an entry in one of the halves. The bound of the left half, and
    /// the right one.
    fn split(
        &mut self,
        rec: &mut Recorder,
        id: u32,
        at: usize,
        (key, value): (u64, u32),
        before: Loaded,
    ) -> (u64, u32) {
        // Keys that come in order leave full leaves behind.
        let mid = if at == FAN { FAN } else { FAN / 2 };
        let right = self.nodes[id as usize].split(mid);
        let bound = self.nodes[id as usize].keys[mid - 1];
        let right = self.take(right);
        rec.work(ALLOCATE);
        for entry in (mid..FAN).step_by(LINE_KEYS) {
            let (from, to) = (entry, entry - mid);
            rec.load_after(self.key_at(id, from), before);
            rec.store(self.key_at(right, to));
            rec.load_after(self.value_at(id, from), before);
            rec.store(self.value_at(right, to));
        }
        self.clear_keys(rec, id, mid);
        self.clear_keys(rec, right, FAN - mid);
        if at < mid {
            self.put(rec, id, at, key, value, before);
        } else {
            self.put(rec, right, at - mid, key, value, before);
        }
        (bound, right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::told;
    use proptest::{prop_assert, prop_assert_eq, proptest};
    use sluice_host::MemOp;
    use std::collections::{BTreeMap, BTreeSet};

    fn tree(keys: &BTreeMap<u64, u32>, fill: usize) -> Tree {
        let mut arena = Arena::default();
        let plan = TreePlan::new(&mut arena, keys.len() as u64, fill, 4_000);
        Tree::build(plan, keys.iter().map(|(k, v)| (*k, *v)))
    }

    proptest! {
        #[test]
        fn answers_as_a_btree_map(
            initial in 0_u64..600,
            ops in proptest::collection::vec((0_u8..6, 0_u64..900), 0..600),
        ) {
            let mut map: BTreeMap<u64, u32> = (0..initial).map(|k| (3 * k / 2, k as u32)).collect();
            let mut tree = tree(&map, 24);
            for (n, (op, key)) in ops.into_iter().enumerate() {
                let ((), _) = told(|rec| match op {
                    0..4 if !map.contains_key(&key) => {
                        map.insert(key, n as u32);
                        tree.insert(rec, key, n as u32);
                    }
                    _ => {
                        let found = tree.get(rec, key).map(|e| e.value);
                        assert_eq!(found, map.get(&key).copied());
                    }
                });
            }
            prop_assert_eq!(tree.entries(), map.into_iter().collect::<Vec<_>>());
        }
    }

    /// The lines of keys of a node, then those of values: what is in each.
    fn lines(node: &Node) -> Vec<Vec<u64>> {
        let keys = node.keys.chunks(LINE_KEYS).map(<[u64]>::to_vec);
        let values = node.values.map(u64::from);
        keys.chain(values.chunks(LINE_KEYS).map(<[u64]>::to_vec))
            .collect()
    }

    proptest! {
        /// Of a node that is new, all lines of keys are: those that are not used are the greatest.
        #[test]
        fn every_line_that_changes_is_stored_to(
            keys in proptest::collection::btree_set(0_u64..1 << 40, 1..700), in_order: bool,
        ) {
            let mut tree = tree(&BTreeMap::new(), 24);
            let mut keys: Vec<u64> = keys.into_iter().collect();
            if !in_order {
                keys.sort_unstable_by_key(|key| sluice_units::splitmix(*key));
            }
            for (n, key) in (1..).zip(keys) {
                let before: Vec<_> = tree.nodes.iter().map(lines).collect();
                let ((), told) = told(|rec| tree.insert(rec, key, n));
                let stores = told.iter().filter(|instr| instr.op == MemOp::Store);
                let stored: BTreeSet<u64> = stores.map(|instr| instr.addr / 64).collect();
                for (id, now) in tree.nodes.iter().map(lines).enumerate() {
                    for (line, is) in now.iter().enumerate() {
                        let was = before.get(id).map(|node| &node[line]);
                        let is_changed = match was {
                            Some(was) => was != is,
                            None => line < FAN / LINE_KEYS || is.iter().any(|value| *value > 0),
                        };
                        let at = tree.key_at(id as u32, line * LINE_KEYS) / 64;
                        prop_assert!(!is_changed || stored.contains(&at), "{n}: {id}, {line}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_descent_is_a_chain_of_loads() {
        let keys: BTreeMap<u64, u32> = (0..32 * 32 * 3).map(|k| (k, k as u32)).collect();
        let tree = tree(&keys, 32);
        assert_eq!(tree.height, 3);
        let (found, told) = told(|rec| tree.get(rec, 0).map(|e| e.value));
        assert_eq!(found, Some(0));
        // The first line of keys and the first line of values of three nodes, each after the other.
        let after: Vec<u16> = told.iter().map(|i| i.after).collect();
        assert_eq!(after, [0, 1, 1, 1, 1, 1]);
        let lines: Vec<u64> = told.iter().map(|i| i.addr % NODE_BYTES).collect();
        assert_eq!(lines, [0, VALUES_AT, 0, VALUES_AT, 0, VALUES_AT]);
    }
}
