//! Frames of host memory: what is in each.

use sluice_units::Ps;
use std::collections::VecDeque;

/// A frame of host memory. What it is for is the business of [`Tiers`](super::pages::Tiers).
#[derive(Clone, Copy, Default)]
pub(super) struct Frame {
    /// The entry of the page table that it belongs to.
    pub unit: u32,
    /// Whether flash does not have its contents.
    pub dirty: bool,
    /// The accessed bit: set by accesses that leave the processor.
    pub referenced: bool,
    /// Whether it is being copied back, and whether it was written meanwhile.
    pub leaving: bool,
    pub rewritten: bool,
    /// When its contents are there.
    pub ready_at: Ps,
}

/// Their accessed bits, which accesses that leave the processor set. What becomes inactive begins
/// without.
pub(super) struct AccessedBits<'a>(pub &'a mut [Frame]);

impl sluice_tiering::Frames for AccessedBits<'_> {
    fn take_used(&mut self, frame: u32) -> bool {
        std::mem::take(&mut self.0[frame as usize].referenced)
    }

    fn becomes_inactive(&mut self, frame: u32) {
        self.0[frame as usize].referenced = false;
    }
}

/// Pages on their way back, one after the other.
pub(super) struct Reclaim {
    /// Frames to be kept free: at least the one that the next page needs.
    pub spare: u32,
    pub line: Ps,
    pub leaving: VecDeque<u32>,
    /// Pages of the first one that were copied.
    pub copied: u64,
}

impl Reclaim {
    pub fn new(spare: u32, line: Ps) -> Reclaim {
        Reclaim {
            spare: spare.max(1),
            line,
            leaving: VecDeque::new(),
            copied: 0,
        }
    }
}
