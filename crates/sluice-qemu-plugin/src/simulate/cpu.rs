//! A CPU of the guest: from its accesses to instructions of the simulated host.

use super::depend::{Change, From, REGISTERS};
use super::pages::{Full, Near, Pages};
use crate::access::What;
use crate::pipe::{BATCH, Pipe};
use sluice_host::{Instr, MemOp};
use sluice_units::LINE_BYTES;
use std::ptr;

/// Instructions of a translation block at most (QEMU's `TCG_MAX_INSNS`).
pub const BLOCK_MAX: usize = 512;
/// Entries that one access can add at most: two lines, each loaded and stored, and the computation
/// before it.
const ROOM: usize = 32;

/// A translation block.
pub struct Block {
    /// How many instructions it has.
    pub count: u32,
    /// What its registers come from at its end.
    pub changes: Box<[Change]>,
    /// What is to be known of each of its instructions.
    pub sites: Box<[Site]>,
}

/// An instruction of a block.
#[derive(Clone, Copy)]
pub struct Site {
    /// Its place in the block.
    pub place: u16,
    /// Instructions of the block from this one on.
    pub left: u16,
    /// What the address of its access comes from.
    pub from: From,
}

/// What belongs to a CPU.
pub struct Cpu {
    number: u32,
    /// Instructions executed once the running block is through.
    pub executed: u64,
    /// Instructions that the entries so far stand for. One that makes two accesses counts twice
    /// until others make up for it.
    told: u64,
    /// Entries so far.
    entries: u64,
    block: *const Block,
    /// For each register: the number of the entry of the latest load behind its value, plus one.
    registers: [u64; REGISTERS],
    /// For each instruction of the block: that number of the value that it has loaded.
    loads: [u64; BLOCK_MAX + 1],
    near: Near,
    /// Loads and stores that QEMU has reported.
    pub accesses: u64,
    batch: Vec<Instr>,
}

// SAFETY: blocks do not change, and live until every CPU has forgotten them.
unsafe impl Send for Cpu {}

impl Cpu {
    /// A CPU that has done nothing.
    pub fn new(number: u32, batch: Vec<Instr>) -> Cpu {
        Cpu {
            number,
            executed: 0,
            told: 0,
            entries: 0,
            block: ptr::null(),
            registers: [0; REGISTERS],
            loads: [0; BLOCK_MAX + 1],
            near: Near::new(),
            accesses: 0,
            batch,
        }
    }

    /// A block begins: the one before has changed registers.
    #[inline]
    pub fn enter(&mut self, block: &'static Block) {
        // SAFETY: blocks are freed long after QEMU has thrown them away, and `forget` comes then.
        if let Some(before) = unsafe { self.block.as_ref() } {
            let at_its_beginning = self.registers;
            for change in &before.changes {
                let load = self.latest(change.from, &at_its_beginning);
                self.registers[change.register as usize] = load;
            }
        }
        self.block = block;
        self.executed += u64::from(block.count);
    }

    /// Blocks are thrown away.
    pub fn forget(&mut self) {
        self.block = ptr::null();
    }

    /// The latest load behind a value.
    #[inline]
    fn latest(&self, from: From, registers: &[u64; REGISTERS]) -> u64 {
        if from.load > 0 {
            return self.loads[usize::from(from.load)];
        }
        let (mut bits, mut latest) = (from.registers, 0);
        while bits != 0 {
            latest = registers[bits.trailing_zeros() as usize].max(latest);
            bits &= bits - 1;
        }
        latest
    }

    /// An instruction accesses memory.
    ///
    /// # Errors
    /// When the simulated host has no room for its page.
    #[inline]
    pub fn access(
        &mut self,
        pages: &Pages,
        site: &Site,
        address: u64,
        what: What,
    ) -> Result<(), Full> {
        let before = self.executed.saturating_sub(u64::from(site.left));
        let mut work = before.saturating_sub(self.told);
        while work > u64::from(u16::MAX) {
            self.push(0, u16::MAX, 0, MemOp::None);
            work -= u64::from(u16::MAX);
        }
        let latest = self.latest(site.from, &self.registers);
        let last = address + u64::from(what.size()) - 1;
        let mut at = address;
        let mut work = work as u16;
        while at <= last {
            let place = self.near.translate(pages, at)?;
            let ops = [(what.loads(), MemOp::Load), (what.stores(), MemOp::Store)];
            for (_, op) in ops.into_iter().filter(|(does, _)| *does) {
                self.push(place, work, latest, op);
                work = 0;
                if op == MemOp::Load {
                    self.loads[usize::from(site.place) + 1] = self.entries;
                }
            }
            at = (at / LINE_BYTES + 1) * LINE_BYTES;
        }
        self.accesses += u64::from(what.loads()) + u64::from(what.stores());
        Ok(())
    }

    /// `latest`: the entry that the address comes from, plus one; 0 for none.
    #[inline]
    fn push(&mut self, addr: u64, work: u16, latest: u64, op: MemOp) {
        let back = match latest {
            0 => 0,
            _ => self.entries + 1 - latest,
        };
        let instr = Instr {
            addr,
            work,
            after: u16::try_from(back).unwrap_or(0),
            op,
        };
        self.told += instr.count();
        self.entries += 1;
        self.batch.push(instr);
    }

    /// Hands on what was gathered, if that is much or must be.
    #[inline]
    pub fn hand_on(&mut self, pipe: &Pipe<Instr>, all: bool) {
        if self.batch.len() >= BATCH - ROOM || all {
            pipe.send(self.number, &mut self.batch);
        }
    }

    /// Hands on what a CPU that has ended has left; its buffer is for others.
    pub fn leave(&mut self, pipe: &Pipe<Instr>) {
        pipe.leave(self.number, &mut self.batch);
    }

    /// A mark comes behind all that was gathered.
    pub fn mark(&mut self, pipe: &Pipe<Instr>, mark: u32) {
        pipe.mark(self.number, &mut self.batch, mark);
    }

    /// The instructions after the last access.
    pub fn finish(&mut self, pipe: &Pipe<Instr>) {
        let mut work = self.executed.saturating_sub(self.told);
        while work > 0 {
            let part = work.min(u64::from(u16::MAX)) as u16;
            self.push(0, part, 0, MemOp::None);
            work -= u64::from(part);
            self.hand_on(pipe, false);
        }
        self.hand_on(pipe, true);
    }
}
