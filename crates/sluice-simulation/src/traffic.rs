//! The threads of a curve as a program for a simulated host.

use sluice_driver::{Traffic, Walk};
use sluice_host::{Instr, MemOp, Program, Step};
use sluice_stats::Histogram;
use sluice_units::{Bytes, LINE_BYTES, PAGE_BYTES, Ps, Rng, seed_of};

/// Accesses that a thread is given at a time.
const STRETCH: u64 = 256;

/// Threads that load and store in regions of their own, and one that makes dependent loads beside
/// them. Threads that the host has besides end at once.
pub struct HostTraffic {
    given: Traffic,
    threads: u32,
    /// Instructions from one access of a thread to its next.
    period: u64,
    workers: Vec<Worker>,
    /// Threads that have accesses left.
    working: u32,
    chaser: Rng,
    /// When the last dependent load retired.
    chased_at: Ps,
    /// Dependent loads that were given out.
    loads: u64,
    /// Latencies of the dependent loads.
    pub chase: Histogram,
    /// When the last thread's last access retired.
    pub ended_at: Ps,
}

struct Worker {
    begun: u64,
    rng: Rng,
}

impl HostTraffic {
    /// For a host of so many threads, at least one for each of the traffic's, whose cores execute
    /// an instruction in `instruction`: it takes as many of them as the pace.
    pub fn new(given: Traffic, threads: u32, width: u32, cycle: Ps) -> HostTraffic {
        let worker = |number: u32| Worker {
            begun: 0,
            rng: Rng::stream(seed_of(given.seed, u64::from(number)), "traffic.thread"),
        };
        HostTraffic {
            threads,
            period: (given.pace.0 * u64::from(width)).div_ceil(cycle.0).max(1),
            workers: (0..given.threads).map(worker).collect(),
            working: given.threads,
            chaser: Rng::stream(given.seed, "traffic.chase"),
            chased_at: Ps::ZERO,
            loads: 0,
            chase: Histogram::default(),
            ended_at: Ps::ZERO,
            given,
        }
    }

    /// Accesses of all threads.
    pub fn accesses(&self) -> u64 {
        u64::from(self.given.threads) * self.given.accesses()
    }

    fn is_chaser(&self, thread: u32) -> bool {
        self.given.chase > 0 && thread == self.given.threads
    }

    fn work(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        let (given, worker) = (&self.given, &mut self.workers[thread as usize]);
        let places = given.size / given.stride;
        let end = given.accesses().min(worker.begun + STRETCH);
        for number in worker.begun..end {
            let place = match given.walk {
                Walk::InOrder => number % places,
                Walk::Random => worker.rng.below(places),
            };
            let op = match given.is_store(number) {
                true => MemOp::Store,
                false => MemOp::Load,
            };
            let addr = u64::from(thread) * given.size + place * given.stride;
            compute(self.period - 1, out);
            out.push(Instr {
                addr,
                work: 0,
                after: 0,
                op,
            });
        }
        worker.begun = end;
        match end == given.accesses() {
            true => Step::End,
            false => Step::More,
        }
    }

    /// One dependent load, which the thread waits for.
    fn follow(&mut self, out: &mut Vec<Instr>) -> Step {
        let is_over = match self.given.threads {
            0 => self.loads == self.given.accesses(),
            _ => self.working == 0,
        };
        if is_over {
            return Step::End;
        }
        self.loads += 1;
        let base = u64::from(self.given.threads) * self.given.size;
        let line = self.chaser.below(self.given.chase / LINE_BYTES);
        out.push(Instr {
            addr: base + line * LINE_BYTES,
            work: 0,
            after: 0,
            op: MemOp::Load,
        });
        Step::Sleep(Ps::ZERO)
    }
}

/// Instructions that touch no memory.
fn compute(mut instructions: u64, out: &mut Vec<Instr>) {
    while instructions > 0 {
        let work = instructions.min(u64::from(u16::MAX)) as u16;
        out.push(Instr {
            addr: 0,
            work,
            after: 0,
            op: MemOp::None,
        });
        instructions -= u64::from(work);
    }
}

impl Program for HostTraffic {
    fn footprint(&self) -> Bytes {
        Bytes(self.given.footprint().next_multiple_of(PAGE_BYTES))
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    /// A warm page was loaded, and nothing stored to it.
    fn rewrites(&self, _addr: u64) -> bool {
        false
    }

    /// A chaser sleeps for no time after each load: this call comes when the load retired.
    fn drained(&mut self, thread: u32, now: Ps) {
        if self.is_chaser(thread) {
            if self.chase.count() < self.loads {
                self.chase.record(now - self.chased_at);
            }
            self.chased_at = now;
            if self.given.threads == 0 {
                self.ended_at = now;
            }
        } else if thread < self.given.threads {
            self.working -= 1;
            self.ended_at = self.ended_at.max(now);
        }
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        if self.is_chaser(thread) {
            self.follow(out)
        } else if thread < self.given.threads {
            self.work(thread, out)
        } else {
            Step::End
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use sluice_driver::{Start, Store};

    pub(crate) fn given() -> Traffic {
        Traffic {
            threads: 1,
            size: 1 << 20,
            stride: 64,
            walk: Walk::InOrder,
            reads: 100,
            store: Store::Cached,
            depth: 1,
            pace: Ps::ZERO,
            cores: 0,
            slice: Ps::from_us(100),
            ahead: 0,
            chase: 0,
            passes: 2,
            start: Start::Warm,
            seed: 1,
        }
    }

    /// A thread of millions of accesses needs memory for a stretch of them.
    #[test]
    fn a_thread_gets_its_accesses_a_stretch_at_a_time() {
        let (mut program, mut out) = (HostTraffic::new(given(), 1, 4, Ps(250)), Vec::new());
        let (mut accesses, mut step) = (0, Step::More);
        while step == Step::More {
            out.clear();
            step = program.fill(0, &mut out);
            let of_memory = out.iter().filter(|instr| instr.op != MemOp::None);
            let stretch = of_memory.count() as u64;
            assert!((1..=STRETCH).contains(&stretch));
            accesses += stretch;
        }
        assert_eq!((accesses, step), (2 << 14, Step::End));
    }

    /// The program that runs live adds up what each access has of a load; it drew them here.
    #[test]
    fn loads_are_dealt_out_as_live() {
        for reads in [0, 1, 33, 70, 99, 100] {
            let given = Traffic { reads, ..given() };
            let (mut program, mut out) = (HostTraffic::new(given, 1, 4, Ps(250)), Vec::new());
            while program.fill(0, &mut out) == Step::More {}
            let mut share = 0;
            for instr in out.iter().filter(|instr| instr.op != MemOp::None) {
                share += reads;
                let is_load = share >= 100;
                share -= if is_load { 100 } else { 0 };
                assert_eq!(instr.op == MemOp::Load, is_load, "{reads} %");
            }
        }
    }
}
