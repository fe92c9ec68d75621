//! First in, first out.

use super::{Needs, Victim};

pub(super) const FIFO: Victim = Victim {
    name: "fifo",
    meaning: "evicts the entry that came in first",
    source: "ESF section V-B",
    needs: Needs::Order,
    rank: |facts| [facts.inserted, 0],
};
