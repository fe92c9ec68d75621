//! Most recently used.

use super::{Needs, Victim};

pub(super) const MRU: Victim = Victim {
    name: "mru",
    meaning: "evicts the entry with the latest request",
    source: "ESF section V-B",
    needs: Needs::Order,
    rank: |facts| [!facts.touched, 0],
};
