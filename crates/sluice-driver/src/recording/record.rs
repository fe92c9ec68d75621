//! Writes a recording of the accesses that a simulation makes.

use sluice_host::{CacheSize, Caches, Instr, MemOp, Program, Step};
use sluice_net::Access;
use sluice_units::{Bytes, LINE_BYTES};

/// An access behind the caches, and the instructions that its CPU executed since its one before.
/// 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    line: u32,
    is_write: bool,
    /// Instructions since the CPU's access before.
    pub instructions: u64,
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

    /// Records a program behind caches of each CPU's own, until so many accesses have come or the
    /// program ends. Between barriers its threads take turns, a stretch each.
    ///
    /// # Errors
    /// If the program executes `patience` instructions without an access behind the caches: it may
    /// fit them, and then go on for ever.
    pub fn of(
        program: &mut dyn Program,
        caches: &[CacheSize],
        accesses: u64,
        patience: u64,
    ) -> Result<Recording, FitsCaches> {
        let threads = program.threads();
        let mut recorder = Recorder::new(threads, caches, accesses);
        let mut steps = vec![Step::More; threads as usize];
        let mut out: Vec<Instr> = Vec::new();
        // The accesses so far, and the instructions until the last of them.
        let mut reached = (0, 0);
        while !recorder.is_full() && steps.iter().any(|step| *step != Step::End) {
            if steps.iter().all(|step| *step != Step::More) {
                let waiting = steps.iter_mut().filter(|step| **step == Step::Barrier);
                waiting.for_each(|step| *step = Step::More);
            }
            for (cpu, step) in (0..).zip(&mut steps) {
                if *step == Step::More && !recorder.is_full() {
                    out.clear();
                    *step = program.fill(cpu, &mut out);
                    recorder.take(cpu, &out);
                }
            }
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
    /// Instructions of each CPU since its last access that came through.
    since: Vec<u64>,
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
            since: vec![0; cpus as usize],
            most: usize::try_from(accesses).unwrap_or(usize::MAX),
        }
    }

    /// Whether there are as many accesses as were wanted.
    pub fn is_full(&self) -> bool {
        self.recording.order.len() >= self.most
    }

    fn take(&mut self, cpu: u32, instructions: &[Instr]) {
        for instr in instructions {
            if self.is_full() {
                break;
            }
            self.executed(cpu, instr.count());
            let line = (instr.addr / LINE_BYTES) as u32;
            match instr.op {
                MemOp::Load => self.access(cpu, line, false),
                MemOp::Store => self.access(cpu, line, true),
                MemOp::Flush => self.flush(cpu, line),
                MemOp::Fence | MemOp::None => {}
            }
        }
    }

    /// A CPU has executed so many instructions more.
    pub fn executed(&mut self, cpu: u32, instructions: u64) {
        self.since[cpu as usize] += instructions;
        self.recording.instructions += instructions;
    }

    /// A CPU accesses a line.
    pub fn access(&mut self, cpu: u32, line: u32, is_write: bool) {
        let cpu = cpu as usize;
        let keep = keep(&mut self.recording, &mut self.since[cpu], self.most, cpu);
        self.caches[cpu].access(line, is_write, &mut { keep });
    }

    fn flush(&mut self, cpu: u32, line: u32) {
        let cpu = cpu as usize;
        let keep = keep(&mut self.recording, &mut self.since[cpu], self.most, cpu);
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
    since: &'a mut u64,
    most: usize,
    cpu: usize,
) -> impl FnMut(u32, bool) + 'a {
    move |line, is_write| {
        if recording.order.len() < most {
            recording.order.push(cpu as u16);
            recording.cpus[cpu].push(Recorded {
                line,
                is_write,
                instructions: std::mem::take(since),
            });
        }
    }
}
