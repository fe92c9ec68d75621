//! Least frequently recently used (Bilal and Kang, IEEE Access 2017).

use super::{Eviction, PolicyInfo, Set, Slot, Space};
use sluice_lists::Lists;
use sluice_params::{Kind, Param};
use sluice_units::{IndexType, Lpn, Ratio, Table, index_type};

sluice_params::params! {
    /// The parameters of LFRU.
    struct LfruParams {
        privileged: Ratio {
            key: "cache.lfru_privileged",
            kind: Kind::Share { max_percent: 100 },
            default: "50%",
            meaning: "LFRU: the share of a set that is privileged",
            source: "assumed: half; CXL-SSD-Sim does not say",
        }
    }
}

index_type! {
    /// Which of the lists of all sets: set `s` has `s * LISTS .. (s + 1) * LISTS`.
    struct List;
}

/// Accesses beyond this count no more.
const COUNT_MAX: u32 = 15;

/// Per set: the privileged list, then a list for each count from 1 on.
const LISTS: u32 = COUNT_MAX + 1;

/// A privileged part kept by LRU, in front of an unprivileged one kept by LFU.
///
/// CXL-SSD-Sim names the policy and describes nothing; this is Bilal and Kang's. A newcomer is
/// unprivileged. A hit makes a page the privileged part's latest; if that part is then larger
/// than `cache.lfru_privileged` of the set, its least recent page becomes unprivileged, with its
/// count of accesses. The victim is the unprivileged page with the lowest count, of several the
/// one that has been unprivileged for longest. Counts are approximate, as theirs: up to 15.
pub struct Lfru {
    lists: Lists<List, Slot>,
    count: Table<Slot, u8>,
    is_privileged: Table<Slot, bool>,
    privileged_max: u32,
}

impl Lfru {
    fn privileged(set: Set) -> List {
        List(set.0 * LISTS)
    }

    /// The lists of a set that are not privileged, by their counts.
    fn unprivileged(set: Set) -> impl DoubleEndedIterator<Item = List> {
        List::range(set.0 * LISTS + 1..(set.0 + 1) * LISTS)
    }

    fn list(&self, set: Set, slot: Slot) -> List {
        let unprivileged = !self.is_privileged[slot];
        List(set.0 * LISTS + u32::from(unprivileged) * u32::from(self.count[slot]))
    }
}

impl Eviction for Lfru {
    const INFO: PolicyInfo = PolicyInfo {
        name: "lfru",
        meaning: "an LRU part for pages accessed again, and an LFU part that the others leave from",
        source: "CXL-SSD-Sim section II-C names it; Bilal and Kang, IEEE Access 2017",
        uses_hits: true,
    };

    const PARAMS: &[Param] = LfruParams::PARAMS;

    fn build(space: &Space) -> Lfru {
        let privileged = LfruParams::new(&space.given).privileged;
        Lfru {
            lists: Lists::new(space.sets * LISTS, space.slots()),
            count: Table::filled(space.slots(), 0),
            is_privileged: Table::filled(space.slots(), false),
            privileged_max: privileged.floor_of(u64::from(space.ways)) as u32,
        }
    }

    fn insert(&mut self, set: Set, slot: Slot, _lpn: Lpn) {
        self.count[slot] = 1;
        self.is_privileged[slot] = false;
        self.lists.push_front(self.list(set, slot), slot);
    }

    fn hit(&mut self, set: Set, slot: Slot) -> u32 {
        let privileged = Lfru::privileged(set);
        self.lists.remove(self.list(set, slot), slot);
        self.lists.push_front(privileged, slot);
        self.is_privileged[slot] = true;
        let count = &mut self.count[slot];
        *count = (*count + 1).min(COUNT_MAX as u8);
        if self.lists.len(privileged) > self.privileged_max {
            let falls = self.lists.pop_back(privileged).expect("a page at least");
            self.is_privileged[falls] = false;
            self.lists.push_front(self.list(set, falls), falls);
        }
        0
    }

    fn victim(&mut self, set: Set, mut evictable: impl FnMut(Slot) -> bool) -> Option<Slot> {
        let mut lists = Lfru::unprivileged(set).chain([Lfru::privileged(set)]);
        let slot = lists.find_map(|list| self.lists.oldest(list, &mut evictable))?;
        self.lists.remove(self.list(set, slot), slot);
        Some(slot)
    }

    fn remove(&mut self, set: Set, slot: Slot) {
        self.lists.remove(self.list(set, slot), slot);
    }

    fn dump(&self, set: Set) -> Vec<Slot> {
        let lists = std::iter::once(Lfru::privileged(set)).chain(Lfru::unprivileged(set).rev());
        lists.flat_map(|list| self.lists.iter(list)).collect()
    }
}
