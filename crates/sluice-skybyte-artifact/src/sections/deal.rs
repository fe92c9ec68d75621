//! Executors' instructions dealt to threads, as a recording of them is replayed.
//!
//! SkyByte's artifact has one recording of N-Store for runs with 8 to 48 threads: their lists have
//! the same 15,950 pages, and seven threads' heaps among them. With eight threads all cores take as
//! long, to 0.2 %. Yet each core is further from memory than the one before it, so that a thread
//! that is ahead meets the misses for those behind. So slices of all executors go around. No source
//! says how long a slice is. Replayed with slices of 80,000 to 100,000 instructions, N-Store loads
//! from 70 to 82 % of the heap's pages while they are new, and from 98 % of the pool's. By the
//! counters (flash reads of SkyByte-W and -WP) it is 70 % of the heap's.

use sluice_host::{Instr, Program, Step};
use sluice_kernels::tpcc::{DATABASES, Tpcc};
use sluice_kernels::{Kernel, KernelOptions, Mismatch, Recorder};
use sluice_units::Bytes;
use std::collections::VecDeque;

/// Instructions of a slice, at least.
const SLICE: u64 = 90_000;

/// What was executed and not dealt yet, and what each thread was dealt and has not asked for.
struct Hands {
    traces: Vec<VecDeque<Instr>>,
    hands: Vec<VecDeque<Vec<Instr>>>,
    /// Slices dealt so far.
    turn: usize,
}

impl Hands {
    fn new(threads: u32) -> Hands {
        Hands {
            traces: vec![VecDeque::new(); DATABASES as usize],
            hands: vec![VecDeque::new(); threads as usize],
            turn: 0,
        }
    }

    /// A thread's next slice.
    fn fill(&mut self, kernel: &mut Tpcc, thread: u32, out: &mut Vec<Instr>) -> Step {
        loop {
            if let Some(slice) = self.hands[thread as usize].pop_front() {
                out.extend(slice);
                return Step::More;
            }
            if self.is_over(kernel) {
                return Step::End;
            }
            let slice = self.slice(kernel);
            let to = self.turn % self.hands.len();
            if !slice.is_empty() {
                self.hands[to].push_back(slice);
            }
            self.turn += 1;
        }
    }

    fn is_over(&self, kernel: &Tpcc) -> bool {
        let mut traces = (0..).zip(&self.traces);
        traces.all(|(executor, trace)| trace.is_empty() && kernel.ended(executor))
    }

    /// The next slice of the executor whose turn it is; an empty one if it has ended.
    fn slice(&mut self, kernel: &mut Tpcc) -> Vec<Instr> {
        let executor = self.turn % self.traces.len();
        let trace = &mut self.traces[executor];
        let (mut slice, mut length) = (Vec::new(), 0);
        while length < SLICE {
            if trace.is_empty() && !kernel.ended(executor as u32) {
                let mut executed = Vec::new();
                kernel.transaction(&mut Recorder::new(&mut executed), executor as u32);
                trace.extend(executed);
            }
            let Some(mut instr) = trace.pop_front() else {
                break;
            };
            // Of what it waits for in the slice before, another thread knows nothing.
            if usize::from(instr.after) > slice.len() {
                instr.after = 0;
            }
            length += instr.count();
            slice.push(instr);
        }
        slice
    }
}

/// The kernel with `threads=dealt`.
pub(super) struct Dealt {
    threads: u32,
    executors: Tpcc,
    hands: Hands,
}

impl Dealt {
    pub(super) fn new(options: &KernelOptions) -> Dealt {
        Dealt {
            threads: options.threads,
            executors: Tpcc::with_executors(options, DATABASES as u32),
            hands: Hands::new(options.threads),
        }
    }
}

impl Program for Dealt {
    fn footprint(&self) -> Bytes {
        self.executors.footprint()
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        self.hands.fill(&mut self.executors, thread, out)
    }
}

impl Kernel for Dealt {
    fn rounds(&self) -> u64 {
        self.executors.rounds()
    }

    fn check(&self) -> Result<(), Mismatch> {
        self.executors.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_kernels::drive::{options, run};

    /// The heaps that a stretch touches.
    fn heaps(kernel: &Dealt, stretch: &[Instr]) -> Vec<u64> {
        let touches = |heap: &u64| {
            let heap = kernel.executors.heap(*heap);
            stretch.iter().any(|instr| heap.contains(&instr.addr))
        };
        (0..DATABASES).filter(touches).collect()
    }

    #[test]
    fn slices_go_around_executors_and_threads() {
        let threads = 8;
        let mut kernel = Dealt::new(&options(threads, 64, 0));
        for turn in 0..40 {
            let mut out = Vec::new();
            // The last thread first: slices of the others wait for them.
            let thread = threads - 1 - turn % threads;
            assert_eq!(kernel.fill(thread, &mut out), Step::More);
            let slice = turn / threads * threads + thread;
            let executor = u64::from(slice) % DATABASES;
            assert_eq!(heaps(&kernel, &out), [executor], "slice {slice}");
            let length: u64 = out.iter().map(Instr::count).sum();
            let last = out.last().map_or(0, Instr::count);
            assert!(length >= SLICE && length - last < SLICE, "{length}");
            let reach = (0..)
                .zip(&out)
                .all(|(at, instr)| usize::from(instr.after) <= at);
            assert!(reach, "no load of another slice");
        }
    }

    /// What is dealt is what threads with databases of their own do.
    #[test]
    fn any_number_of_threads_replays_the_same_transactions() {
        let own = run(&mut Tpcc::with_executors(&options(1, 1024, 1), 1), 1);
        for (threads, stretches) in [(1, 1), (8, 4), (24, 1)] {
            let mut kernel = Dealt::new(&options(threads, 1024, 1));
            let told = run(&mut kernel, stretches);
            assert_eq!((kernel.check(), kernel.rounds()), (Ok(()), 1));
            let counts = (told.instructions, told.loads, told.stores);
            assert_eq!(counts, (own.instructions, own.loads, own.stores));
        }
    }
}
