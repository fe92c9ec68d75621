//! Victims of a full snoop filter: which entry leaves.
//!
//! A policy ranks entries by what is known of them; the filter keeps the ranks in a heap. To add
//! one: a file beside this one, and a line in [`VICTIMS`].

mod block;
mod fifo;
mod lfi;
mod lifo;
mod lru;
mod mru;

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
    /// [`Facts::insertions`]: four bytes for each line of the memory.
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

/// Every policy, in a fixed order.
pub static VICTIMS: &[Victim] = &[
    fifo::FIFO,
    lru::LRU,
    lfi::LFI,
    lifo::LIFO,
    mru::MRU,
    block::BLOCK,
];

impl Registered for Victim {
    fn all() -> &'static [Victim] {
        VICTIMS
    }

    fn name(&self) -> &'static str {
        self.name
    }
}
