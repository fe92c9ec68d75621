//! Least frequently inserted.

use super::{Needs, Victim};

/// Counts outlive the entries. The paper does not break ties: here the oldest entry leaves.
pub(super) static LFI: Victim = Victim {
    name: "lfi",
    meaning: "evicts the line that entered the filter the fewest times; of several, the oldest",
    source: "ESF section V-B",
    needs: Needs::Insertions,
    rank: |facts| [u64::from(facts.insertions), facts.inserted],
};
