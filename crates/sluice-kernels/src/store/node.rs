//! A node of a B+-tree, leaf or not.

/// Entries of a node.
pub(crate) const FAN: usize = 32;

#[derive(Clone)]
pub(super) struct Node {
    /// In a leaf the keys; above, the greatest key that may be below each child. Those that are not
    /// used are the greatest of all.
    pub(super) keys: [u64; FAN],
    pub(super) values: [u32; FAN],
    pub(super) used: usize,
}

impl Node {
    /// No entries.
    pub(super) const EMPTY: Node = Node {
        keys: [u64::MAX; FAN],
        values: [0; FAN],
        used: 0,
    };

    /// The first entry that is not below `key`. No key is below those that are not used.
    pub(super) fn position(&self, key: u64) -> usize {
        self.keys.partition_point(|k| *k < key)
    }

    pub(super) fn insert(&mut self, at: usize, key: u64, value: u32) {
        self.keys.copy_within(at..self.used, at + 1);
        self.values.copy_within(at..self.used, at + 1);
        (self.keys[at], self.values[at]) = (key, value);
        self.used += 1;
    }

    /// Leaves the first `mid` entries and returns the others.
    pub(super) fn split(&mut self, mid: usize) -> Node {
        let mut right = Node::EMPTY;
        right.used = self.used - mid;
        right.keys[..right.used].copy_from_slice(&self.keys[mid..self.used]);
        right.values[..right.used].copy_from_slice(&self.values[mid..self.used]);
        self.keys[mid..].fill(u64::MAX);
        self.used = mid;
        right
    }
}
