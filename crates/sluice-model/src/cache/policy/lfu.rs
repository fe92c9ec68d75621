//! Least frequently used.

use super::{Eviction, PolicyInfo, Set, Slot, Space};
use sluice_lists::Lists;
use sluice_units::{Links, Lpn, Table, index_type};

index_type! {
    /// The pages of a set that have been accessed equally often. There are as many groups as slots:
    /// set `s` has `s * ways .. (s + 1) * ways`.
    struct Group;
}

/// Evicts the page with the fewest accesses since it came in; of several, the one that has had
/// so many for longest. A page that comes back is counted from 1 again.
///
/// Pages of equal count are a group, and the groups of a set a list in order of their counts, so
/// that every step takes constant time.
pub struct Lfu {
    /// Per set: its groups, the lowest count at the back.
    groups: Lists<Set, Group>,
    /// Per group: its slots, the latest in front.
    slots: Lists<Group, Slot>,
    /// Per group: accesses of each of its pages.
    count: Table<Group, u64>,
    /// Per slot: the number of its group.
    group_of: Table<Slot, u32>,
    /// Per set: [groups never used yet, first spare group + 1].
    spare: Table<Set, [u32; 2]>,
    /// The spare group behind each spare group.
    spare_next: Links<Group, Group>,
    ways: u32,
}

impl Lfu {
    /// An empty group. There are as many as slots, and each in use holds one at least.
    fn take_group(&mut self, set: Set, count: u64) -> Group {
        let [used, first] = &mut self.spare[set];
        let group = match first.checked_sub(1).map(Group) {
            Some(group) => {
                *first = self.spare_next.get(group).map_or(0, |next| next.0 + 1);
                group
            }
            None => {
                *used += 1;
                Group(set.0 * self.ways + *used - 1)
            }
        };
        self.count[group] = count;
        group
    }

    /// Takes a slot out of its group, and the group out of its set if that was the last.
    fn leave(&mut self, set: Set, slot: Slot) {
        let group = Group(self.group_of[slot]);
        self.slots.remove(group, slot);
        if self.slots.len(group) == 0 {
            self.groups.remove(set, group);
            let first = &mut self.spare[set][1];
            self.spare_next.set(group, first.checked_sub(1).map(Group));
            *first = group.0 + 1;
        }
    }

    fn join(&mut self, group: Group, slot: Slot) {
        self.slots.push_front(group, slot);
        self.group_of[slot] = group.0;
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
        Lfu {
            groups: Lists::new(space.sets, space.slots()),
            slots: Lists::new(space.slots(), space.slots()),
            count: Table::filled(space.slots(), 0),
            group_of: Table::filled(space.slots(), 0),
            spare: Table::filled(space.sets, [0; 2]),
            spare_next: Links::none(space.slots()),
            ways: space.ways,
        }
    }

    fn insert(&mut self, set: Set, slot: Slot, _lpn: Lpn) {
        let lowest = self.groups.back(set);
        let group = match lowest.filter(|group| self.count[*group] == 1) {
            Some(group) => group,
            None => {
                let group = self.take_group(set, 1);
                self.groups.push_back(set, group);
                group
            }
        };
        self.join(group, slot);
    }

    fn hit(&mut self, set: Set, slot: Slot) -> u32 {
        let group = Group(self.group_of[slot]);
        let count = self.count[group] + 1;
        let above = self.groups.newer(group);
        if let Some(above) = above.filter(|above| self.count[*above] == count) {
            self.leave(set, slot);
            self.join(above, slot);
        } else if self.slots.len(group) == 1 {
            self.count[group] = count;
        } else {
            let new = self.take_group(set, count);
            self.groups.push_before(set, group, new);
            self.leave(set, slot);
            self.join(new, slot);
        }
        0
    }

    fn victim(&mut self, set: Set, mut evictable: impl FnMut(Slot) -> bool) -> Option<Slot> {
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

    fn remove(&mut self, set: Set, slot: Slot) {
        self.leave(set, slot);
    }

    fn dump(&self, set: Set) -> Vec<Slot> {
        let groups = self.groups.iter(set);
        groups.flat_map(|group| self.slots.iter(group)).collect()
    }
}
