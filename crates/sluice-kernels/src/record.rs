//! Writes down what a kernel does as it does it.

use sluice_host::{Instr, MemOp};

/// A load whose value an address is computed from. Good within one stretch.
#[derive(Clone, Copy, Debug)]
pub struct Loaded(usize);

/// Appends instructions to a thread's stretch.
pub struct Recorder<'a> {
    out: &'a mut Vec<Instr>,
    /// Where this stretch begins: entries before it belong to others.
    start: usize,
    work: u32,
}

impl<'a> Recorder<'a> {
    /// Appends to `out`.
    pub fn new(out: &'a mut Vec<Instr>) -> Recorder<'a> {
        let start = out.len();
        Recorder {
            out,
            start,
            work: 0,
        }
    }

    /// Instructions that touch no memory.
    pub fn work(&mut self, instructions: u32) {
        self.work += instructions;
    }

    /// A load whose address was known long before.
    pub fn load(&mut self, addr: u64) -> Loaded {
        self.push(addr, MemOp::Load, 0)
    }

    /// A load whose address comes from an earlier load.
    pub fn load_after(&mut self, addr: u64, before: Loaded) -> Loaded {
        let after = self.distance(before);
        self.push(addr, MemOp::Load, after)
    }

    /// A load whose address comes from the load so many entries before, of this stretch or an
    /// earlier one; from none if 0.
    pub fn load_back(&mut self, addr: u64, entries: u16) {
        self.push(addr, MemOp::Load, entries);
    }

    /// A store to an address that was known long before.
    pub fn store(&mut self, addr: u64) {
        self.push(addr, MemOp::Store, 0);
    }

    /// A store to an address that comes from an earlier load.
    pub fn store_after(&mut self, addr: u64, before: Loaded) {
        let after = self.distance(before);
        self.push(addr, MemOp::Store, after);
    }

    /// The line goes to memory.
    pub fn flush(&mut self, addr: u64) {
        self.push(addr, MemOp::Flush, 0);
    }

    /// Waits until memory has all lines that were sent before.
    pub fn fence(&mut self) {
        self.push(0, MemOp::Fence, 0);
    }

    /// Entries written so far, not those that were there before.
    pub fn len(&self) -> usize {
        self.out.len() - self.start
    }

    /// Whether nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// 0, for none, if the load is so far back that it cannot be under way any more.
    fn distance(&self, before: Loaded) -> u16 {
        u16::try_from(self.out.len() - before.0).unwrap_or(0)
    }

    fn push(&mut self, addr: u64, op: MemOp, after: u16) -> Loaded {
        // An entry holds so much work; what is over goes into entries without memory.
        let most = u32::from(u16::MAX);
        let extra = if self.work > most { self.spill() } else { 0 };
        let after = if after == 0 {
            0
        } else {
            after.saturating_add(extra)
        };
        let at = self.out.len();
        self.out.push(Instr {
            addr,
            work: self.work as u16,
            after,
            op,
        });
        self.work = 0;
        Loaded(at)
    }

    fn spill(&mut self) -> u16 {
        let mut entries = 0;
        while self.work > u32::from(u16::MAX) {
            self.out.push(Instr {
                addr: 0,
                work: u16::MAX,
                after: 0,
                op: MemOp::None,
            });
            self.work -= u32::from(u16::MAX);
            entries += 1;
        }
        entries
    }
}

impl Drop for Recorder<'_> {
    /// Work after the last access is work too.
    fn drop(&mut self) {
        self.spill();
        if self.work > 0 {
            self.out.push(Instr {
                addr: 0,
                work: self.work as u16,
                after: 0,
                op: MemOp::None,
            });
        }
    }
}

/// What a call answers, and the instructions that it records.
#[cfg(test)]
pub(crate) fn told<R>(call: impl FnOnce(&mut Recorder) -> R) -> (R, Vec<Instr>) {
    let mut out = Vec::new();
    let result = call(&mut Recorder::new(&mut out));
    (result, out)
}
