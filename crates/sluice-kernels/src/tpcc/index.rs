//! The index of a table: N-Store's B+-tree over hashed keys.
//!
//! A node has 16 keys, and 16 values or children, in five lines; it is searched from its first key
//! on. What is looked for is printed and hashed first, so that neighbours in a table are strangers
//! here, and an index answers for single keys only. A key that is removed leaves its node there.

use super::super::{Loaded, Recorder};
use super::shape::LINE;
use sluice_units::splitmix;

/// Keys of a node.
const FAN: usize = 16;
/// Keys of a node that grew from keys in no order: ln 2 of all, on average.
const FILL: usize = 11;
/// Lines of a node with the allocator's.
pub(super) const NODE_LINES: u64 = 6;
/// Keys begin behind level and count, in leaves behind the neighbours, too; then values.
const INNER_KEYS_AT: u64 = 8;
const LEAF_KEYS_AT: u64 = 24;
const VALUES: u64 = 8 * FAN as u64;
/// More levels than a tree of 2^32 nodes can have.
const LEVELS_MAX: usize = 16;

/// Comparing with the keys of a line; calls and checks on the way through a node (callgrind: 80 to
/// 100 a level).
const COMPARE: u32 = 30;
/// Moving a line of entries.
const SHIFT: u32 = 60;
/// Taking a node.
const ALLOCATE: u32 = 400;

/// An entry found, and the load that brought its value.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) value: u32,
    pub(super) loaded: Loaded,
}

#[derive(Clone)]
struct Node {
    /// In a leaf the keys; above, the greatest key that may be below each child.
    keys: [u64; FAN],
    values: [u32; FAN],
    used: usize,
    leaf: bool,
}

impl Node {
    fn empty(leaf: bool) -> Node {
        Node {
            keys: [u64::MAX; FAN],
            values: [0; FAN],
            used: 0,
            leaf,
        }
    }

    fn position(&self, key: u64) -> usize {
        self.keys[..self.used].partition_point(|k| *k < key)
    }

    fn insert(&mut self, at: usize, key: u64, value: u32) {
        self.keys.copy_within(at..self.used, at + 1);
        self.values.copy_within(at..self.used, at + 1);
        (self.keys[at], self.values[at]) = (key, value);
        self.used += 1;
    }

    fn remove(&mut self, at: usize) {
        self.keys.copy_within(at + 1..self.used, at);
        self.values.copy_within(at + 1..self.used, at);
        self.used -= 1;
    }

    fn key_at(&self, entry: usize) -> u64 {
        let first = if self.leaf {
            LEAF_KEYS_AT
        } else {
            INNER_KEYS_AT
        };
        first + 8 * entry as u64
    }

    fn value_at(&self, entry: usize) -> u64 {
        self.key_at(entry) + VALUES
    }
}

/// Nodes that a tree of so many entries is built of.
pub(super) fn nodes(entries: u64) -> u64 {
    let mut level = entries.div_ceil(FILL as u64).max(1);
    let mut all = level;
    while level > 1 {
        level = level.div_ceil(FILL as u64);
        all += level;
    }
    all
}

/// Nodes that a tree may grow by, up to so many entries. Keys are even, and a node is split when it
/// is full: no more than half as many nodes as entries.
pub(super) fn grown(entries: u64) -> u64 {
    entries.div_ceil(2) + LEVELS_MAX as u64
}

/// A B+-tree from keys to rows.
pub(super) struct Index {
    nodes: Vec<Node>,
    /// Where they are, those to come included.
    places: Vec<u64>,
    root: u32,
    height: usize,
}

type Path = ([(u32, usize); LEVELS_MAX], Loaded);

impl Index {
    /// A tree of these entries, with nodes in these places.
    pub(super) fn build(places: Vec<u64>, entries: impl Iterator<Item = (u64, u32)>) -> Index {
        let mut level: Vec<(u64, u32)> = entries.map(|(key, row)| (splitmix(key), row)).collect();
        level.sort_unstable();
        let mut index = Index {
            nodes: Vec::new(),
            places,
            root: 0,
            height: 1,
        };
        level = index.level(&level, true);
        while level.len() > 1 {
            level = index.level(&level, false);
            index.height += 1;
        }
        index.root = level[0].1;
        index
    }

