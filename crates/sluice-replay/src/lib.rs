//! A recorded trace as a workload: its pages placed one after another, its CPUs apart.

mod asked;
mod blocks;
mod in_order;
mod lines;
mod program;

pub use asked::AskedStream;
pub use in_order::InOrder;
pub use lines::Line;
pub use program::TraceProgram;

use asked::AskedOfCpu;
use blocks::Blocks;
use lines::LinesOfCpu;
use sluice_streams::{Access, Stream};
use sluice_trace::{Error, Header, Kind, Order, Reader};
use sluice_units::{Bytes, PAGE_BYTES};
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
    has_blocks: bool,
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
        let (mut last, mut has_blocks) = (None, false);
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
                if access.kind.is_block() {
                    has_blocks = true;
                    if access.kind == Kind::BlockFlush {
                        continue;
                    }
                }
                for page in access.address / PAGE_BYTES..=access.last() / PAGE_BYTES {
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
            has_blocks,
            failure: Arc::default(),
        })
    }

    /// Whether it has requests by the block door.
    pub fn has_blocks(&self) -> bool {
        self.has_blocks
    }

    /// # Errors
    /// When it has requests by the block door, where there is none.
    fn check_accesses(&self) -> Result<(), Error> {
        match self.has_blocks {
            false => Ok(()),
            true => Err(Error::Input {
                place: self.path.display().to_string(),
                what: "it has requests by the block door of a device, which only `sluice sim \
                       --device` replays"
                    .to_owned(),
            }),
        }
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
    /// When the file cannot be opened again, or has requests by the block door.
    pub fn streams(&self) -> Result<Vec<Stream>, Error> {
        self.check_accesses()?;
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

    /// The lines of all CPUs in one order.
    ///
    /// # Errors
    /// When the file cannot be opened again, or has requests by the block door.
    pub fn in_order(&self) -> Result<InOrder, Error> {
        self.check_accesses()?;
        let trace = Arc::new(Blocks::open(&self.path)?);
        let cpus = self.cpus.iter().map(|cpu| self.lines(cpu, &trace));
        let cpus = cpus.collect();
        let file = match self.header.order {
            Order::PerCpu => None,
            Order::Global => {
                let last = self.cpus.last().map_or(0, |cpu| cpu.number as usize);
                let mut places = vec![0; last + 1];
                for (place, cpu) in self.cpus.iter().enumerate() {
                    places[cpu.number as usize] = place;
                }
                Some((Reader::open(&self.path)?, places))
            }
        };
        Ok(InOrder::new(file, cpus, Arc::clone(&self.failure)))
    }

    /// The accesses of each CPU, in its order, and its requests by the block door among them, on
    /// a device of so many pages of so many bytes. A flush is of all of them.
    ///
    /// # Errors
    /// When the file cannot be opened again.
    pub fn asked(&self, pages: u64, page_bytes: u64) -> Result<Vec<AskedStream>, Error> {
        let trace = Arc::new(Blocks::open(&self.path)?);
        let stream = |cpu: &Cpu| {
            let lines = self.lines(cpu, &trace);
            Box::new(AskedOfCpu::new(lines, pages, page_bytes)) as AskedStream
        };
        Ok(self.cpus.iter().map(stream).collect())
    }

    /// The trace as a program of `threads` threads, of which each but those of its CPUs ends at
    /// once.
    ///
    /// # Errors
    /// When the file cannot be opened again, or has requests by the block door.
    ///
    /// # Panics
    /// If it has more CPUs than that.
    pub fn program(&self, threads: u32) -> Result<TraceProgram, Error> {
        assert!(threads >= self.cpus());
        self.check_accesses()?;
        let trace = Arc::new(Blocks::open(&self.path)?);
        let lines = self.cpus.iter();
        let lines = lines.map(|cpu| (self.lines(cpu, &trace), cpu.instructions));
        let lines = lines.collect();
        Ok(TraceProgram::new(self.footprint(), threads, lines))
    }

    /// The pages of so many bytes that an access touches where it lies on the device, in order: as
    /// its streams ask for them. None of a flush.
    pub fn touched(
        &self,
        access: &sluice_trace::Access,
        page_bytes: u64,
    ) -> impl Iterator<Item = u64> {
        let (first, last) = (access.address, access.last());
        let own = first / PAGE_BYTES..=last / PAGE_BYTES;
        let placed = own.filter_map(move |page| {
            let start = page * PAGE_BYTES;
            let (from, to) = (first.max(start), last.min(start + (PAGE_BYTES - 1)));
            let place = self.pages.get(&page)? * PAGE_BYTES;
            Some((place + from - start) / page_bytes..=(place + to - start) / page_bytes)
        });
        placed.flatten()
    }

    /// What went wrong while streams were read: they end there.
    pub fn failure(&self) -> Option<Error> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take()
    }

    fn lines(&self, cpu: &Cpu, trace: &Arc<Blocks>) -> LinesOfCpu {
        let (pages, failure) = (Arc::clone(&self.pages), Arc::clone(&self.failure));
        LinesOfCpu::new(
            Arc::clone(trace),
            cpu.number,
            Arc::clone(&cpu.blocks),
            pages,
            failure,
        )
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
