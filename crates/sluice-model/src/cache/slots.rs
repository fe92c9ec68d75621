//! What the cache knows of each slot, packed into one 16-byte record.

use super::{Ahead, Fill, Slot};
use sluice_units::{Lpn, Ps, Table};

const DIRTY: u64 = 1 << 32;
const PINNED: u64 = 1 << 34;
/// The page is to leave before those of the policy.
const COLD: u64 = 1 << 35;
/// The policy has let the page go.
const INACTIVE: u64 = 1 << 36;
/// How often in a row the page was used after the policy had let it go, up to `LEVELS`.
const LEVEL_AT: u32 = 37;
const LEVEL_MASK: u64 = 3 << LEVEL_AT;
const LEVELS: u64 = 2;
/// How often the page is taken for used from now on.
const TRUST_AT: u32 = 39;
const TRUST_MASK: u64 = 7 << TRUST_AT;
/// The page is on its way and has no slot of its set yet.
const IN_FLIGHT: u64 = 1 << 42;
/// What had the page brought in ahead of any access, until there is one; 0 for nothing.
const AHEAD_AT: u32 = 43;
const AHEAD: u64 = 3 << AHEAD_AT;
/// Flash has refused the page, so that it stays.
const KEPT: u64 = 1 << 45;
const LPN: u64 = 0xffff_ffff;

/// Per slot: [LPN and flags, when the page's fill ends]. A free slot's first word is the next
/// free slot + 1. Arrays of integers, so that fresh memory is zeroed by the operating system.
pub(super) struct Slots(Table<Slot, [u64; 2]>);

impl Slots {
    pub fn new(count: u32) -> Slots {
        Slots(Table::filled(count, [0; 2]))
    }

    pub fn lpn(&self, slot: Slot) -> Lpn {
        Lpn((self.0[slot][0] & LPN) as u32)
    }

    pub fn ready_at(&self, slot: Slot) -> Ps {
        Ps(self.0[slot][1])
    }

    pub fn is_dirty(&self, slot: Slot) -> bool {
        self.0[slot][0] & DIRTY != 0
    }

    /// What had the page brought in, if nothing accessed it since.
    pub fn ahead(&self, slot: Slot) -> Option<Ahead> {
        ahead_of(self.0[slot][0])
    }

    pub fn is_pinned(&self, slot: Slot) -> bool {
        self.0[slot][0] & PINNED != 0
    }

    pub fn set_pinned(&mut self, slot: Slot, pinned: bool) {
        let word = &mut self.0[slot][0];
        *word = if pinned {
            *word | PINNED
        } else {
            *word & !PINNED
        };
    }

    pub fn set_dirty(&mut self, slot: Slot, dirty: bool) {
        let word = &mut self.0[slot][0];
        *word = if dirty { *word | DIRTY } else { *word & !DIRTY };
    }

    pub fn is_cold(&self, slot: Slot) -> bool {
        self.0[slot][0] & COLD != 0
    }

    pub fn set_cold(&mut self, slot: Slot, cold: bool) {
        let word = &mut self.0[slot][0];
        *word = if cold { *word | COLD } else { *word & !COLD };
    }

    pub fn is_inactive(&self, slot: Slot) -> bool {
        self.0[slot][0] & INACTIVE != 0
    }

    pub fn set_inactive(&mut self, slot: Slot, inactive: bool) {
        let word = &mut self.0[slot][0];
        *word = if inactive {
            *word | INACTIVE
        } else {
            *word & !INACTIVE
        };
    }

    /// Whether flash has refused the page, so that it stays.
    pub fn is_kept(&self, slot: Slot) -> bool {
        self.0[slot][0] & KEPT != 0
    }

    pub fn set_kept(&mut self, slot: Slot, kept: bool) {
        let word = &mut self.0[slot][0];
        *word = if kept { *word | KEPT } else { *word & !KEPT };
    }

    /// Whether the page is on its way and has no slot of its set yet.
    pub fn is_in_flight(&self, slot: Slot) -> bool {
        self.0[slot][0] & IN_FLIGHT != 0
    }

    pub fn set_in_flight(&mut self, slot: Slot) {
        self.0[slot][0] |= IN_FLIGHT;
    }

    /// The page of a slot is in another one from now on, which is one of its set.
    pub fn land(&mut self, from: Slot, to: Slot) {
        let [word, ready_at] = self.0[from];
        self.0[to] = [word & !IN_FLIGHT, ready_at];
    }

    /// Notes that the policy has the page back because it was used; see [`Slots::take_trust`].
    pub fn trust_more(&mut self, slot: Slot) {
        let word = &mut self.0[slot][0];
        let level = ((*word >> LEVEL_AT & 3) + 1).min(LEVELS);
        let trust = (1 << level) - 1;
        *word = *word & !(TRUST_MASK | LEVEL_MASK) | level << LEVEL_AT | trust << TRUST_AT;
    }

    /// Whether the page was used so often after the policy let it go that it is taken for used this
    /// time.
    pub fn take_trust(&mut self, slot: Slot) -> bool {
        let word = &mut self.0[slot][0];
        let is_trusted = *word & TRUST_MASK != 0;
        if is_trusted {
            *word -= 1 << TRUST_AT;
        }
        is_trusted
    }

    /// Notes an access. Says what had the page brought in, if it is the first since, and whether
    /// the page is pinned, cold, inactive, in flight or kept.
    pub fn touch(&mut self, slot: Slot, write: bool) -> (Option<Ahead>, bool) {
        let word = &mut self.0[slot][0];
        let found = (
            ahead_of(*word),
            *word & (PINNED | COLD | INACTIVE | IN_FLIGHT | KEPT) != 0,
        );
        let changed = (*word & !AHEAD) | if write { DIRTY } else { 0 };
        if changed != *word {
            *word = changed;
        }
        found
    }

    /// A prefetched page counts as any other.
    pub fn set_used(&mut self, slot: Slot) {
        self.0[slot][0] &= !AHEAD;
    }

    pub fn fill(&mut self, slot: Slot, lpn: Lpn, ready_at: Ps, fill: Fill) {
        let flags = match fill {
            Fill::Read => 0,
            Fill::Write => DIRTY,
            Fill::Ahead(by) => (by as u64) << AHEAD_AT,
        };
        self.0[slot] = [u64::from(lpn) | flags, ready_at.0];
    }

    /// Frees the slot. `next` is the next free slot + 1, or 0.
    pub fn set_free(&mut self, slot: Slot, next: u32) {
        self.0[slot] = [u64::from(next), 0];
    }

    /// The free slot behind a free one + 1, or 0.
    pub fn next_free(&self, slot: Slot) -> u32 {
        self.lpn(slot).0
    }
}

/// What had the page of a word brought in, if nothing accessed it since.
#[inline]
fn ahead_of(word: u64) -> Option<Ahead> {
    match word >> AHEAD_AT & 3 {
        0 => None,
        1 => Some(Ahead::Pick),
        2 => Some(Ahead::Line),
        _ => Some(Ahead::Command),
    }
}
