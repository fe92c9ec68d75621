//! A trace as a program of a simulated host.

use crate::lines::{Line, LinesOfCpu};
use sluice_host::{Instr, MemOp, Program, Step};
use sluice_units::Bytes;

/// Entries given out at a time, and some more.
const STRETCH: usize = 1024;

/// Threads that do what the CPUs of a trace did: as many instructions between the same accesses.
///
/// An instruction with several accesses becomes several instructions, and as many fewer follow.
/// What an address is computed from is not in a trace: no access waits for the value of another.
pub struct TraceProgram {
    footprint: Bytes,
    threads: u32,
    cpus: Vec<Thread>,
}

struct Thread {
    lines: LinesOfCpu,
    /// Instructions to its end.
    instructions: u64,
    /// Instructions given out.
    given: u64,
    /// The access that comes next, while the instructions before it are given out.
    next: Option<Line>,
}

impl TraceProgram {
    pub(super) fn new(
        footprint: Bytes,
        threads: u32,
        cpus: Vec<(LinesOfCpu, u64)>,
    ) -> TraceProgram {
        let thread = |(lines, instructions)| Thread {
            lines,
            instructions,
            given: 0,
            next: None,
        };
        TraceProgram {
            footprint,
            threads,
            cpus: cpus.into_iter().map(thread).collect(),
        }
    }
}

impl Program for TraceProgram {
    fn footprint(&self) -> Bytes {
        self.footprint
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        let Some(thread) = self.cpus.get_mut(thread as usize) else {
            return Step::End;
        };
        let mut made = 0;
        while made < STRETCH {
            if !thread.step(out) {
                return Step::End;
            }
            made += 1;
        }
        Step::More
    }
}

impl Thread {
    /// Gives out one entry, if there is another.
    fn step(&mut self, out: &mut Vec<Instr>) -> bool {
        self.next = self.next.take().or_else(|| self.lines.next());
        let before = self
            .next
            .map_or(self.instructions, |line| line.instructions);
        let work = before.saturating_sub(self.given);
        let short = u16::try_from(work);
        let entry = match (self.next, short) {
            (Some(line), Ok(work)) => {
                self.next = None;
                Instr {
                    addr: line.addr,
                    work,
                    after: 0,
                    op: if line.write {
                        MemOp::Store
                    } else {
                        MemOp::Load
                    },
                }
            }
            (None, Ok(0)) => return false,
            (_, short) => Instr {
                addr: 0,
                work: short.unwrap_or(u16::MAX),
                after: 0,
                op: MemOp::None,
            },
        };
        self.given += entry.count();
        out.push(entry);
        true
    }
}
