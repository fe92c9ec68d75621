//! ARC, the adaptive replacement cache (Megiddo and Modha, FAST 2003).

use super::remembered::Remembered;
use super::{Eviction, PolicyInfo, Space};
use sluice_lists::Lists;

/// Two LRU lists of cached pages, T1 for those seen once lately and T2 for the rest, each with
/// a list of the addresses that left it, B1 and B2. What comes back soon after it left moves the
/// target size of T1.
///
/// The cases are those of the paper's figure 4. Beyond it: pages can leave by a discard, so B1 is
/// cut before T1 and B1 outgrow the set, and a list without an evictable page yields to the other.
pub struct Arc {
    /// Per set T1, T2 over slots, then B1, B2 over `slots + entry`.
    lists: Lists,
    /// Per slot: whether it is in T2.
    in_t2: Vec<bool>,
    lpn: Vec<u32>,
    gone: Remembered,
    /// Per entry of `gone`: whether it is in B2.
    in_b2: Vec<bool>,
    sets: Vec<SetState>,
    slots: u32,
    ways: u32,
}

#[derive(Clone, Copy, Default)]
struct SetState {
    /// The target size of T1.
    target: Target,
    /// Where the page announced last came from.
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
    fn t1(set: u32) -> u32 {
        4 * set
    }

    fn t2(set: u32) -> u32 {
        4 * set + 1
    }

    fn b1(set: u32) -> u32 {
        4 * set + 2
    }

    fn b2(set: u32) -> u32 {
        4 * set + 3
    }

    fn list_of(&self, set: u32, slot: u32) -> u32 {
        4 * set + u32::from(self.in_t2[slot as usize])
    }

    /// Whether the paper's REPLACE takes its page from T1.
    fn takes_from_t1(&self, set: u32) -> bool {
        let (t1, state) = (self.lists.len(Arc::t1(set)), &self.sets[set as usize]);
        let over = state.target.is_below(t1);
        let tie = state.from == Origin::B2 && state.target.is(t1);
        (t1 > 0 && (over || tie)) || self.lists.len(Arc::t2(set)) == 0
    }

    /// Forgets the address that left `list`, B1 or B2, the longest ago.
    fn forget_oldest(&mut self, set: u32, list: u32) -> bool {
        let Some(node) = self.lists.pop_back(list) else {
            return false;
        };
        self.gone.forget(set, node - self.slots);
        true
    }

    /// Notes that the page of a slot leaves T1 or T2. `fresh`: the page that comes was in no list.
    fn remember(&mut self, set: u32, slot: u32, from_t2: bool, fresh: bool) {
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
        if let Some(entry) = self.gone.add(set, self.lpn[slot as usize]) {
            self.in_b2[entry as usize] = from_t2;
            let list = if from_t2 { Arc::b2(set) } else { Arc::b1(set) };
            self.lists.push_front(list, self.slots + entry);
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
        let slots = (space.sets * space.ways) as usize;
        Arc {
            lists: Lists::new(4 * space.sets, (2 * slots) as u32),
            in_t2: vec![false; slots],
            lpn: vec![0; slots],
            gone: Remembered::new(space.sets, space.ways, space.pages),
            in_b2: vec![false; slots],
            sets: vec![SetState::default(); space.sets as usize],
            slots: slots as u32,
            ways: space.ways,
        }
    }

    fn miss(&mut self, set: u32, lpn: u32) {
        let state = &mut self.sets[set as usize];
        let Some(entry) = self.gone.entry(lpn) else {
            state.from = Origin::Unknown;
            return;
        };
        let (b1, b2) = (self.lists.len(Arc::b1(set)), self.lists.len(Arc::b2(set)));
        let list = if self.in_b2[entry as usize] {
            state.from = Origin::B2;
            state.target.lower(b1, b2);
            Arc::b2(set)
        } else {
            state.from = Origin::B1;
            state.target.raise(b2, b1, self.ways);
            Arc::b1(set)
        };
        self.lists.remove(list, self.slots + entry);
        self.gone.forget(set, entry);
    }

    fn insert(&mut self, set: u32, slot: u32, lpn: u32) {
        let state = &mut self.sets[set as usize];
        let known = std::mem::take(&mut state.from) != Origin::Unknown;
        self.lpn[slot as usize] = lpn;
        self.in_t2[slot as usize] = known;
        if known {
            self.lists.push_front(Arc::t2(set), slot);
            return;
        }
        if self.lists.len(Arc::t1(set)) + self.lists.len(Arc::b1(set)) >= self.ways {
            self.forget_oldest(set, Arc::b1(set));
        }
        self.lists.push_front(Arc::t1(set), slot);
    }

    fn hit(&mut self, set: u32, slot: u32) {
        if std::mem::replace(&mut self.in_t2[slot as usize], true) {
            self.lists.move_to_front(Arc::t2(set), slot);
        } else {
            self.lists.remove(Arc::t1(set), slot);
            self.lists.push_front(Arc::t2(set), slot);
        }
    }

    fn victim(&mut self, set: u32, mut evictable: impl FnMut(u32) -> bool) -> Option<u32> {
        let fresh = self.sets[set as usize].from == Origin::Unknown;
        let t1_is_all = self.lists.len(Arc::t1(set)) >= self.ways;
        let from_t1 = (fresh && t1_is_all) || self.takes_from_t1(set);
        let lists = match from_t1 {
            true => [Arc::t1(set), Arc::t2(set)],
            false => [Arc::t2(set), Arc::t1(set)],
        };
        let slot = lists
            .into_iter()
            .find_map(|list| self.lists.oldest(list, &mut evictable))?;
        let from_t2 = self.in_t2[slot as usize];
        self.lists.remove(self.list_of(set, slot), slot);
        self.remember(set, slot, from_t2, fresh);
        Some(slot)
    }

    #[inline]
    fn warm(&self, lpn: u32) -> u32 {
        self.gone.warm(lpn)
    }

    fn remove(&mut self, set: u32, slot: u32) {
        self.lists.remove(self.list_of(set, slot), slot);
    }

    fn dump(&self, set: u32) -> Vec<u32> {
        let (t1, t2) = (self.lists.iter(Arc::t1(set)), self.lists.iter(Arc::t2(set)));
        if self.takes_from_t1(set) {
            t2.chain(t1).collect()
        } else {
            t1.chain(t2).collect()
        }
    }
}

/// A number of pages with a fraction, `p` in the paper.
///
/// Fixed point, rounded to 53 significant bits after each step: what binary64 gives, in integers,
/// so that equal sums compare equal wherever the model runs. Steps are 1 at least, so no digit
/// lies below the fraction's last.
#[derive(Clone, Copy, Default)]
struct Target(u128);

const FRACTION_BITS: u32 = 52;
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
        // Long division, so that no step needs more than a word: 32 digits, then the other 20.
        let (other, own) = (u64::from(other), u64::from(own));
        let (high, rest) = ((other % own) << 32, |part: u64| part % own);
        let low = rest(high) << (FRACTION_BITS - 32);
        let digits = ((high / own) << (FRACTION_BITS - 32)) | (low / own);
        let quotient = (u128::from(other / own) << FRACTION_BITS) | u128::from(digits);
        // The last digits beyond the significant ones, and what the division left.
        let scale = (other / own).ilog2();
        let (kept, lost) = (quotient >> scale, quotient & ((1 << scale) - 1));
        let twice = 2 * (lost * u128::from(own) + u128::from(rest(low)));
        let one = u128::from(own) << scale;
        let up = twice > one || (twice == one && kept & 1 == 1);
        (kept + u128::from(up)) << scale
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
