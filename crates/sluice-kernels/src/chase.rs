//! Dependent loads: the latency of memory as membench and lmbench measure it.
//!
//! Each line of the data holds the number of the next, in one cycle through all of them in random
//! order (Sattolo 1986), so that no load begins before the one before it has ended. With more than
//! one chain as many loads are under way at once, from places that lie as far apart along the cycle
//! as can be. A round is as many loads as there are lines.

use super::share::digest;
use super::{Arena, Array, Kernel, KernelInfo, KernelOptions, Mismatch, Recorder};
use sluice_host::{Instr, Program, Step};
use sluice_params::{Kind, Param};
use sluice_units::{Bytes, LINE_BYTES, Rng};

/// Loads in a stretch.
const STRETCH: u64 = 4096;

const PARAMS: &[Param] = &[
    Param {
        key: "bytes",
        kind: Kind::Size,
        default: "8MB",
        meaning: "bytes of all threads' data",
        source: "CXL-SSD-Sim section III-B: 8 MB for bandwidth, not clearly for latency",
    },
    Param {
        key: "chains",
        kind: Kind::Count { min: 1, max: 64 },
        default: "1",
        meaning: "loads of a thread that do not wait for each other",
        source: "assumed: latency is that of one",
    },
];

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "chase",
    meaning: "dependent loads in random order, for the latency of memory",
    source: "CXL-SSD-Sim section III-B, membench",
    published: None,
    thread_bytes: |_| 0,
    own_bytes: |_, bytes, threads| bytes / 8 / u64::from(threads),
    params: PARAMS,
    make,
};

struct Walk {
    /// Where each chain is.
    at: Vec<u32>,
    done: u64,
    round: u64,
}

struct Chase {
    options: KernelOptions,
    lines: Array,
    footprint: Bytes,
    /// The cycle; every thread has one of its own, of the same form.
    next: Vec<u32>,
    walks: Vec<Walk>,
    waiting: u32,
    rounds: u64,
    ended: bool,
}

fn make(options: &KernelOptions) -> Box<dyn Kernel> {
    Box::new(chase(options))
}

/// One cycle through `0..len`.
fn cycle(len: usize, seed: u64) -> Vec<u32> {
    let mut rng = Rng::stream(seed, "kernel.chase");
    let mut next: Vec<u32> = (0..len as u32).collect();
    for last in (1..len).rev() {
        next.swap(last, rng.below(last as u64) as usize);
    }
    next
}

/// How many steps along the cycle a chain begins.
fn first(chain: u64, chains: u64, lines: u64) -> u64 {
    chain * (lines / chains) + chain.min(lines % chains)
}

/// The lines in the order of the cycle.
fn order(next: &[u32]) -> Vec<u32> {
    let mut order = Vec::with_capacity(next.len());
    let mut at = 0;
    for _ in next {
        order.push(at);
        at = next[at as usize];
    }
    order
}

fn chase(options: &KernelOptions) -> Chase {
    let bytes = options.bytes();
    let chains = options.given.read::<u64>("chains");
    let lines = (bytes / LINE_BYTES / u64::from(options.threads)).max(chains);
    let mut arena = Arena::default();
    let place = arena.array(lines * u64::from(options.threads), LINE_BYTES);
    let next = cycle(lines as usize, options.seed);
    let starts: Vec<u32> = {
        let order = order(&next);
        let start = |chain| order[first(chain, chains, lines) as usize];
        (0..chains).map(start).collect()
    };
    let walk = || Walk {
        at: starts.clone(),
        done: 0,
        round: 0,
    };
    Chase {
        options: options.clone(),
        lines: place,
        footprint: arena.footprint(),
        walks: (0..options.threads).map(|_| walk()).collect(),
        next,
        waiting: 0,
        rounds: 0,
        ended: false,
    }
}

impl Chase {
    fn len(&self) -> u64 {
        self.next.len() as u64
    }

    /// The last thread to come ends the round.
    fn arrive(&mut self) {
        self.waiting += 1;
        if self.waiting == self.options.threads {
            self.waiting = 0;
            self.rounds += 1;
            self.ended = self.rounds == self.options.rounds;
        }
    }
}

impl Program for Chase {
    fn footprint(&self) -> Bytes {
        self.footprint
    }

    fn threads(&self) -> u32 {
        self.options.threads
    }

