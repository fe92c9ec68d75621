//! A recorded trace as a workload: its pages placed one after another, its CPUs apart.

mod blocks;
mod program;

pub use program::TraceProgram;

use blocks::{Block, Blocks};
use sluice_streams::{Access, Stream};
use sluice_trace::{Error, Header, Kind, Reader};
use sluice_units::{Bytes, LINE_BYTES, PAGE_BYTES};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// In which order the pages of a trace lie on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// As they are touched first in the file.
    Touch,
    /// By their addresses.
    Address,
}

/// A trace that was read once: every block is whole, and each page has its place. Instruction
/// fetches are passed over.
pub struct Replay {
    path: PathBuf,
    header: Header,
    unfinished: Option<String>,
    pages: Arc<HashMap<u64, u64>>,
    cpus: Vec<Cpu>,
    failure: Arc<Mutex<Option<Error>>>,
}

/// A CPU of a trace that makes accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cpu {
    number: u32,
    accesses: u64,
    /// The blocks that have some of them, in their order.
    blocks: Arc<Vec<u32>>,
    /// Executed to its end.
    instructions: u64,
}

impl Replay {
    /// Reads a trace.
    ///
    /// # Errors
    /// When it cannot be read, or is damaged anywhere.
    pub fn open(path: &Path, placement: Placement) -> Result<Replay, Error> {
        let mut reader = Reader::open(path)?;
        let mut pages = HashMap::new();
        let instructions = reader.cpus().iter().copied();
        let cpus = (0..).zip(instructions).map(|(number, instructions)| Cpu {
            number,
            accesses: 0,
            blocks: Arc::default(),
            instructions,
        });
        let mut cpus: Vec<Cpu> = cpus.collect();
        let mut blocks: Vec<Vec<u32>> = vec![Vec::new(); cpus.len()];
        let mut last = None;
        for number in 0.. {
            let Some(block) = reader.next_block()? else {
                break;
            };
            for access in block.iter().filter(|access| access.kind != Kind::Fetch) {
                cpus[access.cpu as usize].accesses += 1;
                let own = &mut blocks[access.cpu as usize];
                if own.last() != Some(&number) {
                    own.push(number);
                }
                let end = access.address.saturating_add(u64::from(access.size) - 1);
                for page in access.address / PAGE_BYTES..=end / PAGE_BYTES {
                    if last != Some(page) {
                        let place = pages.len() as u64;
                        pages.entry(page).or_insert(place);
                        last = Some(page);
                    }
                }
            }
        }
        if placement == Placement::Address {
            let mut order: Vec<u64> = pages.keys().copied().collect();
            order.sort_unstable();
            pages = (0..)
                .zip(order)
                .map(|(place, page)| (page, place))
                .collect();
        }
        for (cpu, blocks) in cpus.iter_mut().zip(blocks) {
            cpu.blocks = Arc::new(blocks);
        }
        cpus.retain(|cpu| cpu.accesses > 0);
        Ok(Replay {
            path: path.to_owned(),
            header: reader.header().clone(),
            unfinished: reader.unfinished().map(|it| it.to_string()),
            pages: Arc::new(pages),
            cpus,
            failure: Arc::default(),
        })
    }

    /// How the trace was made.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What is left out of a file whose writer was stopped.
    pub fn unfinished(&self) -> Option<&str> {
        self.unfinished.as_deref()
    }

    /// Bytes of all pages that are touched.
    pub fn footprint(&self) -> Bytes {
        Bytes(self.pages.len() as u64 * PAGE_BYTES)
    }

    /// CPUs that make accesses.
    pub fn cpus(&self) -> u32 {
        self.cpus.len() as u32
    }

