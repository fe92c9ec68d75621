//! Least frequently inserted.

use super::{Needs, Victim};

/// Counts outlive the entries. The paper does not break ties, its code does: from the newest entry
/// on, it takes the first that has the lowest count. With the oldest in its place LFI were FIFO
/// until as many lines have left as there are entries.
pub(super) const LFI: Victim = Victim {
    name: "lfi",
    meaning: "evicts the line that entered the filter the fewest times; of several, the newest",
    source: "ESF section V-B; ties as in its code, Halifuda/Xerxes snoop.hh",
    needs: Needs::Insertions,
    rank: |facts| [u64::from(facts.insertions), !facts.inserted],
};
