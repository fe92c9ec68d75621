//! Writes that the controller of host memory holds back, so that the bus turns round less often.

use sluice_model::Op;
use sluice_model::dram::Dram;
use sluice_units::Ps;

/// Addresses of lines that are not in DRAM yet.
pub(super) struct HeldWrites {
    lines: Vec<u64>,
    capacity: usize,
}

impl HeldWrites {
    pub fn new(capacity: u32) -> HeldWrites {
        HeldWrites {
            lines: Vec::with_capacity(capacity as usize),
            capacity: capacity as usize,
        }
    }

    /// Whether any are held back at all.
    pub fn is_on(&self) -> bool {
        self.capacity > 0
    }

    /// Whether a line is held back, and so need not be read.
    pub fn has(&self, addr: u64) -> bool {
        self.lines.contains(&addr)
    }

    /// Holds a line back. When there are as many as there can be, all go, those of a row together.
    pub fn push(&mut self, now: Ps, addr: u64, dram: &mut Dram) {
        if !self.has(addr) {
            self.lines.push(addr);
        }
        if self.lines.len() == self.capacity {
            self.lines.sort_unstable();
            for line in self.lines.drain(..) {
                dram.access(now, line, Op::Write);
            }
        }
    }
}
