//! What `clean_first.c` is, in Rust: a crate of type `cdylib` that depends on `sluice-abi`.

use sluice_abi::export::{OwnPolicy, Slots};
use sluice_abi::{PolicyEvent, PolicySpace};

/// A ring of slots for each set, the newest next to the set's own node, which is `slots + set`.
struct CleanFirst {
    /// Per node: those next to it, newer and older ones.
    ring: Vec<[u32; 2]>,
    slots: u32,
    window: u32,
}

impl OwnPolicy for CleanFirst {
    fn build(space: &PolicySpace) -> Option<CleanFirst> {
        let slots = space.sets * space.ways;
        let ring = (0..slots + space.sets).map(|node| [node, node]).collect();
        let window = space.ways.div_ceil(4);
        Some(CleanFirst {
            ring,
            slots,
            window,
        })
    }

    fn insert(&mut self, event: &PolicyEvent) {
        let (own, slot) = (self.slots + event.set, event.slot);
        let newest = std::mem::replace(&mut self.ring[own as usize][0], slot);
        self.ring[newest as usize][1] = slot;
        self.ring[slot as usize] = [newest, own];
    }

    fn hit(&mut self, event: &PolicyEvent) {
        self.remove(event);
        self.insert(event);
    }

    fn victim(&mut self, event: &PolicyEvent, slots: Slots<'_>) -> Option<u32> {
        let end = self.slots + event.set;
        let older = |node: &u32| Some(self.ring[*node as usize][1]).filter(|node| *node != end);
        let by_age = || std::iter::successors(older(&end), older);
        let mut last = by_age().take(self.window as usize);
        let clean = last.find(|slot| slots.may_leave(*slot) && !slots.is_dirty(*slot));
        let slot = clean.or_else(|| by_age().find(|slot| slots.may_leave(*slot)))?;
        self.remove(&PolicyEvent { slot, ..*event });
        Some(slot)
    }

    fn remove(&mut self, event: &PolicyEvent) {
        let [next, previous] = self.ring[event.slot as usize];
        self.ring[previous as usize][0] = next;
        self.ring[next as usize][1] = previous;
    }
}

sluice_abi::export_policy!(CleanFirst, c"clean-first", c"evicts an old clean page");
