//! The order of loads and stores to each line, watched from outside: a load sees what was stored
//! last, and a store finds it too. By versions alone, without a look at any cache's state.

use crate::ids::RequesterId;
use sluice_units::Ps;
use std::collections::BTreeMap;

/// What every line holds, and which version of it is in each host.
///
/// # Panics
/// Its functions panic where the order is broken, which is a mistake of ours.
#[derive(Default)]
pub(super) struct Order {
    /// The version that was stored last, and when.
    last: BTreeMap<u64, (u64, Ps)>,
    /// What came to a host last, or was stored there. It stays when the host loses the line.
    held: BTreeMap<(RequesterId, u64), u64>,
}

impl Order {
    /// Data have come to a host.
    pub fn arrived(&mut self, host: RequesterId, line: u64, version: u64) {
        self.held.insert((host, line), version);
    }

    /// What a host has of a line.
    pub fn held(&self, host: RequesterId, line: u64) -> u64 {
        self.held.get(&(host, line)).copied().unwrap_or(0)
    }

    /// Somebody has stored a version of a line, wherever that is.
    pub fn stored(&mut self, line: u64, version: u64) {
        self.last.entry(line).or_default().0 = version;
    }

    /// A host loads or stores at `at`, in an event of time `now`.
    pub fn performed(&mut self, host: RequesterId, line: u64, at: Ps, now: Ps) {
        assert!(
            at <= now,
            "line {line:#x}: {host:?} did at {now} what is due at {at}"
        );
        let (last, changed) = self.last.get(&line).copied().unwrap_or_default();
        assert!(
            now >= changed,
            "line {line:#x}: {host:?} goes back from {changed} to {now}"
        );
        let held = self.held(host, line);
        assert_eq!(
            held, last,
            "line {line:#x}: {host:?} has version {held} at {now} after {last} was stored"
        );
    }

    /// And stores a version.
    pub fn stored_by(&mut self, host: RequesterId, line: u64, version: u64, now: Ps) {
        self.last.insert(line, (version, now));
        self.held.insert((host, line), version);
    }
}
