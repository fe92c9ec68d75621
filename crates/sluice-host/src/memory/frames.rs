//! Frames of host memory: what is in each, and which one leaves next, by two lists as in Linux.

use sluice_units::Ps;
use std::collections::VecDeque;

/// A frame of host memory. What it is for is the business of [`Lists`] and [`Reclaim`].
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

/// The active and the inactive list. A page comes in as inactive, becomes active if it was
/// accessed when its turn comes to leave, and inactive again when there are more active pages
/// than inactive ones.
pub(super) struct Lists {
    /// Oldest first.
    inactive: VecDeque<u32>,
    active: VecDeque<u32>,
}

impl Lists {
    pub fn new(frames: u32) -> Lists {
        Lists {
            inactive: VecDeque::with_capacity(frames as usize),
            active: VecDeque::with_capacity(frames as usize),
        }
    }

    /// A frame that has come in.
    pub fn add(&mut self, frame: u32) {
        self.inactive.push_back(frame);
    }

    /// Takes out the frame that leaves next: an inactive one that was not accessed.
    pub fn victim(&mut self, frames: &mut [Frame]) -> Option<u32> {
        // Each round clears an accessed bit, and nobody sets one meanwhile.
        for _ in 0..=self.inactive.len() + self.active.len() {
            while self.active.len() > self.inactive.len() {
                let frame = self.active.pop_front()?;
                frames[frame as usize].referenced = false;
                self.add(frame);
            }
            let frame = self.inactive.pop_front()?;
            if !std::mem::take(&mut frames[frame as usize].referenced) {
                return Some(frame);
            }
            self.active.push_back(frame);
        }
        None
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
