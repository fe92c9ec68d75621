//! What a thread executes: memory instructions with the computation between them.

use sluice_units::{Bytes, Ps};

/// What an instruction does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum MemOp {
    /// Reads at the address.
    Load,
    /// Writes at the address.
    Store,
    /// Once it retires, the line at the address goes to memory if it was written (`clwb`).
    Flush,
    /// Retires when memory has all lines that were flushed before it (`sfence`).
    Fence,
    /// Nothing: only the computation before it counts.
    None,
}

/// One memory instruction, and the instructions before it that touch no memory. 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instr {
    /// Byte address in the program's memory. An access does not cross a line of 64 bytes.
    pub addr: u64,
    /// Instructions without memory between the instruction before and this one.
    pub work: u16,
    /// How many entries back the load is that this address is computed from; 0 for none that
    /// could still be under way.
    pub after: u16,
    /// What it does.
    pub op: MemOp,
}

impl Instr {
    /// Instructions that it stands for.
    pub fn count(&self) -> u64 {
        u64::from(self.work) + u64::from(self.op != MemOp::None)
    }
}

/// What comes after the entries that a program gave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// More of the same.
    More,
    /// The thread waits until every thread that has not ended is at its barrier.
    Barrier,
    /// The thread sleeps for so long, and leaves its core. It is asked again then, and may sleep
    /// on.
    Sleep(Ps),
    /// A mark of this number: once all before it has retired, the counters are kept as they are.
    /// The thread goes on at once.
    Mark(u32),
    /// The thread has ended.
    End,
}

/// A program of several threads, executed as its instructions are asked for.
///
/// Between barriers the threads share out the work: the first that asks gets the next chunk, so
/// that the work as a whole does not depend on how many threads there are. The same order of calls
/// gives the same instructions.
pub trait Program {
    /// Bytes of memory: every address is below.
    fn footprint(&self) -> Bytes;

    /// How many threads it has.
    fn threads(&self) -> u32;

    /// Bytes at the beginning of its memory that it keeps for itself, off the device: an index, a
    /// stack. Whole pages.
    fn local(&self) -> Bytes {
        Bytes(0)
    }

    /// Names of the phases in which it is measured, each between barriers.
    fn phases(&self) -> &'static [&'static str] {
        &[]
    }

    /// The phase that follows, by its place in [`Program::phases`]; asked at the beginning, and at
    /// each barrier when all threads are there.
    fn phase(&self) -> usize {
        0
    }

    /// Whether the data at an address still change once they are built.
    fn rewrites(&self, addr: u64) -> bool {
        let _ = addr;
        true
    }

    /// Whether a thread sleeps at the beginning; it is asked after so long.
    fn sleeps_first(&self, thread: u32) -> Option<Ps> {
        let _ = thread;
        None
    }

    /// All that a thread was given has retired, before a barrier, a sleep or its end.
    fn drained(&mut self, thread: u32, now: Ps) {
        let _ = (thread, now);
    }

    /// Appends the next stretch of a thread's instructions to `out`, which may hold earlier ones:
    /// some hundreds to some thousands, and none only before anything but more. Not called again
    /// for a thread that has ended, and after a barrier only when all threads are there.
    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step;
}
