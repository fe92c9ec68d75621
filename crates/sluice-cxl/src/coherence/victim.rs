//! Victims of a full snoop filter: which entry leaves.
//!
//! A policy ranks entries by what is known of them; the filter keeps the ranks in a heap. To add
//! one: a constant and a line in [`VICTIMS`].

pub use super::heap::Rank;
use sluice_params::Registered;

/// What is known of an entry. Times are numbers of insertions and requests, not seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// When the line came in.
    pub inserted: u64,
    /// When it was last asked for; first, when it came in.
    pub touched: u64,
    /// How often the line came in since the start, this time included. With
    /// [`Needs::Insertions`] only.
    pub insertions: u32,
    /// How many adjacent lines could leave with it, itself included: 1 to 4. With
    /// [`Needs::Runs`] only.
    pub run: u8,
}

/// What a policy needs to be kept, beyond order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: the order of insertions and requests is enough.
    Order,
    /// [`Facts::insertions`]: a count for each line that came in.
    Insertions,
    /// [`Facts::run`]; then one snoop evicts the whole run.
    Runs,
}

/// A policy. Entries with a transaction under way are not asked about.
#[derive(Debug)]
pub struct Victim {
    /// The name in configurations.
    pub name: &'static str,
    /// What it does, in one line.
    pub meaning: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What must be kept for it.
    pub needs: Needs,
    /// The entry with the lowest rank leaves. No two entries may have the same.
    pub rank: fn(&Facts) -> Rank,
}

/// First in, first out.
const FIFO: Victim = Victim {
    name: "fifo",
    meaning: "evicts the entry that came in first",
    source: "ESF section V-B",
    needs: Needs::Order,
    rank: |facts| [facts.inserted, 0],
};

/// Least recently used.
const LRU: Victim = Victim {
    name: "lru",
    meaning: "evicts the entry whose last request is longest ago",
    source: "ESF section V-B",
    needs: Needs::Order,
    rank: |facts| [facts.touched, 0],
};

/// Least frequently inserted.
///
/// Counts outlive the entries. The paper does not break ties, its code does: from the newest entry
/// on, it takes the first that has the lowest count. With the oldest in its place LFI were FIFO
/// until as many lines have left as there are entries.
const LFI: Victim = Victim {
    name: "lfi",
    meaning: "evicts the line that entered the filter the fewest times; of several, the newest",
    source: "ESF section V-B; ties as in its code, Halifuda/Xerxes snoop.hh",
    needs: Needs::Insertions,
    rank: |facts| [u64::from(facts.insertions), !facts.inserted],
};

/// Last in, first out.
const LIFO: Victim = Victim {
    name: "lifo",
    meaning: "evicts the entry that came in last",
    source: "ESF section V-B",
    needs: Needs::Order,
    rank: |facts| [!facts.inserted, 0],
};

/// Most recently used.
const MRU: Victim = Victim {
    name: "mru",
    meaning: "evicts the entry with the latest request",
    source: "ESF section V-B",
    needs: Needs::Order,
    rank: |facts| [!facts.touched, 0],
};

/// Block length first.
const BLOCK: Victim = Victim {
    name: "block",
    meaning: "evicts the longest run of adjacent lines with one snoop; of several, the newest",
    source: "ESF section V-C",
    needs: Needs::Runs,
    rank: |facts| [u64::from(u8::MAX - facts.run), !facts.inserted],
};

/// Every policy, in a fixed order.
pub static VICTIMS: &[Victim] = &[FIFO, LRU, LFI, LIFO, MRU, BLOCK];

impl Registered for Victim {
    fn all() -> &'static [Victim] {
        VICTIMS
    }

    fn name(&self) -> &'static str {
        self.name
    }
}
