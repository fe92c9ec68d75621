//! Viper against what its paper says, and against an ordered map.

use super::super::drive::{options, run};
use super::*;
use sluice_host::{MemOp, Program, Step};
use sluice_params::RawConfig;

fn of(threads: u32, rounds: u64, pairs: &[(&str, &str)]) -> KernelOptions {
    let mut given = RawConfig::of(PARAMS);
    for (key, value) in [("records", "700"), ("ops", "500")].iter().chain(pairs) {
        given.set(key, value).expect("a value");
    }
    KernelOptions {
        given,
        ..options(threads, 1, rounds)
    }
}

#[test]
fn any_number_of_threads_leaves_the_same_store() {
    for popular in ["uniform", "zipf"] {
        let mut results = Vec::new();
        for (threads, stretches) in [(1, 1), (3, 2), (8, 5)] {
            let mut kernel = viper(&of(threads, 2, &[("popular", popular)]));
            run(&mut kernel, stretches);
            assert_eq!((kernel.check(), kernel.rounds()), (Ok(()), 2));
            assert_eq!(kernel.0.slots.iter().flatten().count(), 700);
            results.push(kernel.0.result);
        }
        assert!(results.iter().all(|result| *result == results[0]));
    }
}

/// With a seed near 2^64 a key was deleted twice, and others never.
#[test]
fn each_pair_is_deleted_once_whatever_the_seed() {
    for seed in [0, u64::MAX - 500, u64::MAX] {
        let mut options = of(2, 2, &[]);
        options.seed = seed;
        let mut kernel = viper(&options);
        run(&mut kernel, 1);
        assert_eq!((kernel.check(), kernel.rounds()), (Ok(()), 2), "{seed}");
        assert_eq!(kernel.0.slots.iter().flatten().count(), 700, "{seed}");
    }
}

#[test]
fn a_pair_lost_or_read_wrong_is_seen() {
    for damage in [0, 1] {
        let mut kernel = viper(&of(1, 1, &[]));
        let mut out = Vec::new();
        while kernel.0.phase != QUERY {
            out.clear();
            kernel.fill(0, &mut out);
        }
        let slot = &mut kernel.0.slots[77];
        match damage {
            0 => *slot = slot.map(|pair| Pair { version: 2, ..pair }),
            _ => {
                *slot = slot.map(|pair| Pair {
                    key: 1 << 40,
                    ..pair
                })
            }
        }
        run(&mut kernel, 1);
        assert!(kernel.check().is_err(), "{damage}");
    }
}

/// The pages of 4 KiB hold 18 pairs of 216 B or 7 of 532 B, and the index is the program's own.
#[test]
fn pairs_lie_in_pages_and_the_index_apart() {
    // More pairs than the map had bits for shared its one word.
    for (key, value, slots) in [("16", "200", 18), ("32", "500", 7), ("8", "8", 253)] {
        let kernel = viper(&of(1, 1, &[("key", key), ("value", value)]));
        assert_eq!(kernel.0.slots_per_page, slots);
        let pages = 1_200_u64.div_ceil(slots) + 1;
        let Bytes(stored) = kernel.0.footprint;
        assert_eq!(stored - kernel.0.local.0, pages * PAGE);
        let mut marks = std::collections::BTreeMap::new();
        for slot in 0..slots {
            *marks.entry(kernel.0.mark_at(slot)).or_insert(0) += 1;
            assert!(kernel.0.mark_at(slot) + 8 <= kernel.0.pair_at(0));
            assert!(kernel.0.pair_at(slot) + kernel.0.pair <= kernel.0.page_at(0) + PAGE);
        }
        assert!(marks.values().all(|of_word| *of_word <= 64), "{marks:?}");
        assert!(kernel.0.local.0 > 2 << 20);
    }
}

/// What goes to memory for each kind of operation, and how often the operation waits for it.
#[test]
fn what_changes_is_sent_to_memory() {
    let mut kernel = viper(&of(1, 1, &[("work", "0")]));
    let mut out = Vec::new();
    // A pair of 216 B lies in 4 or 5 lines, and its mark in another.
    for (flushes, fences) in [
        (4 + 1..=5 + 1, 2),
        (5..=6, 2),
        (0..=0, 0),
        (1..=1, 1),
        (1..=1, 1),
    ] {
        out.clear();
        assert_eq!(kernel.fill(0, &mut out), Step::More);
        let count = |op| out.iter().filter(|instr| instr.op == op).count() as u64;
        let fences_per = count(MemOp::Fence) as f64 / STRETCH as f64;
        assert_eq!(fences_per, f64::from(fences), "{}", NAMES[kernel.0.phase]);
        let each = count(MemOp::Flush) / STRETCH..=count(MemOp::Flush).div_ceil(STRETCH);
        assert!(
            flushes.contains(each.start()) && flushes.contains(each.end()),
            "{each:?}"
        );
        let store = kernel.0.local.0;
        let flushed = out.iter().filter(|instr| instr.op == MemOp::Flush);
        assert!(flushed.into_iter().all(|instr| instr.addr >= store));
        let phase = kernel.0.phase;
        while kernel.0.phase == phase {
            out.clear();
            kernel.fill(0, &mut out);
        }
    }
}

#[test]
fn a_step_comes_to_every_key_once() {
    for keys in [1, 2, 9, 1_200, 20_000] {
        let mut seen = vec![false; keys as usize];
        (0..keys).for_each(|number| seen[(number * step(keys) % keys) as usize] = true);
        assert!(seen.iter().all(|seen| *seen), "{keys}");
    }
}
