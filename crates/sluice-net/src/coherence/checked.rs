//! What is only kept to be checked: see [`FabricConfig::is_checked`](crate::FabricConfig).

use crate::ids::RequesterId;
use sluice_cxl::coherence::{Monitor, State};
use std::collections::BTreeMap;

/// The monitor of all caches, and the data of every line.
///
/// # Panics
/// Its functions panic where coherence is broken, which is a mistake of ours.
#[derive(Default)]
pub(super) struct Checked {
    monitor: Monitor,
    memory: BTreeMap<u64, u64>,
    stores: u64,
}

impl Checked {
    /// A value for what a store stores, which no other store has.
    pub fn next_store(&mut self) -> u64 {
        self.stores += 1;
        self.stores
    }

    /// A requester's cache has a line in a new state.
    pub fn changed(&mut self, requester: RequesterId, line: u64, state: State) {
        let changed = self.monitor.changed(requester.0, line, state);
        changed.unwrap_or_else(|error| panic!("{error}"));
    }

    /// A store was done.
    pub fn stored(&mut self, line: u64, data: u64) {
        self.monitor.stored(line, data);
    }

    /// A load was done.
    pub fn loaded(&mut self, requester: RequesterId, line: u64, data: u64) {
        let loaded = self.monitor.loaded(requester.0, line, data);
        loaded.unwrap_or_else(|error| panic!("{error}"));
    }

    /// What memory has of a line.
    pub fn memory(&self, line: u64) -> u64 {
        self.memory.get(&line).copied().unwrap_or(0)
    }

    /// Memory has got a line.
    pub fn write_memory(&mut self, line: u64, data: u64) {
        self.memory.insert(line, data);
    }
}
