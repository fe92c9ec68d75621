//! What the cache knows of each slot, packed into one 16-byte record.

use super::Fill;
use sluice_units::Ps;

const DIRTY: u64 = 1 << 32;
const UNUSED: u64 = 1 << 33;
const PINNED: u64 = 1 << 34;
const LPN: u64 = 0xffff_ffff;

/// Per slot: [LPN and flags, when the page's fill ends]. A free slot's first word is the next
/// free slot + 1. Arrays of integers, so that fresh memory is zeroed by the operating system.
pub(super) struct Slots(Vec<[u64; 2]>);

impl Slots {
    pub fn new(count: usize) -> Slots {
        Slots(vec![[0; 2]; count])
    }

    pub fn lpn(&self, slot: u32) -> u32 {
        (self.0[slot as usize][0] & LPN) as u32
    }

    pub fn ready_at(&self, slot: u32) -> Ps {
        Ps(self.0[slot as usize][1])
    }

    pub fn is_dirty(&self, slot: u32) -> bool {
        self.0[slot as usize][0] & DIRTY != 0
    }

    /// Whether a prefetch brought the page in and nothing accessed it since.
    pub fn is_unused(&self, slot: u32) -> bool {
        self.0[slot as usize][0] & UNUSED != 0
    }

    pub fn is_pinned(&self, slot: u32) -> bool {
        self.0[slot as usize][0] & PINNED != 0
    }

    pub fn set_pinned(&mut self, slot: u32, pinned: bool) {
        let word = &mut self.0[slot as usize][0];
        *word = if pinned {
            *word | PINNED
        } else {
            *word & !PINNED
        };
    }

    pub fn set_dirty(&mut self, slot: u32, dirty: bool) {
        let word = &mut self.0[slot as usize][0];
        *word = if dirty { *word | DIRTY } else { *word & !DIRTY };
    }

    /// Notes an access. Says whether it is the first to a prefetched page, and whether the page
    /// is pinned.
    pub fn touch(&mut self, slot: u32, write: bool) -> (bool, bool) {
        let word = &mut self.0[slot as usize][0];
        let found = (*word & UNUSED != 0, *word & PINNED != 0);
        let changed = (*word & !UNUSED) | if write { DIRTY } else { 0 };
        if changed != *word {
            *word = changed;
        }
        found
    }

    pub fn fill(&mut self, slot: u32, lpn: u32, ready_at: Ps, fill: Fill) {
        let flags = match fill {
            Fill::Read => 0,
            Fill::Write => DIRTY,
            Fill::Prefetch => UNUSED,
        };
        self.0[slot as usize] = [u64::from(lpn) | flags, ready_at.0];
    }

    pub fn set_free(&mut self, slot: u32, next: u32) {
        self.0[slot as usize] = [u64::from(next), 0];
    }

    pub fn next_free(&self, slot: u32) -> u32 {
        self.lpn(slot)
    }
}
