//! Writes a recording of the accesses that a simulation makes.

use sluice_host::{CacheSize, Caches, Instr, MEMORY_MAX, MemOp, Program, Step};
use sluice_net::Access;
use sluice_units::{Bytes, LINE_BYTES};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// An access behind the caches, and when its CPU made it. 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    line: u32,
    is_write: bool,
    /// In instructions: what its CPU had executed with it, and the time in which it waited at
    /// barriers for others that executed more.
    pub at: u64,
}

impl Recorded {
    /// What is asked for.
    pub fn access(&self) -> Access {
        Access {
            addr: u64::from(self.line) * LINE_BYTES,
            is_write: self.is_write,
        }
    }
}

/// Accesses of each CPU, and in which order they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// By CPU.
    pub cpus: Vec<Vec<Recorded>>,
    /// Of all CPUs: whose turn it was.
    pub order: Vec<u16>,
    /// Every address is below.
    pub footprint: Bytes,
    /// Instructions that all CPUs executed.
    pub instructions: u64,
}

impl Recording {
    /// Accesses of all CPUs.
    pub fn len(&self) -> u64 {
        self.order.len() as u64
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Accesses that write.
    pub fn writes(&self) -> u64 {
        let writes = self.cpus.iter().flatten().filter(|one| one.is_write);
        writes.count() as u64
    }

    /// The most memory that a program behind such caches may have.
    pub fn room(caches: &[CacheSize]) -> Bytes {
        match caches.is_empty() {
            true => Bytes(LINE_BYTES << u32::BITS),
            false => MEMORY_MAX,
        }
    }

    /// Records a program behind caches of each CPU's own, until so many accesses have come or the
    /// program ends. Between barriers its threads run side by side, an instruction of each in the
    /// time of one.
    ///
    /// # Errors
    /// If the program executes `patience` instructions without an access behind the caches: it may
    /// fit them, and then go on for ever.
    ///
    /// # Panics
    /// If the program has more memory than there is [`room`](Recording::room) for.
    pub fn of(
        program: &mut dyn Program,
        caches: &[CacheSize],
        accesses: u64,
        patience: u64,
    ) -> Result<Recording, FitsCaches> {
        assert!(program.footprint() <= Recording::room(caches));
        let mut recorder = Recorder::new(program.threads(), caches, accesses);
        let mut turns = Turns::new(program.threads());
        // The accesses so far, and the instructions until the last of them.
        let mut reached = (0, 0);
        while !recorder.is_full()
            && let Some((cpu, instr)) = turns.next(program, &mut recorder.clocks)
        {
            recorder.take(cpu, instr);
            let Recording { instructions, .. } = recorder.recording;
            let accesses = recorder.recording.len();
            if accesses > reached.0 {
                reached = (accesses, instructions);
            } else if instructions - reached.1 > patience {
                return Err(FitsCaches { accesses });
            }
        }
        Ok(recorder.end(program.footprint()))
    }
}

/// Whose instruction is next: of the one that would be done first.
struct Turns {
    threads: Vec<Thread>,
    /// When the next instruction of each thread that has one is done.
    ready: BinaryHeap<Reverse<(u64, u32)>>,
    /// Threads whose next instruction is to be found: who had the last turn, or all.
    idle: Range<u32>,
}

struct Thread {
    /// What it was given to execute, and how much of that it has.
    stretch: Vec<Instr>,
    done: usize,
    step: Step,
}

impl Turns {
    fn new(threads: u32) -> Turns {
        let thread = || Thread {
            stretch: Vec::new(),
            done: 0,
            step: Step::More,
        };
        Turns {
            threads: (0..threads).map(|_| thread()).collect(),
            ready: BinaryHeap::new(),
            idle: 0..threads,
        }
    }

