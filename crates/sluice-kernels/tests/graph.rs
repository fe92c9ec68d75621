//! Do kernels compute what they are named after, whichever thread goes first?

use proptest::prelude::*;
use sluice_host::{Instr, MemOp, Step};
use sluice_kernels::{KERNELS, Kernel, KernelOptions};
use sluice_params::RawConfig;
use sluice_units::Rng;

const NAMES: &[&str] = &["bfs-dense", "bc", "radix", "srad"];
/// The kernels of ESF's traces and of SPEC CPU2017's stand-ins.
const ESF: &[&str] = &[
    "btree",
    "linear",
    "redis",
    "silo",
    "xsbench",
    "compiler",
    "network-simplex",
];
/// A quarter of a megabyte or so each.
const SCALE: u32 = 32_768;

fn make(name: &str, threads: u32, rounds: u64, seed: u64) -> Box<dyn Kernel> {
    let info = KERNELS.iter().find(|info| info.name == name);
    let info = info.expect("a kernel of that name");
    (info.make)(&KernelOptions {
        threads,
        scale: SCALE,
        seed,
        rounds,
        given: RawConfig::of(info.params),
    })
}

/// How a run went.
#[derive(Debug, PartialEq, Eq)]
struct Run {
    stream: u64,
    entries: u64,
    loads: u64,
    stores: u64,
    barriers: u64,
}

/// Drives all threads to their end, the next one chosen by `order`.
fn drive(kernel: &mut dyn Kernel, order: &mut Rng) -> Run {
    let threads = kernel.threads() as usize;
    let footprint = kernel.footprint().0;
    let mut steps = vec![Step::More; threads];
    let mut out = Vec::new();
    let mut run = Run {
        stream: 0,
        entries: 0,
        loads: 0,
        stores: 0,
        barriers: 0,
    };
    loop {
        let ready: Vec<_> = (0..threads).filter(|t| steps[*t] == Step::More).collect();
        if ready.is_empty() {
            if steps.iter().all(|step| *step == Step::End) {
                return run;
            }
            run.barriers += 1;
            let waiting = steps.iter_mut().filter(|step| **step == Step::Barrier);
            waiting.for_each(|step| *step = Step::More);
            continue;
        }
        let thread = ready[order.below(ready.len() as u64) as usize];
        out.clear();
        steps[thread] = kernel.fill(thread as u32, &mut out);
        assert!(steps[thread] == Step::More || out.is_empty());
        assert!(out.len() < 20_000, "a stretch of {} entries", out.len());
        for (
            at,
            Instr {
                addr,
                work,
                after,
                op,
            },
        ) in out.iter().copied().enumerate()
        {
            assert!(addr < footprint, "address {addr} of {footprint}");
            assert!(
                usize::from(after) <= at,
                "an address from before the stretch"
            );
            if after > 0 {
                assert_eq!(out[at - usize::from(after)].op, MemOp::Load);
            }
            run.entries += 1;
            run.loads += u64::from(op == MemOp::Load);
            run.stores += u64::from(op == MemOp::Store);
            let word = addr << 20 ^ u64::from(work) << 3 ^ u64::from(after) << 1 ^ op as u64;
            run.stream = (run.stream.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }
}

#[test]
fn computes_what_a_sequential_program_computes() {
    for name in NAMES {
        for threads in [1, 3, 8] {
            let mut kernel = make(name, threads, 2, 7);
            drive(&mut *kernel, &mut Rng::stream(u64::from(threads), "order"));
            assert_eq!(kernel.rounds(), 2, "{name}");
            assert_eq!(kernel.check(), Ok(()), "{name} with {threads} threads");
        }
    }
}

#[test]
fn same_calls_same_instructions_another_seed_others() {
    for name in NAMES {
        let run = |seed| drive(&mut *make(name, 3, 1, seed), &mut Rng::stream(1, "order"));
        assert_eq!(run(7), run(7), "{name}");
        // A stencil goes the same way over whatever picture.
        if *name != "srad" {
            assert_ne!(run(7).stream, run(8).stream, "{name}");
        }
    }
}

/// Counted by hand from the loops of the originals.
#[test]
fn sort_and_stencil_have_the_accesses_of_their_loops() {
    let accesses = |name| {
        let run = drive(&mut *make(name, 3, 1, 7), &mut Rng::stream(1, "order"));
        (run.loads, run.stores)
    };
    // Of 94 rows of 94 pixels the last 11 in the first pass, 10 loads and 5 stores each, and all in
    // the second, 9 and 1.
    assert_eq!(
        accesses("srad"),
        ((10 * 11 + 9 * 94) * 94, (5 * 11 + 94) * 94)
    );
    // Two permutations of 18,310 keys and the last 123 of each thread of another: 20 loads and 6
    // stores each. Two counts: 12 loads and 4 stores. They clear 8 buckets of 3 threads (5 and 2)
    // and rank them (3 and 1).
    let (keys, buckets) = (18_310, 8 * 3);
    let moved = 2 * keys + 3 * 123;
    let loads = 20 * moved + 2 * (12 * keys + (5 + 3) * buckets);
    let stores = 6 * moved + 2 * (4 * keys + (2 + 1) * buckets);
    assert_eq!(accesses("radix"), (loads, stores));
}

#[test]
fn work_is_nearly_the_same_with_any_number_of_threads() {
    for name in NAMES {
        let run = |threads| {
            drive(
                &mut *make(name, threads, 1, 7),
                &mut Rng::stream(1, "order"),
            )
        };
        let (one, many) = (run(1).entries, run(8).entries);
        assert!(
            many.abs_diff(one) * 10 < one,
            "{name}: {one} and {many} entries"
        );
    }
}

#[test]
fn goes_on_without_end_and_can_be_checked_between() {
    for name in NAMES {
        let mut kernel = make(name, 1, 0, 7);
        let mut out = Vec::new();
        while kernel.rounds() < 3 {
            out.clear();
            assert_ne!(kernel.fill(0, &mut out), Step::End, "{name}");
        }
        kernel.fill(0, &mut out);
        assert_eq!(kernel.check(), Ok(()), "{name} in its fourth round");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn no_order_of_threads_changes_the_result(seed: u64, threads in 1u32..6, order: u64) {
        for name in NAMES {
            let mut kernel = make(name, threads, 1, seed);
            drive(&mut *kernel, &mut Rng::stream(order, "order"));
            prop_assert_eq!(kernel.check(), Ok(()), "{}", name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]
    #[test]
    fn esf_programs_are_right_in_any_order_of_threads(seed in any::<u64>(), threads in 1u32..6) {
        for name in ESF {
            let mut kernel = make(name, threads, 1, seed);
            drive(kernel.as_mut(), &mut Rng::stream(seed, "order"));
            prop_assert_eq!((kernel.check(), kernel.rounds()), (Ok(()), 1), "{}", name);
        }
    }
}
