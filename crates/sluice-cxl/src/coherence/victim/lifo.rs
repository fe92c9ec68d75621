//! Last in, first out.

use super::{Needs, Victim};

pub(super) const LIFO: Victim = Victim {
    name: "lifo",
    meaning: "evicts the entry that came in last",
    source: "ESF section V-B",
    needs: Needs::Order,
    rank: |facts| [!facts.inserted, 0],
};
