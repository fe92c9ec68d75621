//! What is only kept to be checked: see [`FabricConfig::is_checked`](crate::FabricConfig).

use super::order::Order;
use crate::ids::{PacketId, RequesterId};
use sluice_cxl::coherence::{Monitor, State};
use sluice_host::Performed;
use sluice_units::Ps;
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
    order: Order,
    performed: u64,
    /// Lines on their way from hosts that have not yet done what they could before.
    pub leaving: Vec<(RequesterId, PacketId)>,
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
        self.order.stored(line, data);
    }

    /// Data have come to a host.
    pub fn arrived(&mut self, host: RequesterId, line: u64, data: u64) {
        self.order.arrived(host, line, data);
    }

    /// What a host writes back of a line.
    pub fn held(&self, host: RequesterId, line: u64) -> u64 {
        self.order.held(host, line)
    }

    /// A host has loaded or stored.
    pub fn performed(&mut self, host: RequesterId, line: u64, done: Performed, now: Ps) {
        self.performed += 1;
        self.order.performed(host, line, done.at, now);
        if done.is_store {
            let version = self.next_store();
            self.monitor.stored(line, version);
            self.order.stored_by(host, line, version, now);
        }
    }

    /// Loads and stores of hosts so far.
    pub fn performed_count(&self) -> u64 {
        self.performed
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
