//! A sharded hash table of records, each value in its own heap block.

use std::sync::{Mutex, MutexGuard, PoisonError};

use sluice_units::splitmix;

const SHARDS: usize = 64;
const SHARD_BITS: u32 = SHARDS.ilog2();
const SLOTS_MIN: usize = 64;
/// Slots are doubled when more than 7 of 10 are taken.
const FULL: (usize, usize) = (7, 10);

/// Records by key: open addressing with linear probing, one lock for each shard.
///
/// Only the slots and the values are on the heap. The locks lie in the table itself, so a
/// `static` table has them in static memory: the kernel never waits on heap memory.
pub struct Store {
    shards: [Mutex<Shard>; SHARDS],
}

struct Shard {
    slots: Vec<Slot>,
    used: usize,
}

struct Slot {
    key: u64,
    version: u64,
    value: Option<Box<[u8]>>,
}

/// A record under its shard's lock.
pub struct Record<'a> {
    /// How often it was replaced.
    pub version: &'a mut u64,
    pub value: &'a mut [u8],
}

impl Default for Store {
    fn default() -> Self {
        Self::new()
    }
}

impl Store {
    /// An empty store, usable as the initial value of a `static`.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            shards: [const {
                Mutex::new(Shard {
                    slots: Vec::new(),
                    used: 0,
                })
            }; SHARDS],
        }
    }

    /// Adds a record in version 0. False when the key is taken; the record then stays as it is.
    pub fn insert(&self, key: u64, value: Box<[u8]>) -> bool {
        let hash = splitmix(key);
        let mut shard = self.shard(hash);
        shard.reserve();
        let slot = shard.probe(hash, key);
        let slot = &mut shard.slots[slot];
        if slot.value.is_some() {
            return false;
        }
        *slot = Slot {
            key,
            version: 0,
            value: Some(value),
        };
        shard.used += 1;
        true
    }

    /// Hands the record of `key` to `with`, under its shard's lock.
    pub fn with<R>(&self, key: u64, with: impl FnOnce(Record) -> R) -> Option<R> {
        let hash = splitmix(key);
        let mut shard = self.shard(hash);
        if shard.slots.is_empty() {
            return None;
        }
        let slot = shard.probe(hash, key);
        let Slot { version, value, .. } = &mut shard.slots[slot];
        value
            .as_deref_mut()
            .map(|value| with(Record { version, value }))
    }

    #[must_use]
    pub fn records(&self) -> u64 {
        self.shards
            .iter()
            .map(|shard| lock(shard).used as u64)
            .sum()
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard> {
        lock(&self.shards[(hash >> (u64::BITS - SHARD_BITS)) as usize])
    }
}

/// A shard is consistent between any two operations, so a panic elsewhere does not spoil it.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shard {
    /// The slot of the key, or the free one where it belongs. There is always a free slot.
    fn probe(&self, hash: u64, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at].value.is_some() && self.slots[at].key != key {
            at = (at + 1) & mask;
        }
        at
    }

    /// Makes room for one more record.
    fn reserve(&mut self) {
        if (self.used + 1) * FULL.1 <= self.slots.len() * FULL.0 {
            return;
        }
        let len = (self.slots.len() * 2).max(SLOTS_MIN);
        let empty = || Slot {
            key: 0,
            version: 0,
            value: None,
        };
        let old = std::mem::replace(&mut self.slots, (0..len).map(|_| empty()).collect());
        for slot in old.into_iter().filter(|slot| slot.value.is_some()) {
            let at = self.probe(splitmix(slot.key), slot.key);
            self.slots[at] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u64, u8),
        Replace(u64, u8),
        Read(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let key = 0_u64..400;
        prop_oneof![
            3 => (key.clone(), any::<u8>()).prop_map(|(k, v)| Step::Insert(k, v)),
            1 => (key.clone(), any::<u8>()).prop_map(|(k, v)| Step::Replace(k, v)),
            1 => key.prop_map(Step::Read),
        ]
    }

    proptest! {
        #[test]
        fn it_is_a_map(steps in prop::collection::vec(step(), 0..1_500)) {
            let store = Store::new();
            let mut model = BTreeMap::<u64, (u64, u8)>::new();
            for step in steps {
                match step {
                    Step::Insert(key, byte) => {
                        let new = !model.contains_key(&key);
                        prop_assert_eq!(store.insert(key, Box::new([byte; 3])), new);
                        model.entry(key).or_insert((0, byte));
                    }
                    Step::Replace(key, byte) => {
                        store.with(key, |record| {
                            *record.version += 1;
                            record.value.fill(byte);
                        });
                        model.entry(key).and_modify(|(version, value)| {
                            *version += 1;
                            *value = byte;
                        });
                    }
                    Step::Read(key) => {
                        let got = store.with(key, |record| (*record.version, record.value[2]));
                        prop_assert_eq!(got, model.get(&key).copied());
                    }
                }
            }
            prop_assert_eq!(store.records(), model.len() as u64);
            for (key, expected) in model {
                let got = store.with(key, |record| (*record.version, record.value[0]));
                prop_assert_eq!(got, Some(expected));
            }
        }
    }

    /// Seven of ten slots: 44 of the first 64, 89 of the next 128.
    #[test]
    fn slots_double_when_seven_of_ten_are_taken() {
        let mut shard = Shard {
            slots: Vec::new(),
            used: 0,
        };
        for used in 0..180 {
            shard.reserve();
            let due = match used + 1 {
                0..=44 => 64,
                45..=89 => 128,
                90..=179 => 256,
                _ => 512,
            };
            assert_eq!(shard.slots.len(), due, "for {} records", used + 1);
            let at = shard.probe(splitmix(used), used);
            shard.slots[at].key = used;
            shard.slots[at].value = Some(Box::new([]));
            shard.used += 1;
        }
        assert!((0..180).all(|key| shard.slots[shard.probe(splitmix(key), key)].key == key));
    }

    /// Keys that fall into one shard wait for one lock; others do not.
    #[test]
    fn keys_are_spread_over_all_shards() {
        let store = Store::new();
        (0..6_400).for_each(|key| assert!(store.insert(key, Box::new([1]))));
        let used: Vec<usize> = store.shards.iter().map(|shard| lock(shard).used).collect();
        // A hundred on average, with a deviation of ten.
        assert!(used.iter().all(|used| (50..150).contains(used)), "{used:?}");
        assert_eq!(store.records(), 6_400);
        assert!(Store::default().with(1, |_| ()).is_none());
    }
}
