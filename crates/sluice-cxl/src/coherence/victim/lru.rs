//! Least recently used.

use super::{Needs, Victim};

pub(super) const LRU: Victim = Victim {
    name: "lru",
    meaning: "evicts the entry whose last request is longest ago",
    source: "ESF section V-B",
    needs: Needs::Order,
    rank: |facts| [facts.touched, 0],
};
