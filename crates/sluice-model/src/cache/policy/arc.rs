//! ARC, the adaptive replacement cache (Megiddo and Modha, FAST 2003).

use super::remembered::{Entry, Node, Nodes, Remembered};
use super::{Eviction, PolicyInfo, Set, Slot, Space};
use sluice_lists::Lists;
use sluice_units::{Lpn, Table, index_type};

index_type! {
    /// Which of the lists of all sets: set `s` has T1, T2, B1 and B2 from `4 * s` on.
    struct List;
}

/// Two LRU lists of cached pages, T1 for those seen once lately and T2 for the rest, each with
/// a list of the pages that left it, B1 and B2. A page that comes back soon after it left moves the
/// target size of T1.
///
/// The cases are those of the paper's figure 4, and two more. Pages can leave by a discard, so B1
/// is cut before T1 and B1 together outgrow the set. A list without an evictable page yields to the
/// other.
pub struct Arc {
    /// T1 and T2 hold cached pages, B1 and B2 remembered ones.
    lists: Lists<List, Node>,
    nodes: Nodes,
    /// Per slot: whether it is in T2.
    in_t2: Table<Slot, bool>,
    /// Per slot: the number of its page.
    lpn: Table<Slot, u32>,
    gone: Remembered,
    /// Per entry of `gone`: whether it is in B2.
    in_b2: Table<Entry, bool>,
    sets: Table<Set, SetState>,
    ways: u32,
}

#[derive(Clone, Copy, Default)]
struct SetState {
    /// The target size of T1.
    target: Target,
    /// Where the page that missed last was remembered.
    from: Origin,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Origin {
    #[default]
    Unknown,
    B1,
    B2,
}

impl Arc {
    fn t1(set: Set) -> List {
        List(4 * set.0)
    }

    fn t2(set: Set) -> List {
        List(4 * set.0 + 1)
    }

    fn b1(set: Set) -> List {
        List(4 * set.0 + 2)
    }

    fn b2(set: Set) -> List {
        List(4 * set.0 + 3)
    }

    fn list_of(&self, set: Set, slot: Slot) -> List {
        List(4 * set.0 + u32::from(self.in_t2[slot]))
    }

    /// Whether the paper's REPLACE takes its page from T1.
    fn takes_from_t1(&self, set: Set) -> bool {
        let (t1, state) = (self.lists.len(Arc::t1(set)), &self.sets[set]);
        let over = state.target.is_below(t1);
        let tie = state.from == Origin::B2 && state.target.is(t1);
        (t1 > 0 && (over || tie)) || self.lists.len(Arc::t2(set)) == 0
    }

    /// Forgets the page that left `list`, B1 or B2, the longest ago.
    fn forget_oldest(&mut self, set: Set, list: List) -> bool {
        let Some(node) = self.lists.pop_back(list) else {
            return false;
        };
        self.gone.forget(set, self.nodes.as_entry(node));
        true
    }

    /// Notes that the page of a slot leaves T1 or T2. `fresh`: the page that comes was in no list.
    fn remember(&mut self, set: Set, slot: Slot, from_t2: bool, fresh: bool) {
        let len = |list| self.lists.len(list);
        let (b1, b2) = (len(Arc::b1(set)), len(Arc::b2(set)));
        // T1 counts the page that leaves it: it is no longer there.
        let l1 = len(Arc::t1(set)) + u32::from(!from_t2) + b1;
        if fresh && l1 >= self.ways {
            if !self.forget_oldest(set, Arc::b1(set)) && !from_t2 {
                return;
            }
        } else if b1 + b2 >= self.ways && !self.forget_oldest(set, Arc::b2(set)) {
            self.forget_oldest(set, Arc::b1(set));
        }
        if let Some(entry) = self.gone.add(set, Lpn(self.lpn[slot])) {
            self.in_b2[entry] = from_t2;
            let list = if from_t2 { Arc::b2(set) } else { Arc::b1(set) };
            self.lists.push_front(list, self.nodes.entry(entry));
        }
    }
}

impl Eviction for Arc {
    const INFO: PolicyInfo = PolicyInfo {
        name: "arc",
        meaning: "balances recency and frequency by what comes back after it was evicted",
        source: "Megiddo and Modha, FAST 2003",
        uses_hits: true,
    };

    fn build(space: &Space) -> Arc {
        Arc {
            lists: Lists::new(4 * space.sets, 2 * space.slots()),
            nodes: Nodes {
                slots: space.slots(),
            },
            in_t2: Table::filled(space.slots(), false),
            lpn: Table::filled(space.slots(), 0),
            gone: Remembered::new(space.sets, space.ways, space.pages),
            in_b2: Table::filled(space.slots(), false),
            sets: Table::filled(space.sets, SetState::default()),
            ways: space.ways,
        }
    }

    fn miss(&mut self, set: Set, lpn: Lpn) {
        let state = &mut self.sets[set];
        let Some(entry) = self.gone.entry(lpn) else {
            state.from = Origin::Unknown;
            return;
        };
        let (b1, b2) = (self.lists.len(Arc::b1(set)), self.lists.len(Arc::b2(set)));
        let list = if self.in_b2[entry] {
            state.from = Origin::B2;
            state.target.lower(b1, b2);
            Arc::b2(set)
        } else {
            state.from = Origin::B1;
            state.target.raise(b2, b1, self.ways);
            Arc::b1(set)
        };
        self.lists.remove(list, self.nodes.entry(entry));
        self.gone.forget(set, entry);
    }

