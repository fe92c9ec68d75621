//! Least frequently used.

use super::{Eviction, PolicyInfo, Space};
use sluice_lists::Lists;

/// Evicts the page with the fewest accesses since it came in; of several, the one that has had
/// so many for longest. Counts end with the page's stay.
///
/// Pages of equal count are a group, and the groups of a set a list in order of their counts, so
/// that every step takes constant time.
pub struct Lfu {
    /// Per set: its groups, the lowest count at the back.
    groups: Lists,
    /// Per group: its slots, the latest in front.
    slots: Lists,
    /// Per group: accesses of each of its pages.
    count: Vec<u64>,
    group_of: Vec<u32>,
    /// Per set: [groups never used yet, first spare group + 1].
    spare: Vec<[u32; 2]>,
    /// Per spare group: the next one + 1.
    spare_next: Vec<u32>,
    ways: u32,
}

impl Lfu {
    /// An empty group. There are as many as slots, and each in use holds one at least.
    fn take_group(&mut self, set: u32, count: u64) -> u32 {
        let [used, first] = &mut self.spare[set as usize];
        let group = match first.checked_sub(1) {
            Some(group) => {
                *first = self.spare_next[group as usize];
                group
            }
            None => {
                *used += 1;
                set * self.ways + *used - 1
            }
        };
        self.count[group as usize] = count;
        group
    }

    /// Takes a slot out of its group, and the group out of its set if that was the last.
    fn leave(&mut self, set: u32, slot: u32) {
        let group = self.group_of[slot as usize];
        self.slots.remove(group, slot);
        if self.slots.len(group) == 0 {
            self.groups.remove(set, group);
            let first = &mut self.spare[set as usize][1];
            self.spare_next[group as usize] = *first;
            *first = group + 1;
        }
    }

    fn join(&mut self, group: u32, slot: u32) {
        self.slots.push_front(group, slot);
        self.group_of[slot as usize] = group;
    }
}

impl Eviction for Lfu {
    const INFO: PolicyInfo = PolicyInfo {
        name: "lfu",
        meaning: "evicts the page with the fewest accesses since it came in, of several the oldest",
        source: "classic; in constant time as in Shah, Mitra and Matani 2010",
        uses_hits: true,
    };

    fn build(space: &Space) -> Lfu {
        let (sets, slots) = (space.sets as usize, (space.sets * space.ways) as usize);
        Lfu {
            groups: Lists::new(sets as u32, slots as u32),
            slots: Lists::new(slots as u32, slots as u32),
            count: vec![0; slots],
            group_of: vec![0; slots],
            spare: vec![[0; 2]; sets],
            spare_next: vec![0; slots],
            ways: space.ways,
        }
    }

    fn insert(&mut self, set: u32, slot: u32, _lpn: u32) {
        let lowest = self.groups.back(set);
        let group = match lowest.filter(|group| self.count[*group as usize] == 1) {
            Some(group) => group,
            None => {
                let group = self.take_group(set, 1);
                self.groups.push_back(set, group);
                group
            }
        };
        self.join(group, slot);
    }

    fn hit(&mut self, set: u32, slot: u32) {
        let group = self.group_of[slot as usize];
        let count = self.count[group as usize] + 1;
        let above = self.groups.newer(group);
        if let Some(above) = above.filter(|above| self.count[*above as usize] == count) {
            self.leave(set, slot);
            self.join(above, slot);
        } else if self.slots.len(group) == 1 {
            self.count[group as usize] = count;
        } else {
            let new = self.take_group(set, count);
            self.groups.push_before(set, group, new);
            self.leave(set, slot);
            self.join(new, slot);
        }
    }

    fn victim(&mut self, set: u32, mut evictable: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut group = self.groups.back(set);
        while let Some(at) = group {
            if let Some(slot) = self.slots.oldest(at, &mut evictable) {
                self.leave(set, slot);
                return Some(slot);
            }
            group = self.groups.newer(at);
        }
        None
    }

    fn remove(&mut self, set: u32, slot: u32) {
        self.leave(set, slot);
    }

    fn dump(&self, set: u32) -> Vec<u32> {
        let groups = self.groups.iter(set);
        groups.flat_map(|group| self.slots.iter(group)).collect()
    }
}
