//! Programs that follow a read, and programs that stores wait for, against a simulation of dies by
//! events: an operation waits for those that came to its die before it, and for no other.

use sluice_model::Op;
use sluice_testkit::rig::{access, device};
use sluice_units::{Ps, Rng};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

const CHANNELS: usize = 8;
const DIES: usize = CHANNELS * 4;
const DEPTH: usize = 32;
const READ: Ps = Ps::from_us(75);
const PROGRAM: Ps = Ps::from_us(750);
const DRAM: Ps = Ps::from_ns(150);
const PAGES: u64 = 1 << 18;

/// No page comes twice, so that none is read that is still to be programmed.
fn accesses(percent: u64) -> VecDeque<(u64, Op)> {
    let mut rng = Rng::stream(1, "accesses");
    let mut pages = BTreeSet::new();
    let mut accesses = VecDeque::new();
    while accesses.len() < 16_384 {
        let page = rng.below(PAGES);
        if pages.insert(page) {
            let write = rng.below(100) < percent;
            accesses.push_back((page, if write { Op::Write } else { Op::Read }));
        }
    }
    accesses
}

/// What happens, in order at one moment: programs come to their dies before reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Program { die: usize },
    Issue,
}

/// What a store does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Store {
    /// Its page is read, and programmed behind its back.
    Reads,
    /// Its page is programmed behind its back.
    Whole,
    /// It waits until its page is programmed.
    Waits,
}

/// The latency of every access on dies that work in FIFO order.
fn by_events(mut accesses: VecDeque<(u64, Op)>, store: Store) -> Vec<Ps> {
    let mut free_at = [Ps::ZERO; DIES];
    let mut work = |die: usize, now: Ps, time: Ps| {
        free_at[die] = now.max(free_at[die]) + time;
        free_at[die]
    };
    let mut latencies = Vec::new();
    let mut events: BinaryHeap<_> = (0..DEPTH)
        .map(|order| Reverse((Ps::ZERO, Event::Issue, order)))
        .collect();
    let (mut order, mut writes) = (DEPTH, 0);
    while let Some(Reverse((now, event, _))) = events.pop() {
        match event {
            Event::Program { die } => {
                work(die, now, PROGRAM);
            }
            Event::Issue => {
                let Some((page, op)) = accesses.pop_front() else {
                    continue;
                };
                // Written once, in order: the channels run fastest.
                let done_at = match (op, store) {
                    (Op::Write, Store::Whole) => now + DRAM,
                    // It has its place among the die's operations when it comes.
                    (Op::Write, Store::Waits) => work(writes % DIES, now + DRAM, PROGRAM),
                    _ => work(page as usize % DIES, now, READ) + DRAM,
                };
                latencies.push(done_at - now);
                if op == Op::Write {
                    let die = writes % DIES;
                    if store != Store::Waits {
                        events.push(Reverse((done_at, Event::Program { die }, order)));
                    }
                    writes += 1;
                }
                events.push(Reverse((done_at, Event::Issue, order)));
                order += 1;
            }
        }
    }
    latencies
}

/// When the accesses are done on the device, where all go past its cache.
fn on_device(mut accesses: VecDeque<(u64, Op)>, pairs: &[(&str, &str)]) -> Vec<Ps> {
    let base = [
        ("device.capacity", "1GiB"),
        ("nand.channels", "8"),
        ("nand.dies", "4"),
        ("nand.read", "75us"),
        ("nand.program", "750us"),
        ("cache.store_miss", "around"),
        ("cache.load_miss", "around"),
        ("prefetch.policy", "none"),
        // Nothing is collected.
        ("ftl.overprovision", "30%"),
    ];
    let mut device = device(&[&base, pairs].concat());
    let mut events: BinaryHeap<_> = (0..DEPTH).map(|order| Reverse((Ps::ZERO, order))).collect();
    let mut latencies = Vec::new();
    while let Some(Reverse((now, _))) = events.pop() {
        let Some((page, op)) = accesses.pop_front() else {
            break;
        };
        let done_at = access(&mut device, now, page, op).done_at;
        latencies.push(done_at - now);
        events.push(Reverse((done_at, DEPTH + latencies.len())));
    }
    latencies
}

fn mean_us(latencies: &[Ps]) -> u64 {
    let sum: Ps = latencies.iter().copied().sum();
    sum.as_us() / latencies.len() as u64
}

#[test]
fn a_program_that_follows_a_read_holds_no_die_before() {
    // Means of somebody else's simulation by events, of other accesses, in microseconds.
    for (percent, elsewhere) in [(10, 264), (30, 390), (100, 853)] {
        let expected = by_events(accesses(percent), Store::Reads);
        let found = on_device(accesses(percent), &[]);
        assert_eq!(found, expected, "{percent} % writes");
        let mean = mean_us(&found);
        assert!(
            mean.abs_diff(elsewhere) * 100 <= 5 * elsewhere,
            "{percent} % writes: {mean} us, elsewhere {elsewhere}"
        );
    }
}

#[test]
fn a_whole_page_is_programmed_without_a_read() {
    let whole = ("cache.store_miss", "whole");
    let waits = ("cache.store_done", "programmed");
    for percent in [10, 30, 100] {
        let expected = by_events(accesses(percent), Store::Whole);
        let found = on_device(accesses(percent), &[whole]);
        assert_eq!(found, expected, "{percent} % writes");
        let expected = by_events(accesses(percent), Store::Waits);
        let found = on_device(accesses(percent), &[whole, waits]);
        assert_eq!(found, expected, "{percent} % writes, waited for");
    }
    // One for each die: every store takes the time of its program and nothing else.
    let found = on_device(accesses(100), &[whole, waits]);
    assert!(found.iter().all(|wait| *wait == DRAM + PROGRAM));
}

/// A read-first die has its own queue, in which what is not there yet would stand before others.
#[test]
fn reads_that_go_first_wait_less() {
    let fifo = mean_us(&on_device(accesses(30), &[]));
    let first = mean_us(&on_device(accesses(30), &[("nand.priority", "read_first")]));
    assert!(first < fifo, "{first} us, in FIFO order {fifo} us");
}
