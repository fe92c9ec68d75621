//! The device's DRAM: hits in cache and write log, and what comes and goes behind them. Each access
//! takes the same time, or waits for its bank.

use crate::config::Settings;
use crate::dram::Dram;
use crate::request::Op;
use crate::write_log::LogEntry;
use sluice_units::{LINE_BYTES, Ps, Slot};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The DRAM that cache and write log share.
pub(super) struct DeviceDram {
    /// The time of an access, as long as banks do not say otherwise.
    latency: Ps,
    banks: Option<Banks>,
}

impl DeviceDram {
    pub fn new(settings: &Settings) -> DeviceDram {
        DeviceDram {
            latency: settings.cache.hit_latency,
            banks: Banks::new(settings),
        }
    }

    /// Accesses from now on take the time of these settings. Banks have times of their own.
    pub fn retime(&mut self, settings: &Settings) {
        self.latency = settings.cache.hit_latency;
    }

    /// The time of an access that waits for nobody.
    #[inline]
    pub fn latency(&self) -> Ps {
        self.latency
    }

    /// Whether accesses wait for banks.
    #[inline]
    pub fn has_banks(&self) -> bool {
        self.banks.is_some()
    }

    /// How long an access takes to a byte of the page in a slot, from `at` on.
    pub fn access(&mut self, at: Ps, slot: Slot, addr: u64, op: Op) -> Ps {
        match &mut self.banks {
            Some(banks) => banks.access(at, slot, addr, op),
            None => self.latency,
        }
    }

    /// How long a load of an entry of the write log takes, from `at` on.
    pub fn load_logged(&mut self, at: Ps, entry: LogEntry) -> Ps {
        match &mut self.banks {
            Some(banks) => banks.line(at, banks.logged(entry), Op::Read),
            None => self.latency,
        }
    }

    /// How long a store takes that reached the log at `at`, from `appended_at` on, when there was
    /// room. One that had to wait finds its bank idle: what others do until then is not known.
    pub fn append(&mut self, at: Ps, appended_at: Ps, entry: LogEntry) -> Ps {
        match &mut self.banks {
            Some(banks) if at == appended_at => banks.line(at, banks.logged(entry), Op::Write),
            Some(banks) => {
                banks.plan(appended_at, Move::WriteLogged(entry));
                banks.dram.layout().idle_read()
            }
            None => self.latency,
        }
    }

    /// Notes that the page of a slot is written or read as a whole at `at`. One that is on its way
    /// and has no place in the cache yet is not in this DRAM.
    pub fn move_page(&mut self, at: Ps, slot: Slot, op: Op) {
        if let Some(banks) = &mut self.banks
            && banks.page(slot) < banks.log
        {
            banks.plan(
                at,
                match op {
                    Op::Read => Move::ReadPage(slot),
                    Op::Write => Move::WritePage(slot),
                },
            );
        }
    }

    /// Notes that an entry of the write log is read for compaction at `at`.
    pub fn read_logged(&mut self, at: Ps, entry: LogEntry) {
        if let Some(banks) = &mut self.banks {
            banks.plan(at, Move::ReadLogged(entry));
        }
    }
}

/// Banks that are shared by hits, by stores into the log, and by what is on its way in and out.
///
/// A page's lines are written when it arrives, or read when it leaves dirty; those of the log are
/// read when compaction merges them. That lies ahead in time when it is known, so it is kept until
/// then: DRAM is used in the order of time. Coalescing buffers are not in this DRAM. The log lies
/// above the cache.
struct Banks {
    dram: Dram,
    page_bytes: u64,
    /// Where the write log begins.
    log: u64,
    moves: BinaryHeap<Reverse<Planned>>,
    /// Beyond these, the first is moved before its time.
    moves_max: usize,
    /// The time of the latest access.
    now: Ps,
}

/// Misses beyond the MSHR entries, which wait for one: they have planned their moves already.
const WAITING_MAX: usize = 4096;

/// A move to come. What is due at the same time goes by the number of its slot or entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Planned {
    at: Ps,
    number: u32,
    kind: Move,
}

/// What is moved besides the lines that are waited for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Move {
    /// The page of a slot, out.
    ReadPage(Slot),
    /// The page of a slot, in.
    WritePage(Slot),
    /// A line of the write log, out.
    ReadLogged(LogEntry),
    /// A line of the write log, in.
    WriteLogged(LogEntry),
}

impl Banks {
    /// The banks, or `None` if times are fixed or there is no cache.
    fn new(settings: &Settings) -> Option<Banks> {
        let layout = settings
            .dram
            .as_ref()
            .filter(|_| settings.memory.is_none())?;
        // For each fill in flight or to come, its page and the one that left for it.
        let pages = 2 * (settings.mshr.entries as usize + WAITING_MAX);
        // For each page that compaction works on, the lines that it reads.
        let lines = settings.write_log.as_ref().map_or(0, |log| {
            log.coalescing_buffers as usize * (settings.page_bytes() / LINE_BYTES) as usize
        });
        let moves_max = pages + lines;
        Some(Banks {
            dram: Dram::new(layout),
            page_bytes: settings.page_bytes(),
            log: u64::from(settings.cache.pages) * settings.page_bytes(),
            moves: BinaryHeap::with_capacity(moves_max),
            moves_max,
            now: Ps::ZERO,
        })
    }

    fn access(&mut self, at: Ps, slot: Slot, addr: u64, op: Op) -> Ps {
        let offset = addr & (self.page_bytes - 1);
        self.line(at, self.page(slot) + offset, op)
    }

    fn page(&self, slot: Slot) -> u64 {
        u64::from(slot.0) * self.page_bytes
    }

    fn logged(&self, entry: LogEntry) -> u64 {
        self.log + u64::from(entry.0) * LINE_BYTES
    }

    fn line(&mut self, at: Ps, addr: u64, op: Op) -> Ps {
        while self.moves.peek().is_some_and(|first| first.0.at <= at) {
            self.move_first(at);
        }
        self.now = self.now.max(at);
        self.dram.access(at, addr, op).done_at - at
    }

    fn plan(&mut self, at: Ps, kind: Move) {
        if self.moves.len() == self.moves_max {
            self.move_first(self.now);
        }
        let number = match kind {
            Move::ReadPage(slot) | Move::WritePage(slot) => slot.0,
            Move::ReadLogged(entry) | Move::WriteLogged(entry) => entry.0,
        };
        self.moves.push(Reverse(Planned { at, number, kind }));
    }

    /// Moves what is due first, at its time or `latest`. Banks do not go back in time: a move from
    /// the future would have every access until then wait for it.
    fn move_first(&mut self, latest: Ps) {
        let Some(Reverse(Planned { at, kind, .. })) = self.moves.pop() else {
            return;
        };
        let (first, bytes, op) = match kind {
            Move::ReadPage(slot) => (self.page(slot), self.page_bytes, Op::Read),
            Move::WritePage(slot) => (self.page(slot), self.page_bytes, Op::Write),
            Move::ReadLogged(entry) => (self.logged(entry), LINE_BYTES, Op::Read),
            Move::WriteLogged(entry) => (self.logged(entry), LINE_BYTES, Op::Write),
        };
        for line in 0..bytes / LINE_BYTES {
            self.dram
                .access(at.min(latest), first + line * LINE_BYTES, op);
        }
    }
}