    /// Nodes of these entries; their greatest keys and numbers.
    fn level(&mut self, entries: &[(u64, u32)], leaf: bool) -> Vec<(u64, u32)> {
        let mut nodes = Vec::new();
        for part in entries.chunks(FILL) {
            let mut node = Node::empty(leaf);
            part.iter()
                .for_each(|(key, value)| node.insert(node.used, *key, *value));
            nodes.push((node.keys[node.used - 1], self.take(node)));
        }
        if nodes.is_empty() {
            nodes.push((u64::MAX, self.take(Node::empty(leaf))));
        }
        // What is above the greatest key of all belongs to the last child.
        nodes.last_mut().expect("not empty").0 = u64::MAX;
        nodes
    }

    fn take(&mut self, node: Node) -> u32 {
        assert!(self.nodes.len() < self.places.len(), "there is room");
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    /// The value of a key, without a recorded access.
    pub(super) fn find(&self, key: u64) -> Option<u32> {
        let key = splitmix(key);
        let mut id = self.root;
        for _ in 1..self.height {
            let node = &self.nodes[id as usize];
            id = node.values[node.position(key)];
        }
        let leaf = &self.nodes[id as usize];
        let at = leaf.position(key);
        (at < leaf.used && leaf.keys[at] == key).then(|| leaf.values[at])
    }

    /// Every row, in the order of the keys' hashes.
    pub(super) fn rows(&self) -> Vec<u32> {
        let leaves = self.nodes.iter().filter(|node| node.leaf);
        leaves
            .flat_map(|node| node.values[..node.used].iter().copied())
            .collect()
    }

    /// The value of a key.
    pub(super) fn get(&self, rec: &mut Recorder, key: u64) -> Option<Entry> {
        let ((path, before), key) = (self.descend(rec, splitmix(key)), splitmix(key));
        let (id, at) = path[self.height - 1];
        let leaf = &self.nodes[id as usize];
        let found = at < leaf.used && leaf.keys[at] == key;
        found.then(|| Entry {
            value: leaf.values[at],
            loaded: rec.load_after(self.place(id) + leaf.value_at(at), before),
        })
    }

    /// Gives a key another value, or its first.
    pub(super) fn put(&mut self, rec: &mut Recorder, key: u64, value: u32) {
        let ((path, before), key) = (self.descend(rec, splitmix(key)), splitmix(key));
        let (id, at) = path[self.height - 1];
        let leaf = &mut self.nodes[id as usize];
        if at < leaf.used && leaf.keys[at] == key {
            leaf.values[at] = value;
            let addr = leaf.value_at(at) + self.place(id);
            rec.store_after(addr, before);
            return;
        }
        self.grow(rec, (path, before), key, value);
    }

    /// Puts an entry in, and splits what is full, up to the root.
    fn grow(&mut self, rec: &mut Recorder, (path, before): Path, key: u64, value: u32) {
        let (mut key, mut value, mut level) = (key, value, self.height - 1);
        let (mut id, mut at) = path[level];
        while self.nodes[id as usize].used == FAN {
            let (bound, right) = self.split(rec, id, before);
            let (half, slot) = if at <= FAN / 2 {
                (id, at)
            } else {
                (right, at - FAN / 2)
            };
            let last = self.nodes[half as usize].used;
            self.shift(rec, half, (slot, last), before);
            self.nodes[half as usize].insert(slot, key, value);
            let bound = bound.max(self.nodes[id as usize].keys[self.nodes[id as usize].used - 1]);
            if level == 0 {
                let mut root = Node::empty(false);
                root.insert(0, bound, id);
                root.insert(1, u64::MAX, right);
                self.root = self.take(root);
                self.height += 1;
                rec.work(ALLOCATE);
                rec.store(self.place(self.root));
                rec.store(self.place(self.root) + INNER_KEYS_AT + VALUES);
                return;
            }
            level -= 1;
            // The old entry, with the old bound, becomes the right half's.
            let (parent, slot) = path[level];
            self.nodes[parent as usize].values[slot] = right;
            (key, value, id, at) = (bound, id, parent, slot);
        }
        let last = self.nodes[id as usize].used;
        self.shift(rec, id, (at, last), before);
        self.nodes[id as usize].insert(at, key, value);
    }

    /// Removes a key; whether it was there.
    pub(super) fn remove(&mut self, rec: &mut Recorder, key: u64) -> bool {
        let ((path, before), key) = (self.descend(rec, splitmix(key)), splitmix(key));
        let (id, at) = path[self.height - 1];
        let leaf = &self.nodes[id as usize];
        if at == leaf.used || leaf.keys[at] != key {
            return false;
        }
        let last = self.nodes[id as usize].used - 1;
        self.shift(rec, id, (at, last), before);
        self.nodes[id as usize].remove(at);
        true
    }

    /// Where its nodes are, those to come included.
    #[cfg(test)]
    pub(super) fn places(&self) -> &[u64] {
        &self.places
    }

    fn place(&self, id: u32) -> u64 {
        self.places[id as usize] + LINE
    }

    /// To the leaf that has the key or would; the load that decided there.
    fn descend(&self, rec: &mut Recorder, key: u64) -> Path {
        let mut path = [(0, 0); LEVELS_MAX];
        let (mut id, mut before) = (self.root, None);
        for step in &mut path[..self.height] {
            let node = &self.nodes[id as usize];
            let at = node.position(key);
            *step = (id, at);
            let keys = self.search(rec, id, at, before);
            before = Some(keys);
            if !node.leaf {
                before = Some(rec.load_after(self.place(id) + node.value_at(at), keys));
                id = node.values[at];
            }
        }
        (path, before.expect("a tree has a root"))
    }

    /// Looks at a line of keys after the other, up to the one that has the place.
    fn search(&self, rec: &mut Recorder, id: u32, at: usize, before: Option<Loaded>) -> Loaded {
        let node = &self.nodes[id as usize];
        let mut look = |line: u64| {
            rec.work(COMPARE);
            let addr = self.place(id) + line * LINE;
            match before {
                Some(before) => rec.load_after(addr, before),
                None => rec.load(addr),
            }
        };
        let last = node.key_at(at.min(FAN - 1)) / LINE;
        (0..last).for_each(|line| {
            look(line);
        });
        look(last)
    }

    /// Moves the entries from `at` on by one, of which the place of the last one is `last` at most,
    /// and counts them anew.
    fn shift(&self, rec: &mut Recorder, id: u32, (at, last): (usize, usize), before: Loaded) {
        let (node, place) = (&self.nodes[id as usize], self.place(id));
        for (first, end) in [
            (node.key_at(at), node.key_at(last)),
            (node.value_at(at), node.value_at(last)),
        ] {
            for line in first / LINE..=end / LINE {
                let old = rec.load_after(place + line * LINE, before);
                rec.work(SHIFT);
                rec.store_after(place + line * LINE, old);
            }
        }
        rec.store(place);
    }

    /// Gives the upper half of a node to a new one: the greatest key that stays, and the new one.
    fn split(&mut self, rec: &mut Recorder, id: u32, before: Loaded) -> (u64, u32) {
        let node = &mut self.nodes[id as usize];
        let half = FAN / 2;
        let mut right = Node::empty(node.leaf);
        for at in half..FAN {
            right.insert(at - half, node.keys[at], node.values[at]);
        }
        node.used = half;
        let bound = node.keys[half - 1];
        let right = self.take(right);
        rec.work(ALLOCATE);
        (2..NODE_LINES - 1).for_each(|line| {
            rec.load_after(self.place(id) + line * LINE, before);
        });
        // How many stay.
        rec.store(self.place(id));
        (0..NODE_LINES).for_each(|line| rec.store(self.places[right as usize] + line * LINE));
        (bound, right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::told;
    use proptest::{prop_assert_eq, proptest};
    use sluice_host::MemOp;
    use std::collections::BTreeMap;

    fn index(entries: &BTreeMap<u64, u32>) -> Index {
        let all = nodes(entries.len() as u64) + grown(4_000);
        let places = (0..all).map(|n| n * NODE_LINES * LINE).collect();
        Index::build(places, entries.iter().map(|(k, v)| (*k, *v)))
    }

    /// The line that the last entry moves into was not stored to.
    #[test]
    fn an_insertion_stores_to_all_lines_that_entries_move_into() {
        let mut seen = 0;
        // Hashes put the new key anywhere among the others.
        for (entries, key) in (1..FAN as u64).flat_map(|n| (100..116).map(move |key| (n, key))) {
            let mut index = index(&(0..entries).map(|key| (key, 0)).collect());
            let ((), told) = told(|rec| index.put(rec, key, 7));
            let [node] = &index.nodes[..] else { continue };
            let stores = told.iter().filter(|instr| instr.op == MemOp::Store);
            let stored: Vec<u64> = stores.map(|instr| instr.addr / LINE).collect();
            let new = node.values[..node.used]
                .iter()
                .position(|value| *value == 7);
            for at in new.expect("the entry")..node.used {
                for byte in [node.key_at(at), node.value_at(at)] {
                    let line = (index.place(0) + byte) / LINE;
                    assert!(stored.contains(&line), "{entries}: {at}");
                }
            }
            seen += 1;
        }
        assert!(seen > 8 * FAN);
    }

    /// A node that is split has fewer entries, also if the new one is not among them: its count was
    /// not stored then.
    #[test]
    fn a_split_stores_the_counts_of_both_halves() {
        let mut to_the_right = 0;
        for key in 100..300 {
            let mut index = index(&(0..FILL as u64).map(|key| (key, 0)).collect());
            (0..(FAN - FILL) as u64).for_each(|more| {
                told(|rec| index.put(rec, 1_000 + more, 0));
            });
            assert_eq!((index.nodes.len(), index.nodes[0].used), (1, FAN));
            let ((), told) = told(|rec| index.put(rec, key, 7));
            let stores = told.iter().filter(|instr| instr.op == MemOp::Store);
            let stored: Vec<u64> = stores.map(|instr| instr.addr).collect();
            for half in [0, 1] {
                assert!(stored.contains(&index.place(half)), "{key}, half {half}");
            }
            to_the_right += u64::from(index.nodes[1].values[..index.nodes[1].used].contains(&7));
        }
        assert!((50..150).contains(&to_the_right), "{to_the_right}");
    }

    proptest! {
        #[test]
        fn answers_as_a_map(
            initial in 0_u64..600,
            ops in proptest::collection::vec((0_u8..6, 0_u64..900), 0..900),
        ) {
            let mut map: BTreeMap<u64, u32> = (0..initial).map(|k| (3 * k / 2, k as u32)).collect();
            let mut index = index(&map);
            for (n, (op, key)) in ops.into_iter().enumerate() {
                let ((), _) = told(|rec| match op {
                    0..3 => {
                        map.insert(key, n as u32);
                        index.put(rec, key, n as u32);
                    }
                    3 => for key in key..key + 20 {
                        assert_eq!(index.remove(rec, key), map.remove(&key).is_some());
                    },
                    _ => {
                        let found = index.get(rec, key).map(|e| e.value);
                        assert_eq!(found, map.get(&key).copied());
                        assert_eq!(index.find(key), found);
                    }
                });
            }
            let (mut rows, mut due) = (index.rows(), map.into_values().collect::<Vec<_>>());
            rows.sort_unstable();
            due.sort_unstable();
            prop_assert_eq!(rows, due);
        }
    }

    #[test]
    fn a_descent_is_a_chain_of_loads_in_lines_of_their_own_nodes() {
        let index = index(&(0..3_000).map(|k| (k, k as u32)).collect());
        assert_eq!(index.height, 4);
        let (found, told) = told(|rec| index.get(rec, 7).map(|e| e.value));
        assert_eq!(found, Some(7));
        assert!(told.iter().all(|i| i.op == MemOp::Load));
        assert_eq!(told[0].after, 0);
        assert!(told.last().is_some_and(|i| i.after > 0));
        let nodes: Vec<u64> = told.iter().map(|i| i.addr / (NODE_LINES * LINE)).collect();
        let mut apart = nodes.clone();
        apart.dedup();
        assert_eq!(apart.len(), 4);
        // N-Store's takes 25 lines for the two or three look-ups of a Payment.
        assert!((8..20).contains(&nodes.len()), "{nodes:?}");
    }
}