    fn phases(&self) -> &'static [&'static str] {
        &["chase"]
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        if self.ended {
            return Step::End;
        }
        let lines = self.len();
        let walk = &mut self.walks[thread as usize];
        if walk.done == lines * (walk.round + 1) {
            walk.round += 1;
            self.arrive();
            return Step::Barrier;
        }
        let mut rec = Recorder::new(out);
        let chains = walk.at.len() as u64;
        let first = u64::from(thread) * lines;
        let steps = STRETCH.min(lines * (walk.round + 1) - walk.done);
        for _ in 0..steps {
            let chain = (walk.done % chains) as usize;
            let addr = self.lines.at(first + u64::from(walk.at[chain]));
            // The load before it in its chain may be in the stretch before.
            let back = if walk.done < chains { 0 } else { chains };
            rec.load_back(addr, back as u16);
            walk.at[chain] = self.next[walk.at[chain] as usize];
            walk.done += 1;
        }
        Step::More
    }
}

impl Kernel for Chase {
    fn rounds(&self) -> u64 {
        self.rounds
    }

    /// A chain is where so many steps lead; the cycle is walked once.
    fn check(&self) -> Result<(), Mismatch> {
        let order = order(&self.next);
        let chains = self.options.given.read::<u64>("chains");
        for (thread, walk) in self.walks.iter().enumerate() {
            let due = (0..chains).map(|chain| {
                let steps = (walk.done + chains - 1 - chain) / chains;
                let at = first(chain, chains, self.len()) + steps;
                order[(at % self.len()) as usize]
            });
            let due: Vec<u32> = due.collect();
            if due != walk.at {
                let [is, due] = [&walk.at, &due].map(|at| digest(at.iter().map(|a| (*a).into())));
                return Err(Mismatch::new(
                    format!("where thread {thread} stands"),
                    format!("{is:x}"),
                    format!("{due:x}"),
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::drive::{options, run};
    use super::*;
    use proptest::prelude::*;
    use sluice_host::MemOp;
    use sluice_params::RawConfig;

    fn of(threads: u32, bytes: u64, chains: u64, rounds: u64) -> KernelOptions {
        let mut given = RawConfig::of(PARAMS);
        for (key, value) in [
            ("bytes", format!("{bytes}B")),
            ("chains", chains.to_string()),
        ] {
            given.set(key, &value).expect("a value");
        }
        KernelOptions {
            given,
            ..options(threads, 1, rounds)
        }
    }

    proptest! {
        #[test]
        fn a_round_is_a_load_for_every_line(
            threads in 1u32..4, lines in 1u64..300, chains in 1u64..5, rounds in 1u64..4,
        ) {
            let bytes = lines * u64::from(threads) * LINE_BYTES;
            let mut kernel = chase(&of(threads, bytes, chains, rounds));
            let told = run(&mut kernel, 3);
            let lines = lines.max(chains);
            prop_assert_eq!(told.loads, lines * rounds * u64::from(threads));
            prop_assert_eq!(told.instructions, told.loads);
            prop_assert_eq!(kernel.check(), Ok(()));
            kernel.walks[0].at[0] = (kernel.walks[0].at[0] + 1) % lines as u32;
            prop_assert_eq!(kernel.check().is_err(), lines > 1);
        }
    }

    /// Chains that began anywhere in the cycle came soon after each other, and found in the caches
    /// what the one in front had brought there.
    #[test]
    fn every_line_is_loaded_once_a_round() {
        for (lines, chains, rounds) in [(300, 1, 3), (300, 4, 3), (303, 8, 1), (64, 64, 2)] {
            let mut kernel = make(&of(1, 64 * lines, chains, rounds));
            let mut out = Vec::new();
            while kernel.fill(0, &mut out) != Step::End {}
            assert_eq!(out.len() as u64, lines * rounds);
            for round in out.chunks(lines as usize) {
                let mut addresses: Vec<u64> = round.iter().map(|instr| instr.addr).collect();
                addresses.sort_unstable();
                assert!(addresses.into_iter().eq((0..lines).map(|line| line * 64)));
            }
        }
    }

    #[test]
    fn one_cycle_goes_through_every_line() {
        let next = cycle(1_000, 7);
        let mut at = 0;
        for step in 1..=1_000 {
            at = next[at as usize];
            assert_eq!(at == 0, step == 1_000, "after {step}");
        }
    }

    #[test]
    fn a_load_waits_for_the_one_before_it_in_its_chain() {
        // Of one stretch, and of two rounds of three each.
        for (chains, lines) in [(1, 1_000), (3, 1_000), (1, 10_000), (3, 10_000)] {
            let mut kernel = make(&of(1, 64 * lines, chains, 2));
            let mut out = Vec::new();
            while kernel.fill(0, &mut out) != Step::End {}
            assert_eq!(out.len() as u64, 2 * lines);
            for (place, instr) in out.iter().enumerate() {
                let free = (place as u64) < chains;
                assert_eq!(u64::from(instr.after), if free { 0 } else { chains });
                assert_eq!(instr.op, MemOp::Load);
            }
        }
    }
}