    /// Accesses of all of them.
    pub fn accesses(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.accesses).sum()
    }

    /// The accesses of each CPU, in its order. One that spans lines is one of each line.
    ///
    /// # Errors
    /// When the file cannot be opened again.
    pub fn streams(&self) -> Result<Vec<Stream>, Error> {
        let trace = Arc::new(Blocks::open(&self.path)?);
        let stream = |cpu: &Cpu| {
            let lines = self.lines(cpu, &trace).map(|line| Access {
                addr: line.addr,
                write: line.write,
            });
            Box::new(lines) as Stream
        };
        Ok(self.cpus.iter().map(stream).collect())
    }

    /// The trace as a program of `threads` threads, of which each but those of its CPUs ends at
    /// once.
    ///
    /// # Errors
    /// When the file cannot be opened again.
    ///
    /// # Panics
    /// If it has more CPUs than that.
    pub fn program(&self, threads: u32) -> Result<TraceProgram, Error> {
        assert!(threads >= self.cpus());
        let trace = Arc::new(Blocks::open(&self.path)?);
        let lines = self.cpus.iter();
        let lines = lines.map(|cpu| (self.lines(cpu, &trace), cpu.instructions));
        let lines = lines.collect();
        Ok(TraceProgram::new(self.footprint(), threads, lines))
    }

    /// What went wrong while streams were read: they end there.
    pub fn failure(&self) -> Option<Error> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take()
    }

    fn lines(&self, cpu: &Cpu, trace: &Arc<Blocks>) -> LinesOfCpu {
        LinesOfCpu {
            trace: Arc::clone(trace),
            cpu: cpu.number,
            blocks: Arc::clone(&cpu.blocks),
            next_block: 0,
            block: None,
            at: 0,
            pages: Arc::clone(&self.pages),
            last: None,
            rest: None,
            failure: Arc::clone(&self.failure),
        }
    }
}

/// What a CPU does with one line.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Executed before by its CPU.
    instructions: u64,
    /// Where on the device.
    addr: u64,
    write: bool,
}

/// The lines that one CPU touches.
struct LinesOfCpu {
    trace: Arc<Blocks>,
    cpu: u32,
    /// The blocks with its accesses, and which of them is next.
    blocks: Arc<Vec<u32>>,
    next_block: usize,
    /// The block that it is in, and its access there that is next.
    block: Option<Arc<Block>>,
    at: usize,
    pages: Arc<HashMap<u64, u64>>,
    /// The page that was looked up last, and its place.
    last: Option<(u64, u64)>,
    /// The access whose lines are told, the next byte and the last.
    rest: Option<(sluice_trace::Access, u64, u64)>,
    failure: Arc<Mutex<Option<Error>>>,
}

impl LinesOfCpu {
    fn place(&mut self, page: u64) -> u64 {
        match self.last {
            Some((known, place)) if known == page => place,
            _ => {
                let place = self.pages[&page];
                self.last = Some((page, place));
                place
            }
        }
    }

    /// The next access of the CPU.
    fn access(&mut self) -> Option<sluice_trace::Access> {
        loop {
            if let Some(block) = &self.block
                && let Some(access) = block.of(self.cpu).get(self.at)
            {
                self.at += 1;
                return Some(*access);
            }
            // Lets the block go before the next is read.
            self.block = None;
            let number = *self.blocks.get(self.next_block)?;
            self.next_block += 1;
            self.at = 0;
            match self.trace.get(number) {
                Ok(block) => self.block = Some(block),
                Err(error) => {
                    let mut place = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                    place.get_or_insert(error);
                    self.next_block = self.blocks.len();
                    return None;
                }
            }
        }
    }
}

