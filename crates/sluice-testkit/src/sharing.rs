//! Hosts with caches of a few lines, and programs that load and store few lines at random.

use crate::core_rig;
use sluice_host::{CacheSize, HostConfig, Instr, Level, MemOp, Program, Step};
use sluice_units::{Bytes, LINE_BYTES, Ps, Rng};

/// A host with so many cores, a thread on each. Lines and ways of the L1s, the L2s and the L3.
pub fn host(cores: u32, sizes: [CacheSize; 3]) -> HostConfig {
    let mut host = core_rig::host();
    let latencies = [1, 3, 10];
    let levels = [&mut host.cpu.l1, &mut host.cpu.l2, &mut host.cpu.l3];
    for ((level, size), ns) in levels.into_iter().zip(sizes).zip(latencies) {
        *level = Level {
            lines: size.lines,
            ways: size.ways,
            latency: Ps::from_ns(ns),
            mshrs: 4 * cores,
        };
    }
    host.cpu.cores = cores;
    host.cpu.window = 64;
    host.cpu.store_buffer = 8;
    host.threads = cores;
    host
}

/// Small caches: 8, 16 and 32 lines.
pub const SMALL: [CacheSize; 3] = [
    CacheSize { lines: 8, ways: 2 },
    CacheSize { lines: 16, ways: 4 },
    CacheSize { lines: 32, ways: 8 },
];

/// What a program of random accesses is.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// Threads, all on the same lines.
    pub threads: u32,
    /// Lines, from address 0 on.
    pub lines: u64,
    /// Stores among 100 accesses.
    pub stores: u64,
    /// Lines sent to memory (`clwb`, then `sfence`) among 100 accesses.
    pub flushes: u64,
    /// Accesses of each thread.
    pub accesses: u64,
    /// Of its random numbers.
    pub seed: u64,
}

/// A program of random accesses, some of which need earlier ones.
pub struct Random {
    mix: Mix,
    rngs: Vec<Rng>,
    left: Vec<u64>,
}

impl Random {
    /// One that has not begun.
    pub fn new(mix: Mix) -> Random {
        let rng = |thread| Rng::stream(mix.seed, &format!("thread {thread}"));
        Random {
            mix,
            rngs: (0..mix.threads).map(rng).collect(),
            left: vec![mix.accesses; mix.threads as usize],
        }
    }
}

impl Program for Random {
    fn footprint(&self) -> Bytes {
        Bytes(self.mix.lines * LINE_BYTES)
    }

    fn threads(&self) -> u32 {
        self.mix.threads
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        let (rng, left) = (
            &mut self.rngs[thread as usize],
            &mut self.left[thread as usize],
        );
        let chunk = (*left).min(256);
        for _ in 0..chunk {
            let kind = rng.below(100);
            let op = match kind {
                _ if kind < self.mix.stores => MemOp::Store,
                _ if kind < self.mix.stores + self.mix.flushes => MemOp::Flush,
                _ => MemOp::Load,
            };
            let work = if rng.below(3) == 0 { rng.below(200) } else { 0 };
            out.push(Instr {
                addr: rng.below(self.mix.lines) * LINE_BYTES,
                work: work as u16,
                after: if rng.below(2) == 0 { 1 } else { 0 },
                op,
            });
            if op == MemOp::Flush {
                out.push(Instr {
                    addr: 0,
                    work: 0,
                    after: 0,
                    op: MemOp::Fence,
                });
            }
        }
        *left -= chunk;
        match *left {
            0 => Step::End,
            _ => Step::More,
        }
    }
}
