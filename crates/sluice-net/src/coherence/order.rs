//! The order of loads and stores to each line, watched from outside: a load sees what was stored
//! last, and a store finds it too. By versions alone, without a look at any cache's state.

use crate::ids::RequesterId;
use sluice_units::Ps;
use std::collections::BTreeMap;

/// What every line holds, and which version of it is in each host.
///
/// # Panics
/// Its functions panic where the order is broken, which is a mistake of ours.
#[derive(Clone, Default)]
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

    /// A host stores a version.
    pub fn stored_by(&mut self, host: RequesterId, line: u64, version: u64, now: Ps) {
        self.last.insert(line, (version, now));
        self.held.insert((host, line), version);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    const LINE: u64 = 5;
    const A: RequesterId = RequesterId(0);
    const B: RequesterId = RequesterId(1);

    fn may(order: &Order, host: RequesterId, at: u64, now: u64) -> bool {
        let performed = || order.clone().performed(host, LINE, Ps(at), Ps(now));
        catch_unwind(AssertUnwindSafe(performed)).is_ok()
    }

    #[test]
    fn a_host_may_do_what_is_due_with_the_version_stored_last() {
        let mut order = Order::default();
        assert!(may(&order, A, 10, 10) && may(&order, A, 9, 10));
        assert!(!may(&order, A, 11, 10), "before it is due");
        order.stored_by(A, LINE, 1, Ps(10));
        assert_eq!((order.held(A, LINE), order.held(B, LINE)), (1, 0));
        assert!(may(&order, A, 10, 10) && may(&order, A, 10, 20));
        assert!(!may(&order, A, 9, 9), "before the store");
        assert!(!may(&order, B, 20, 20), "with an old version");
        order.arrived(B, LINE, 1);
        assert!(may(&order, B, 20, 20));
        // Memory has a newer one, whichever host stored it: only hosts that have got it may read
        // it.
        order.stored(LINE, 2);
        assert!(!may(&order, A, 30, 30) && !may(&order, B, 30, 30));
        order.arrived(A, LINE, 2);
        assert!(may(&order, A, 30, 30) && !may(&order, B, 30, 30));
        assert!(
            may(&order, A, 10, 10) && !may(&order, A, 9, 9),
            "the time stays"
        );
        // Another line is another matter.
        order.clone().performed(B, LINE + 1, Ps(1), Ps(1));
    }
}
