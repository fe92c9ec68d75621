//! The cache's DRAM, if it has banks: hits, and the pages that come and go behind them.

use crate::config::Settings;
use crate::dram::Dram;
use crate::request::Op;
use sluice_units::{LINE_BYTES, Ps};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// DRAM that is shared by hits and by whole pages on their way in and out.
///
/// A page's lines are written when it arrives, or read when it leaves dirty. That lies ahead in
/// time when it is known, so it is kept until then: DRAM is used in the order of time.
pub(super) struct CacheDram {
    dram: Dram,
    page_bytes: u64,
    /// Pages to be moved: when, the slot, and whether they are written.
    moves: BinaryHeap<Reverse<(Ps, u32, bool)>>,
    /// Beyond these, the first is moved before its time.
    moves_max: usize,
}

impl CacheDram {
    /// The cache's DRAM, or `None` if its times are fixed or there is no cache.
    pub fn new(settings: &Settings) -> Option<CacheDram> {
        let layout = settings
            .dram
            .as_ref()
            .filter(|_| settings.memory.is_none())?;
        // For each fill in flight, its page and the one that left for it.
        let moves_max = 2 * settings.cache.mshr_entries as usize;
        Some(CacheDram {
            dram: Dram::new(layout),
            page_bytes: settings.page_bytes(),
            moves: BinaryHeap::with_capacity(moves_max),
            moves_max,
        })
    }

    /// How long an access takes to a byte of the page in a slot, from `at` on.
    pub fn access(&mut self, at: Ps, slot: u32, addr: u64, op: Op) -> Ps {
        while self.moves.peek().is_some_and(|first| first.0.0 <= at) {
            self.move_first();
        }
        let offset = addr & (self.page_bytes - 1);
        let addr = u64::from(slot) * self.page_bytes + offset;
        self.dram.access(at, addr, op).done_at - at
    }

    /// Notes that the page of a slot is written or read as a whole at `at`.
    pub fn move_page(&mut self, at: Ps, slot: u32, op: Op) {
        if self.moves.len() == self.moves_max {
            self.move_first();
        }
        self.moves.push(Reverse((at, slot, op == Op::Write)));
    }

    fn move_first(&mut self) {
        if let Some(Reverse((at, slot, written))) = self.moves.pop() {
            let op = if written { Op::Write } else { Op::Read };
            let first = u64::from(slot) * self.page_bytes;
            for line in 0..self.page_bytes / LINE_BYTES {
                self.dram.access(at, first + line * LINE_BYTES, op);
            }
        }
    }
}
