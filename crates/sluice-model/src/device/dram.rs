//! The device's DRAM, if it has banks: hits in cache and write log, and what comes and goes behind
//! them. The log lies above the cache.

use crate::config::Settings;
use crate::dram::Dram;
use crate::request::Op;
use sluice_units::{LINE_BYTES, Ps};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// DRAM that is shared by hits, by stores into the log, and by what is on its way in and out.
///
/// A page's lines are written when it arrives, or read when it leaves dirty; those of the log are
/// read when compaction merges them. That lies ahead in time when it is known, so it is kept until
/// then: DRAM is used in the order of time. Coalescing buffers are not in this DRAM.
pub(super) struct CacheDram {
    dram: Dram,
    page_bytes: u64,
    /// Where the write log begins.
    log: u64,
    /// What is to be moved: when, the slot or place, and how.
    moves: BinaryHeap<Reverse<(Ps, u32, Move)>>,
    /// Beyond these, the first is moved before its time.
    moves_max: usize,
}

/// What is moved besides the lines that are waited for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Move {
    /// The page of a slot, out.
    ReadPage,
    /// The page of a slot, in.
    WritePage,
    /// A line of the write log, out.
    ReadLogged,
    /// A line of the write log, in.
    WriteLogged,
}

impl CacheDram {
    /// The cache's DRAM, or `None` if its times are fixed or there is no cache.
    pub fn new(settings: &Settings) -> Option<CacheDram> {
        let layout = settings
            .dram
            .as_ref()
            .filter(|_| settings.memory.is_none())?;
        // For each fill in flight, its page and the one that left for it.
        let pages = 2 * settings.cache.mshr_entries as usize;
        // For each page that compaction works on, the lines that it reads.
        let lines = settings.write_log.as_ref().map_or(0, |log| {
            log.coalescing_buffers as usize * (settings.page_bytes() / LINE_BYTES) as usize
        });
        let moves_max = pages + lines;
        Some(CacheDram {
            dram: Dram::new(layout),
            page_bytes: settings.page_bytes(),
            log: u64::from(settings.cache.pages) * settings.page_bytes(),
            moves: BinaryHeap::with_capacity(moves_max),
            moves_max,
        })
    }

    /// How long an access takes to a byte of the page in a slot, from `at` on.
    pub fn access(&mut self, at: Ps, slot: u32, addr: u64, op: Op) -> Ps {
        let offset = addr & (self.page_bytes - 1);
        self.line(at, u64::from(slot) * self.page_bytes + offset, op)
    }

    /// How long a load of a place of the write log takes, from `at` on.
    pub fn load_logged(&mut self, at: Ps, place: u32) -> Ps {
        self.line(at, self.logged(place), Op::Read)
    }

    /// How long a store takes that reached the log at `at`, from `appended_at` on, when there was
    /// room. One that had to wait finds its bank idle: what others do until then is not known.
    pub fn append(&mut self, at: Ps, appended_at: Ps, place: u32) -> Ps {
        if at == appended_at {
            return self.line(at, self.logged(place), Op::Write);
        }
        self.plan(appended_at, place, Move::WriteLogged);
        self.dram.layout().idle_read()
    }

    fn logged(&self, place: u32) -> u64 {
        self.log + u64::from(place) * LINE_BYTES
    }

    fn line(&mut self, at: Ps, addr: u64, op: Op) -> Ps {
        while self.moves.peek().is_some_and(|first| first.0.0 <= at) {
            self.move_first();
        }
        self.dram.access(at, addr, op).done_at - at
    }

    /// Notes that the page of a slot is written or read as a whole at `at`.
    pub fn move_page(&mut self, at: Ps, slot: u32, op: Op) {
        let kind = match op {
            Op::Read => Move::ReadPage,
            Op::Write => Move::WritePage,
        };
        self.plan(at, slot, kind);
    }

    /// Notes that a line of the write log is read for compaction at `at`.
    pub fn read_logged(&mut self, at: Ps, place: u32) {
        self.plan(at, place, Move::ReadLogged);
    }

    fn plan(&mut self, at: Ps, which: u32, kind: Move) {
        if self.moves.len() == self.moves_max {
            self.move_first();
        }
        self.moves.push(Reverse((at, which, kind)));
    }

    fn move_first(&mut self) {
        let Some(Reverse((at, which, kind))) = self.moves.pop() else {
            return;
        };
        let (first, bytes) = match kind {
            Move::ReadPage | Move::WritePage => {
                (u64::from(which) * self.page_bytes, self.page_bytes)
            }
            Move::ReadLogged | Move::WriteLogged => (self.logged(which), LINE_BYTES),
        };
        let op = match kind {
            Move::ReadPage | Move::ReadLogged => Op::Read,
            Move::WritePage | Move::WriteLogged => Op::Write,
        };
        for line in 0..bytes / LINE_BYTES {
            self.dram.access(at, first + line * LINE_BYTES, op);
        }
    }
}
