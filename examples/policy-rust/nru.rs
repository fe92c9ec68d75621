//! Not recently used: one bit for each page.

use super::{Eviction, PolicyInfo, Space};

/// Evicts the first page from the hand on that was not accessed since the bits of its set were
/// last cleared; they are cleared when all are set.
pub struct Nru {
    /// Per slot: whether it holds a page.
    held: Vec<bool>,
    /// Per slot: accessed since the bits were last cleared.
    referenced: Vec<bool>,
    /// Per set: the way at which the next search begins.
    hand: Vec<u32>,
    ways: u32,
}

impl Nru {
    /// The held slots of a set, from the hand on.
    fn round(&self, set: u32) -> impl Iterator<Item = u32> {
        let (first, hand) = (set * self.ways, self.hand[set as usize]);
        let slots = (hand..self.ways).chain(0..hand).map(move |way| first + way);
        slots.filter(|slot| self.held[*slot as usize])
    }
}

impl Eviction for Nru {
    const INFO: PolicyInfo = PolicyInfo {
        name: "nru",
        meaning: "evicts the first page that was not accessed lately, by one bit for each page",
        source: "textbooks; a reference bit for each page, cleared together",
        uses_hits: true,
    };

    fn build(space: &Space) -> Nru {
        let slots = (space.sets * space.ways) as usize;
        Nru {
            held: vec![false; slots],
            referenced: vec![false; slots],
            hand: vec![0; space.sets as usize],
            ways: space.ways,
        }
    }

    fn insert(&mut self, _set: u32, slot: u32, _lpn: u32) {
        self.held[slot as usize] = true;
        self.referenced[slot as usize] = true;
    }

    fn hit(&mut self, _set: u32, slot: u32) {
        self.referenced[slot as usize] = true;
    }

    fn victim(&mut self, set: u32, mut evictable: impl FnMut(u32) -> bool) -> Option<u32> {
        let unused = |slot: &u32| !self.referenced[*slot as usize];
        let found = self
            .round(set)
            .find(|slot| unused(slot) && evictable(*slot));
        let slot = match found {
            Some(slot) => slot,
            None => {
                let slot = self.round(set).find(|slot| evictable(*slot))?;
                let first = (set * self.ways) as usize;
                self.referenced[first..first + self.ways as usize].fill(false);
                slot
            }
        };
        self.held[slot as usize] = false;
        self.hand[set as usize] = (slot + 1) % self.ways;
        Some(slot)
    }

    fn remove(&mut self, _set: u32, slot: u32) {
        self.held[slot as usize] = false;
    }

    fn dump(&self, set: u32) -> Vec<u32> {
        let referenced = |slot: &u32| self.referenced[*slot as usize];
        let (used, unused): (Vec<u32>, Vec<u32>) = self.round(set).partition(referenced);
        unused.into_iter().chain(used).rev().collect()
    }
}
