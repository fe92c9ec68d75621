//! Least frequently recently used (Bilal and Kang, IEEE Access 2017).

use super::{Eviction, PolicyInfo, Space};
use sluice_lists::Lists;
use sluice_params::{Kind, Param};
use sluice_units::Ratio;

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
    lists: Lists,
    count: Vec<u8>,
    is_privileged: Vec<bool>,
    privileged_max: u32,
}

impl Lfru {
    fn list(&self, set: u32, slot: u32) -> u32 {
        let unprivileged = !self.is_privileged[slot as usize];
        set * LISTS + u32::from(unprivileged) * u32::from(self.count[slot as usize])
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
        let slots = (space.sets * space.ways) as usize;
        let privileged = LfruParams::new(&space.given).privileged;
        Lfru {
            lists: Lists::new(space.sets * LISTS, slots as u32),
            count: vec![0; slots],
            is_privileged: vec![false; slots],
            privileged_max: privileged.floor_of(u64::from(space.ways)) as u32,
        }
    }

    fn insert(&mut self, set: u32, slot: u32, _lpn: u32) {
        self.count[slot as usize] = 1;
        self.is_privileged[slot as usize] = false;
        self.lists.push_front(self.list(set, slot), slot);
    }

    fn hit(&mut self, set: u32, slot: u32) {
        let privileged = set * LISTS;
        self.lists.remove(self.list(set, slot), slot);
        self.lists.push_front(privileged, slot);
        self.is_privileged[slot as usize] = true;
        let count = &mut self.count[slot as usize];
        *count = (*count + 1).min(COUNT_MAX as u8);
        if self.lists.len(privileged) > self.privileged_max {
            let falls = self.lists.pop_back(privileged).expect("a page at least");
            self.is_privileged[falls as usize] = false;
            self.lists.push_front(self.list(set, falls), falls);
        }
    }

    fn victim(&mut self, set: u32, mut evictable: impl FnMut(u32) -> bool) -> Option<u32> {
        let first = set * LISTS;
        let mut lists = (first + 1..first + LISTS).chain([first]);
        let slot = lists.find_map(|list| self.lists.oldest(list, &mut evictable))?;
        self.lists.remove(self.list(set, slot), slot);
        Some(slot)
    }

    fn remove(&mut self, set: u32, slot: u32) {
        self.lists.remove(self.list(set, slot), slot);
    }

    fn dump(&self, set: u32) -> Vec<u32> {
        let first = set * LISTS;
        let lists = [first].into_iter().chain((first + 1..first + LISTS).rev());
        lists.flat_map(|list| self.lists.iter(list)).collect()
    }
}
