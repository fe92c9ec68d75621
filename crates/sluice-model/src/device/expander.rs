//! A memory expander: no cache, no flash, every access is served from memory.

use crate::config::{RowSettings, Settings};
use crate::dram::Dram;
use crate::request::{Op, Request};
use sluice_units::{LINE_BYTES, Lpn, Ps};

/// The memory, and until when it is busy.
pub(super) struct Expander {
    page_bytes: u64,
    /// By the request's `Op`.
    times: [Ps; 2],
    transfer: Ps,
    free_at: Ps,
    rows: Option<Rows>,
    dram: Option<Dram>,
}

/// Banks with a row open in each (CXL-SSD-Sim Table I).
struct Rows {
    settings: RowSettings,
    banks: Vec<Bank>,
}

/// What a bank does. Rows are their number plus one, 0 is none. Loads do not wait for stores.
#[derive(Clone, Copy, Default)]
struct Bank {
    /// The row of the last load, and from when on the bank takes another load.
    open: u64,
    free_at: Ps,
    /// The row of the last store, and when it is written.
    written: u64,
    written_at: Ps,
}

impl Rows {
    fn new(settings: RowSettings) -> Rows {
        Rows {
            settings,
            banks: vec![Bank::default(); settings.banks as usize],
        }
    }

    /// Neighbouring rows are on neighbouring banks, and so are rows that are `banks` apart, or its
    /// square: arrays at round addresses do not meet on one bank.
    fn bank_of(&self, row: u64) -> usize {
        let banks = self.settings.banks;
        ((row + row / banks + row / banks / banks) % banks) as usize
    }

    /// A load begins when its bank is free of loads, and keeps it busy. `time` is what it takes if
    /// another row is open.
    fn load(&mut self, at: Ps, addr: u64, time: Ps) -> (Ps, Ps) {
        let row = addr >> self.settings.shift;
        let number = self.bank_of(row);
        let bank = &mut self.banks[number];
        let start = at.max(bank.free_at);
        let gathered = bank.written == row + 1 && start < bank.written_at;
        let time = match bank.open == row + 1 || gathered {
            true => self.settings.hit,
            false => time,
        };
        (bank.open, bank.free_at) = (row + 1, start + time);
        (start, time)
    }

    /// A store is written with those before it if they are to the same row and on their way, or
    /// when they are written, in `time`.
    fn store(&mut self, at: Ps, addr: u64, time: Ps) -> (Ps, Ps) {
        let row = addr >> self.settings.shift;
        let number = self.bank_of(row);
        let bank = &mut self.banks[number];
        if bank.written == row + 1 && at < bank.written_at {
            return (at, bank.written_at - at);
        }
        let start = at.max(bank.written_at);
        (bank.written, bank.written_at) = (row + 1, start + time);
        (start, time)
    }
}

impl Expander {
    /// The memory of an expander, or `None` if the device is not one.
    pub fn new(settings: &Settings) -> Option<Expander> {
        let given = settings.memory?;
        Some(Expander {
            page_bytes: settings.page_bytes(),
            times: [given.read, given.write],
            transfer: given.transfer,
            free_at: Ps::ZERO,
            rows: given.rows.map(Rows::new),
            dram: settings.dram.as_ref().map(Dram::new),
        })
    }

    /// When an access that is there at `at` begins, and how long it takes from then on.
    pub fn access(&mut self, at: Ps, req: Request) -> (Ps, Ps) {
        let start = at.max(self.free_at);
        self.free_at = start + self.transfer;
        if let Some(rows) = &mut self.rows {
            let time = self.times[req.op as usize];
            return match req.op {
                Op::Read => rows.load(start, req.addr, time),
                Op::Write => rows.store(start, req.addr, time),
            };
        }
        let time = match &mut self.dram {
            Some(dram) => dram.access(start, req.addr, req.op).done_at - start,
            None => self.times[req.op as usize],
        };
        (start, time)
    }

    /// Writes every line of the page, from `at` on. Says when the last is done.
    pub fn write_page(&mut self, at: Ps, lpn: Lpn) -> Ps {
        let first = lpn.addr(self.page_bytes);
        let ends = (0..self.page_bytes / LINE_BYTES).map(|line| {
            let (addr, op) = (first + line * LINE_BYTES, Op::Write);
            let (start, time) = self.access(at, Request { addr, op });
            start + time
        });
        ends.fold(at, Ps::max)
    }
}