impl Iterator for LinesOfCpu {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        let (access, at, end) = match self.rest.take() {
            Some(rest) => rest,
            None => {
                let access = self.access()?;
                let end = access.address.saturating_add(u64::from(access.size) - 1);
                (access, access.address, end)
            }
        };
        let next = (at / LINE_BYTES)
            .checked_add(1)
            .and_then(|n| n.checked_mul(LINE_BYTES));
        self.rest = next
            .filter(|next| *next <= end)
            .map(|next| (access, next, end));
        Some(Line {
            instructions: access.instructions,
            addr: self.place(at / PAGE_BYTES) * PAGE_BYTES + at % PAGE_BYTES,
            write: access.kind == Kind::Store,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_host::{Instr, MemOp, Program, Step};
    use sluice_trace::Writer;

    fn access(cpu: u32, instructions: u64, address: u64, size: u16) -> sluice_trace::Access {
        sluice_trace::Access {
            cpu,
            instructions,
            address,
            size,
            kind: Kind::Load,
        }
    }

    fn replay(accesses: &[sluice_trace::Access], placement: Placement) -> Replay {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace");
        let mut writer = Writer::create(&path, &Header::new("test")).unwrap();
        accesses
            .iter()
            .for_each(|access| writer.push(access).unwrap());
        writer.finish(&[0, 0, 900_000]).unwrap();
        let mut replay = Replay::open(&path, placement).unwrap();
        // The streams open the file again.
        replay.path = dir.keep().join("trace");
        replay
    }

    #[test]
    fn pages_lie_as_touched_or_as_addressed() {
        let far = 0x7fff_0000_0000;
        let accesses = [
            access(0, 0, far + 8, 8),
            access(0, 1, 4096, 8),
            access(0, 2, far, 4),
        ];
        let addresses = |placement| {
            let streams = replay(&accesses, placement).streams().unwrap();
            let addr = streams.into_iter().flatten().map(|access| access.addr);
            addr.collect::<Vec<_>>()
        };
        assert_eq!(addresses(Placement::Touch), [8, 4096, 0]);
        assert_eq!(addresses(Placement::Address), [4104, 0, 4096]);
    }

    #[test]
    fn an_access_over_lines_and_pages_is_one_of_each() {
        let accesses = [access(0, 0, 4096 + 60, 8), access(0, 1, 3 * 4096 - 10, 100)];
        let replay = replay(&accesses, Placement::Touch);
        assert_eq!(
            (replay.footprint(), replay.accesses()),
            (Bytes(3 * 4096), 2)
        );
        let lines: Vec<u64> = replay
            .streams()
            .unwrap()
            .remove(0)
            .map(|access| access.addr)
            .collect();
        assert_eq!(lines, [60, 64, 2 * 4096 - 10, 2 * 4096, 2 * 4096 + 64]);
        assert!(replay.failure().is_none());
    }

    /// Everything that a thread executes.
    fn executed(program: &mut TraceProgram, thread: u32) -> Vec<Instr> {
        let mut out = Vec::new();
        while program.fill(thread, &mut out) == Step::More {}
        out
    }

    #[test]
    fn the_instructions_between_are_executed() {
        let accesses = [
            access(0, 3, 64, 8),
            access(2, 200_000, 128, 8),
            access(0, 3, 72, 8),
            access(0, 10, 80, 8),
        ];
        let mut program = replay(&accesses, Placement::Touch).program(4).unwrap();
        assert_eq!(program.threads(), 4);
        let first = executed(&mut program, 0);
        let told: Vec<(u64, u16)> = first.iter().map(|i| (i.addr, i.work)).collect();
        // The second access of an instruction stands for one of the instructions that follow.
        assert_eq!(told, [(64, 3), (72, 0), (80, 5)]);
        let second = executed(&mut program, 1);
        assert_eq!(second.iter().map(Instr::count).sum::<u64>(), 900_000);
        let loads: Vec<&Instr> = second.iter().filter(|i| i.op == MemOp::Load).collect();
        assert_eq!(loads.len(), 1);
        let before: u64 = second
            .iter()
            .take_while(|i| i.op == MemOp::None)
            .map(Instr::count)
            .sum();
        assert_eq!(before + u64::from(loads[0].work), 200_000);
        for thread in [2, 3] {
            assert_eq!(executed(&mut program, thread), []);
        }
    }
}
