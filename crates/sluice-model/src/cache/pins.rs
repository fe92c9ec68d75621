//! Pages that the host has pinned: the policy does not hold them.

use super::{Cache, Set, Slot};
use sluice_units::Lpn;

impl Cache {
    /// Pages that are pinned.
    pub fn pins(&self) -> u64 {
        u64::from(self.pins)
    }

    /// How many pages of a set can be pinned from now on. Those that are stay so.
    pub fn limit_pins(&mut self, per_set: u32) {
        self.pins_per_set = per_set;
    }

    /// Whether another page of the set of `lpn` can be pinned.
    pub fn can_pin(&self, lpn: Lpn) -> bool {
        self.pinned[self.set_of(lpn)] < self.pins_per_set
    }

    /// Takes a cached page that is not pinned out of the policy's hands.
    pub fn pin(&mut self, lpn: Lpn) {
        let (set, slot) = (self.set_of(lpn), self.slot_of(lpn).expect("a cached page"));
        self.warm(set, slot);
        if !(self.slots.is_in_flight(slot) || self.release(set, slot)) {
            self.take_from_policy(set, slot);
        }
        self.slots.set_pinned(slot, true);
        self.pinned[set] += 1;
        self.pins += 1;
    }

    /// Gives a pinned page back to the policy, as a newcomer.
    pub fn unpin(&mut self, lpn: Lpn) {
        let (set, slot) = (self.set_of(lpn), self.slot_of(lpn).expect("a cached page"));
        self.forget_pin(set, slot);
        if !self.slots.is_in_flight(slot) {
            self.give_back(lpn, set, slot);
        }
    }

    pub(super) fn forget_pin(&mut self, set: Set, slot: Slot) {
        self.slots.set_pinned(slot, false);
        self.pinned[set] -= 1;
        self.pins -= 1;
    }
}
