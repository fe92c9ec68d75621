//! What a host may do with lines that it shares with others, and what it did.

use sluice_units::{Bits, Ps};

/// A load or store of shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Performed {
    /// The line's first byte, by the program's addresses.
    pub addr: u64,
    /// Its time, which is not after that of the event in which it was done.
    pub at: Ps,
    /// Whether it stored.
    pub is_store: bool,
}

/// A host as those see it that share its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Lines that it can have.
    pub lines: u32,
    /// Lines that it can ask for at once.
    pub misses: u32,
    /// Looking a line up that a snoop names.
    pub look_up: Ps,
}

/// What a host may do with shared lines.
pub(super) struct Shared {
    /// Lines that it may write.
    pub owned: Bits,
    /// What was done since last asked, if anybody does.
    pub log: Option<Vec<Performed>>,
}

impl Shared {
    /// Of memory with so many lines, none of which the host may write.
    pub fn new(lines: usize, is_checked: bool) -> Shared {
        Shared {
            owned: Bits::new(lines),
            log: is_checked.then(Vec::new),
        }
    }
}