    /// The next instruction of all, and its thread; nothing when all threads have ended.
    fn next(&mut self, program: &mut dyn Program, clocks: &mut [u64]) -> Option<(u32, Instr)> {
        loop {
            for cpu in std::mem::take(&mut self.idle) {
                let thread = &mut self.threads[cpu as usize];
                if let Some(instr) = thread.next(program, cpu) {
                    let done = clocks[cpu as usize] + instr.count();
                    self.ready.push(Reverse((done, cpu)));
                }
            }
            if let Some(Reverse((_, cpu))) = self.ready.pop() {
                self.idle = cpu..cpu + 1;
                let thread = &mut self.threads[cpu as usize];
                thread.done += 1;
                return Some((cpu, thread.stretch[thread.done - 1]));
            }
            // Who has not ended is at a barrier, and goes on when the last one has come.
            self.threads
                .iter()
                .position(|thread| thread.step != Step::End)?;
            let last = clocks.iter().copied().max().unwrap_or(0);
            clocks.fill(last);
            let waiting = self.threads.iter_mut();
            let waiting = waiting.filter(|thread| thread.step != Step::End);
            waiting.for_each(|thread| thread.step = Step::More);
            self.idle = 0..self.threads.len() as u32;
        }
    }
}

impl Thread {
    /// Its next instruction, if it does not wait and has not ended. It does not sleep.
    fn next(&mut self, program: &mut dyn Program, cpu: u32) -> Option<Instr> {
        while self.done == self.stretch.len() {
            if matches!(self.step, Step::Barrier | Step::End) {
                return None;
            }
            self.stretch.clear();
            self.done = 0;
            self.step = program.fill(cpu, &mut self.stretch);
        }
        Some(self.stretch[self.done])
    }
}

/// A program that has stopped asking for memory behind its caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FitsCaches {
    /// Accesses before that.
    pub accesses: u64,
}

/// Takes accesses in order, and keeps what caches let through.
pub struct Recorder {
    caches: Vec<Caches>,
    recording: Recording,
    /// Of each CPU, in instructions.
    clocks: Vec<u64>,
    most: usize,
}

impl Recorder {
    /// For so many CPUs, each with caches of its own, up to so many accesses in all.
    pub fn new(cpus: u32, caches: &[CacheSize], accesses: u64) -> Recorder {
        Recorder {
            caches: (0..cpus).map(|_| Caches::new(caches)).collect(),
            recording: Recording {
                cpus: vec![Vec::new(); cpus as usize],
                ..Recording::default()
            },
            clocks: vec![0; cpus as usize],
            most: usize::try_from(accesses).unwrap_or(usize::MAX),
        }
    }

    /// Whether there are as many accesses as were wanted.
    pub fn is_full(&self) -> bool {
        self.recording.order.len() >= self.most
    }

    fn take(&mut self, cpu: u32, instr: Instr) {
        self.executed(cpu, instr.count());
        let line = (instr.addr / LINE_BYTES) as u32;
        match instr.op {
            MemOp::Load => self.access(cpu, line, false),
            MemOp::Store => self.access(cpu, line, true),
            MemOp::Flush => self.flush(cpu, line),
            MemOp::Fence | MemOp::None => {}
        }
    }

    /// A CPU has executed so many instructions more.
    pub fn executed(&mut self, cpu: u32, instructions: u64) {
        self.clocks[cpu as usize] += instructions;
        self.recording.instructions += instructions;
    }

    /// A CPU has executed so many instructions in all; it may have been there before.
    pub fn reaches(&mut self, cpu: u32, instructions: u64) {
        let more = instructions.saturating_sub(self.clocks[cpu as usize]);
        self.executed(cpu, more);
    }

    /// A CPU accesses a line.
    pub fn access(&mut self, cpu: u32, line: u32, is_write: bool) {
        let cpu = cpu as usize;
        let keep = keep(&mut self.recording, self.clocks[cpu], self.most, cpu);
        self.caches[cpu].access(line, is_write, &mut { keep });
    }

    fn flush(&mut self, cpu: u32, line: u32) {
        let cpu = cpu as usize;
        let keep = keep(&mut self.recording, self.clocks[cpu], self.most, cpu);
        self.caches[cpu].flush(line, &mut { keep });
    }

    /// What was kept, of a program with so much memory.
    pub fn end(mut self, footprint: Bytes) -> Recording {
        self.recording.footprint = footprint;
        self.recording
    }
}

/// Keeps what comes from a CPU's caches.
fn keep<'a>(
    recording: &'a mut Recording,
    at: u64,
    most: usize,
    cpu: usize,
) -> impl FnMut(u32, bool) + 'a {
    move |line, is_write| {
        if recording.order.len() < most {
            recording.order.push(cpu as u16);
            recording.cpus[cpu].push(Recorded { line, is_write, at });
        }
    }
}
