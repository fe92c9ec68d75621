//! Random replacement, the baseline that no pattern can defeat.

use super::{Eviction, PolicyInfo, Space};
use sluice_units::Rng;

/// With nine pages in ten pinned, all of these fail once in eight hundred draws.
const REDRAWS_MAX: u32 = 64;

/// Evicts a uniformly drawn page. Keeps nothing but its random stream.
pub struct Random {
    rng: Rng,
    ways: u32,
    /// Per slot: whether it is held. In a full set all are, but for pinned pages.
    held: Vec<bool>,
}

impl Eviction for Random {
    const INFO: PolicyInfo = PolicyInfo {
        name: "random",
        meaning: "evicts a page drawn uniformly from the set",
        source: "baseline",
        uses_hits: false,
    };

    fn build(space: &Space) -> Random {
        let slots = (space.sets * space.ways) as usize;
        Random {
            rng: space.rng.clone(),
            ways: space.ways,
            held: vec![false; slots],
        }
    }

    fn insert(&mut self, _set: u32, slot: u32, _lpn: u32) {
        self.held[slot as usize] = true;
    }

    fn hit(&mut self, _set: u32, _slot: u32) {}

    /// A pinned page is drawn again; one that may not leave yet passes the lot to the next.
    fn victim(&mut self, set: u32, mut evictable: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut draw = || self.rng.below(u64::from(self.ways)) as u32;
        let mut drawn = draw();
        for _ in 0..REDRAWS_MAX {
            if self.held[(set * self.ways + drawn) as usize] {
                break;
            }
            drawn = draw();
        }
        let ways = (drawn..self.ways).chain(0..drawn);
        let slot = ways
            .map(|way| set * self.ways + way)
            .find(|slot| self.held[*slot as usize] && evictable(*slot))?;
        self.held[slot as usize] = false;
        Some(slot)
    }

    fn remove(&mut self, _set: u32, slot: u32) {
        self.held[slot as usize] = false;
    }

    fn dump(&self, set: u32) -> Vec<u32> {
        let slots = set * self.ways..(set + 1) * self.ways;
        slots.filter(|slot| self.held[*slot as usize]).collect()
    }
}
