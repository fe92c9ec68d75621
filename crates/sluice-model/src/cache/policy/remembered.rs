//! The page numbers of pages that have left the cache, for policies that learn from their return.

use super::{Set, Slot};
use crate::index::PageIndex;
use sluice_lists::Lists;
use sluice_units::{Lpn, Table, index_type};

index_type! {
    /// A place for the number of a page. Set `s` has the entries `s * size .. (s + 1) * size`.
    pub(super) struct Entry;

    /// A page in a list that holds cached and remembered pages.
    pub(super) struct Node;
}

/// Numbers the nodes of lists that hold cached and remembered pages: slots come first, then
/// entries.
#[derive(Clone, Copy)]
pub(super) struct Nodes {
    pub slots: u32,
}

impl Nodes {
    pub fn slot(self, slot: Slot) -> Node {
        Node(slot.0)
    }

    pub fn entry(self, entry: Entry) -> Node {
        Node(self.slots + entry.0)
    }

    /// The slot of a node, if its page is cached.
    pub fn as_slot(self, node: Node) -> Option<Slot> {
        (node.0 < self.slots).then_some(Slot(node.0))
    }

    /// The entry of a node whose page is remembered.
    pub fn as_entry(self, node: Node) -> Entry {
        Entry(node.0 - self.slots)
    }
}

/// A bounded number of LPNs for each set, each with an entry that lists can hold.
pub(super) struct Remembered {
    /// Per entry: its LPN; in an entry that holds nothing, the next such entry + 1.
    lpn: Table<Entry, u32>,
    /// The entry of each remembered page.
    entry_of: PageIndex<Entry>,
    /// Per set: [entries never used yet, first entry given back + 1].
    free: Table<Set, [u32; 2]>,
    size: u32,
}

impl Remembered {
    pub fn new(sets: u32, size: u32, pages: u32) -> Remembered {
        let entries = sets.saturating_mul(size);
        Remembered {
            lpn: Table::filled(entries, 0),
            entry_of: PageIndex::new(pages, entries),
            free: Table::filled(sets, [0; 2]),
            size,
        }
    }

    /// What a look-up of the page reads; see [`super::Eviction::warm`].
    #[inline]
    pub fn warm(&self, lpn: Lpn) -> u32 {
        self.entry_of.get(lpn).map_or(0, |entry| entry.0)
    }

    /// The entry of a page.
    pub fn entry(&self, lpn: Lpn) -> Option<Entry> {
        self.entry_of.get(lpn)
    }

    /// Remembers a page that is not remembered yet. `None` if every entry of the set is in use.
    pub fn add(&mut self, set: Set, lpn: Lpn) -> Option<Entry> {
        let [used, first_free] = &mut self.free[set];
        let entry = match first_free.checked_sub(1) {
            Some(entry) => {
                let entry = Entry(entry);
                *first_free = self.lpn[entry];
                entry
            }
            None if *used < self.size => {
                *used += 1;
                Entry(set.0 * self.size + *used - 1)
            }
            None => return None,
        };
        self.lpn[entry] = lpn.0;
        self.entry_of.set(lpn, entry);
        Some(entry)
    }

    /// Gives an entry back. The page is forgotten.
    pub fn forget(&mut self, set: Set, entry: Entry) {
        let first_free = &mut self.free[set][1];
        let lpn = std::mem::replace(&mut self.lpn[entry], *first_free);
        self.entry_of.clear(Lpn(lpn));
        *first_free = entry.0 + 1;
    }
}

/// The pages that left each set last, in the order in which they left: the ghost queue of S3-FIFO,
/// A1out of 2Q.
pub(super) struct Ghost {
    remembered: Remembered,
    order: Lists<Set, Entry>,
    size: u32,
}

impl Ghost {
    pub fn new(sets: u32, size: u32, pages: u32) -> Ghost {
        Ghost {
            remembered: Remembered::new(sets, size, pages),
            order: Lists::new(sets, sets.saturating_mul(size)),
            size,
        }
    }

    /// Remembers a page that is not remembered yet, and forgets the oldest if there are too many.
    pub fn add(&mut self, set: Set, lpn: Lpn) {
        if self.order.len(set) == self.size {
            match self.order.pop_back(set) {
                Some(oldest) => self.remembered.forget(set, oldest),
                None => return,
            }
        }
        let entry = self.remembered.add(set, lpn);
        self.order.push_front(set, entry.expect("a free entry"));
    }

    pub fn contains(&self, lpn: Lpn) -> bool {
        self.remembered.entry(lpn).is_some()
    }

    /// See [`Remembered::warm`].
    #[inline]
    pub fn warm(&self, lpn: Lpn) -> u32 {
        self.remembered.warm(lpn)
    }

    /// Forgets the page, and says whether it was remembered.
    #[inline]
    pub fn take(&mut self, set: Set, lpn: Lpn) -> bool {
        let Some(entry) = self.remembered.entry(lpn) else {
            return false;
        };
        self.order.remove(set, entry);
        self.remembered.forget(set, entry);
        true
    }
}
