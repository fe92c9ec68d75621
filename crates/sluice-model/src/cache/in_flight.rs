//! Pages on their way that have no slot of their set yet: with `cache.evict_at = fill` the policy
//! chooses whose place a page takes when its data is there.
//!
//! Until then a page is in a slot behind those of all sets, which stands for the buffer of its MSHR
//! entry. Look-ups find it there; the policy does not know it.

use super::{AnyEviction, Cache, Fill, Slot};
use sluice_units::{Lpn, Ps};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Pages that can be in flight beside one for each MSHR entry: those of accesses that wait for an
/// entry, and those that the host gives back. Is there one more, the first of all lands ahead of
/// its time, as where every page of a set is on its way.
const WAITING_MAX: u32 = 4096;

/// How many pages can be in flight without a slot of their set.
pub(crate) fn in_flight_max(mshr_entries: u32) -> u32 {
    mshr_entries + WAITING_MAX
}

/// A page that has arrived, or will.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arrival {
    /// When its data is there.
    pub at: Ps,
    /// Pages that arrive together do so in the order in which they were asked for.
    number: u64,
    /// Where it is until then.
    pub from: Slot,
    pub lpn: Lpn,
    /// Why it comes.
    pub fill: Fill,
    /// Whose access it comes for, if a policy from outside is there to know.
    pub thread: Option<u32>,
}

/// The slots behind those of all sets, and when the page in each of them arrives.
pub(super) struct InFlight {
    /// Pages that were taken out meanwhile among them.
    arrivals: BinaryHeap<Reverse<Arrival>>,
    first: u32,
    most: u32,
    /// Slots that were ever used, and the first free one of them + 1.
    used: u32,
    first_free: u32,
    asked: u64,
}

impl InFlight {
    /// Watches so many slots from `first` on. If there is none, no page is ever on its way.
    pub fn new(first: u32, most: u32) -> InFlight {
        InFlight {
            arrivals: BinaryHeap::with_capacity(most as usize),
            first,
            most,
            used: 0,
            first_free: 0,
            asked: 0,
        }
    }

    /// Whether a slot is one of these.
    #[inline]
    pub fn has(&self, slot: Slot) -> bool {
        slot.0 >= self.first
    }

    /// The end of those that were ever used.
    pub fn end(&self) -> u32 {
        self.first + self.used
    }
}

impl Cache {
    /// Whether pages get a slot of their set when they arrive, and not when they are asked for.
    #[inline]
    pub fn evicts_at_fill(&self) -> bool {
        self.in_flight.most > 0
    }

    /// A slot for a page in flight; `None` if as many are as can be.
    pub fn take_in_flight(&mut self) -> Option<Slot> {
        let all = &mut self.in_flight;
        if let Some(slot) = all.first_free.checked_sub(1).map(Slot) {
            all.first_free = self.slots.next_free(slot);
            return Some(slot);
        }
        if all.used == all.most {
            return None;
        }
        all.used += 1;
        Some(Slot(all.end() - 1))
    }

    /// Notes when the page in a slot arrives.
    pub(super) fn send(&mut self, from: Slot, lpn: Lpn, at: Ps, fill: Fill) {
        self.slots.set_in_flight(from);
        let thread = match &self.policy {
            AnyEviction::External(policy) => policy.thread(),
            _ => None,
        };
        let all = &mut self.in_flight;
        all.asked += 1;
        all.arrivals.push(Reverse(Arrival {
            at,
            number: all.asked,
            from,
            lpn,
            fill,
            thread,
        }));
    }

    /// When the next page arrives.
    pub fn next_arrival(&self) -> Option<Ps> {
        self.in_flight.arrivals.peek().map(|Reverse(next)| next.at)
    }

    /// The next page that has arrived by then. It wants a slot of its set, in which it
    /// [lands](Cache::land).
    pub fn arrived(&mut self, by: Ps) -> Option<Arrival> {
        while self.next_arrival()? <= by {
            let Reverse(page) = self.in_flight.arrivals.pop()?;
            if self.slot_of(page.lpn) == Some(page.from) {
                return Some(page);
            }
            // It was taken out meanwhile.
            self.free_in_flight(page.from);
        }
        None
    }

    /// Puts a page that has arrived into a slot from [`Cache::take_free`] or [`Cache::evict`].
    pub fn land(&mut self, page: &Arrival, slot: Slot) {
        self.slots.land(page.from, slot);
        self.lookup.set(page.lpn, slot);
        self.free_in_flight(page.from);
        let set = self.set_of(page.lpn);
        if !self.slots.is_pinned(slot) {
            let is_dirty = self.slots.is_dirty(slot);
            self.policy.insert_told(set, slot, page.lpn, is_dirty);
        }
        self.give_trusted_back(set);
    }

    fn free_in_flight(&mut self, slot: Slot) {
        self.slots.set_free(slot, self.in_flight.first_free);
        self.in_flight.first_free = slot.0 + 1;
    }
}