    fn insert(&mut self, set: Set, slot: Slot, lpn: Lpn) {
        let state = &mut self.sets[set];
        let known = std::mem::take(&mut state.from) != Origin::Unknown;
        self.lpn[slot] = lpn.0;
        self.in_t2[slot] = known;
        if known {
            self.lists.push_front(Arc::t2(set), self.nodes.slot(slot));
            return;
        }
        if self.lists.len(Arc::t1(set)) + self.lists.len(Arc::b1(set)) >= self.ways {
            self.forget_oldest(set, Arc::b1(set));
        }
        self.lists.push_front(Arc::t1(set), self.nodes.slot(slot));
    }

    fn hit(&mut self, set: Set, slot: Slot) -> u32 {
        let node = self.nodes.slot(slot);
        if std::mem::replace(&mut self.in_t2[slot], true) {
            self.lists.move_to_front(Arc::t2(set), node);
        } else {
            self.lists.remove(Arc::t1(set), node);
            self.lists.push_front(Arc::t2(set), node);
        }
        0
    }

    fn victim(&mut self, set: Set, mut evictable: impl FnMut(Slot) -> bool) -> Option<Slot> {
        let fresh = self.sets[set].from == Origin::Unknown;
        let t1_is_all = self.lists.len(Arc::t1(set)) >= self.ways;
        let from_t1 = (fresh && t1_is_all) || self.takes_from_t1(set);
        let lists = match from_t1 {
            true => [Arc::t1(set), Arc::t2(set)],
            false => [Arc::t2(set), Arc::t1(set)],
        };
        let nodes = self.nodes;
        let mut may_leave = |node| nodes.as_slot(node).is_some_and(&mut evictable);
        let mut oldest = |list| self.lists.oldest(list, &mut may_leave);
        let node = lists.into_iter().find_map(&mut oldest)?;
        let slot = nodes.as_slot(node)?;
        let from_t2 = self.in_t2[slot];
        self.remove(set, slot);
        self.remember(set, slot, from_t2, fresh);
        Some(slot)
    }

    #[inline]
    fn warm(&self, lpn: Lpn) -> u32 {
        self.gone.warm(lpn)
    }

    fn remove(&mut self, set: Set, slot: Slot) {
        let list = self.list_of(set, slot);
        self.lists.remove(list, self.nodes.slot(slot));
    }

    fn dump(&self, set: Set) -> Vec<Slot> {
        let lists = match self.takes_from_t1(set) {
            true => [Arc::t2(set), Arc::t1(set)],
            false => [Arc::t1(set), Arc::t2(set)],
        };
        let nodes = lists.into_iter().flat_map(|list| self.lists.iter(list));
        nodes.filter_map(|node| self.nodes.as_slot(node)).collect()
    }
}

/// A number of pages with a fraction, `p` in the paper.
///
/// libCacheSim keeps it in a binary64, and its counts can be had only by its sums: so each step is
/// rounded to the 53 significant bits of a binary64, and no float decides a state.
#[derive(Clone, Copy, Default)]
struct Target(u128);

/// More than the 52 that a step, which is 1 at least, can have after rounding.
const FRACTION_BITS: u32 = 64;
const SIGNIFICANT_BITS: u32 = 53;

impl Target {
    fn whole(pages: u32) -> u128 {
        u128::from(pages) << FRACTION_BITS
    }

    /// The paper's delta: `other / own`, 1 at least.
    fn step(other: u32, own: u32) -> u128 {
        if other <= own {
            return Target::whole(1);
        }
        let (dividend, divisor) = (Target::whole(other), u128::from(own));
        let quotient = dividend / divisor;
        // A last bit stands for what the division left, so that rounding takes it for no tie.
        round(quotient | u128::from(quotient * divisor != dividend))
    }

    fn raise(&mut self, other: u32, own: u32, ways: u32) {
        let sum = round(self.0 + Target::step(other, own));
        self.0 = sum.min(Target::whole(ways));
    }

    fn lower(&mut self, other: u32, own: u32) {
        self.0 = round(self.0.saturating_sub(Target::step(other, own)));
    }

    fn is_below(&self, pages: u32) -> bool {
        self.0 < Target::whole(pages)
    }

    fn is(&self, pages: u32) -> bool {
        self.0 == Target::whole(pages)
    }
}

/// Rounds to [`SIGNIFICANT_BITS`], ties to even.
fn round(value: u128) -> u128 {
    let excess = (u128::BITS - value.leading_zeros()).saturating_sub(SIGNIFICANT_BITS);
    if excess == 0 {
        return value;
    }
    let (kept, lost) = (value >> excess, value & ((1 << excess) - 1));
    let half = 1 << (excess - 1);
    let up = lost > half || (lost == half && kept & 1 == 1);
    (kept + u128::from(up)) << excess
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The processor's own arithmetic is the reference.
        #[test]
        fn targets_are_those_of_binary64(
            ways in 1u32..50_000_000,
            steps in prop::collection::vec(
                (any::<bool>(), 1u32..50_000_000, 1u32..50_000_000), 1..99
            ),
        ) {
            let mut target = Target::default();
            for (up, other, own) in &steps {
                match up {
                    true => target.raise(*other, *own, ways),
                    false => target.lower(*other, *own),
                }
            }
            let expected = sluice_testkit::naive::arc_target(ways, &steps);
            prop_assert_eq!(target.0, expected);
        }
    }
}
