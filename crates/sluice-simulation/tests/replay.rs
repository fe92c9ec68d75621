//! A trace on a simulated host does what the program did that it is of.

use sluice_config::load_system;
use sluice_host::{Instr, MemOp, Program, RunLength, Step};
use sluice_kernels::KernelOptions;
use sluice_replay::{Placement, Replay};
use sluice_results::{Executed, Program as Ran, SystemResult};
use sluice_simulation::{SystemRun, TracePlan};
use sluice_skybyte_artifact::parse_kernel;
use sluice_trace::{Access, Header, Kind, Writer};
use sluice_units::{Bytes, PAGE_BYTES, Ps};
use std::collections::BTreeSet;
use std::path::Path;

const CPUS: u64 = 3;
const ENTRIES: usize = 30_000;
const THREADS: usize = 8;
const SCALE: u32 = 256;

/// Instructions of threads that neither wait for each other nor for the values of their loads: all
/// that a trace can hold.
struct Plain {
    threads: Vec<Vec<Instr>>,
    at: [usize; THREADS],
    pages: Vec<u64>,
}

impl Plain {
    /// The first instructions of a store under load, once for each CPU, its pages side by side.
    fn new() -> Plain {
        let thread = |seed: u64| {
            let spec = parse_kernel("ycsb", seed).unwrap();
            let mut kernel = (spec.info.make)(&KernelOptions {
                threads: 1,
                scale: SCALE,
                seed: spec.seed,
                rounds: spec.rounds,
                given: spec.given.clone(),
            });
            let mut out = Vec::new();
            while out.len() < ENTRIES {
                kernel.fill(0, &mut out);
            }
            out.retain(|instr| matches!(instr.op, MemOp::Load | MemOp::Store));
            out.truncate(ENTRIES);
            out
        };
        let mut threads: Vec<Vec<Instr>> = (1..=CPUS).map(thread).collect();
        let touched = threads
            .iter()
            .flatten()
            .map(|instr| instr.addr / PAGE_BYTES);
        let pages: Vec<u64> = touched.collect::<BTreeSet<u64>>().into_iter().collect();
        for instr in threads.iter_mut().flatten() {
            let place = pages.binary_search(&(instr.addr / PAGE_BYTES)).unwrap() as u64;
            instr.addr = place * PAGE_BYTES + instr.addr % PAGE_BYTES;
            instr.after = 0;
        }
        let at = [0; THREADS];
        Plain { threads, at, pages }
    }

    /// A trace of it, with its pages where they were at first.
    fn write(&self, path: &Path) {
        let mut writer = Writer::create(path, &Header::new("ycsb")).unwrap();
        let mut counts = [0; CPUS as usize];
        for n in 0..ENTRIES {
            for (cpu, thread) in (0..).zip(&self.threads) {
                let Some(instr) = thread.get(n) else { continue };
                let count = &mut counts[cpu as usize];
                *count += u64::from(instr.work);
                let page = self.pages[(instr.addr / PAGE_BYTES) as usize];
                let access = Access {
                    cpu,
                    instructions: *count,
                    address: page * PAGE_BYTES + instr.addr % PAGE_BYTES,
                    size: 1,
                    kind: match instr.op {
                        MemOp::Store => Kind::Store,
                        _ => Kind::Load,
                    },
                };
                writer.push(&access).unwrap();
                *count += 1;
            }
        }
        writer.finish(&counts).unwrap();
    }
}

impl Program for Plain {
    fn footprint(&self) -> Bytes {
        Bytes(self.pages.len() as u64 * PAGE_BYTES)
    }

    fn threads(&self) -> u32 {
        THREADS as u32
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        let thread = thread as usize;
        let rest = self
            .threads
            .get(thread)
            .map_or(&[][..], |all| &all[self.at[thread]..]);
        let some = &rest[..rest.len().min(700)];
        self.at[thread] += some.len();
        out.extend(some);
        if some.is_empty() {
            Step::End
        } else {
            Step::More
        }
    }
}

/// What ran, which the recording cannot know.
fn unnamed() -> Ran {
    Ran::Executed(Executed::default())
}

#[test]
fn a_trace_runs_as_the_program_did() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    let mut plain = Plain::new();
    plain.write(&path);
    for name in ["base-cssd", "skybyte-full"] {
        plain.at = [0; THREADS];
        let mut system = load_system(name).unwrap();
        system.set("cpu.threads", &THREADS.to_string()).unwrap();
        let run = || SystemRun {
            name,
            system: &system,
            scale: SCALE,
            workload: "a test",
            length: RunLength {
                warmup: 10_000,
                measured: u64::MAX,
                sample_every: Ps::ZERO,
            },
            seed: 1,
        };
        let ready = run().prepare().unwrap();
        let ran = ready
            .run(&mut plain, run().length, &mut |_| true)
            .unwrap()
            .unwrap();
        let due = run().result(&ran, unnamed(), &[]);
        let replay = &Replay::open(&path, Placement::Address).unwrap();
        let found = TracePlan { run: run(), replay }
            .run(&mut |_| true)
            .unwrap()
            .unwrap();
        assert!(due.figures.requests.total > 10_000, "{due:?}");
        // Where the cores' time went is all of it; five of eight threads have nothing to do.
        let bound = [
            due.figures.bound.compute,
            due.figures.bound.memory,
            due.figures.bound.switching,
            due.figures.bound.idle,
        ]
        .map(|part| part.expect("it took time"));
        assert!((bound.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{bound:?}");
        assert!(
            bound[3] > 0.1 && bound[0] > 0.0 && bound[1] > 0.0,
            "{bound:?}"
        );
        assert_eq!(found.program.threads(), CPUS);
        let program = unnamed();
        assert_eq!(SystemResult { program, ..found }, due, "{name}");
    }
}
