//! Marks: what a host has counted when all before a mark has retired.

use sluice_host::{HostStats, Instr, Program, RunLength, Step, simulate};
use sluice_testkit::core_rig::*;
use sluice_units::{Bytes, Ps};

/// Threads that each load from pages of their own, some before a mark and some behind it.
struct Marked {
    /// Loads of each thread that are left, before its mark and behind.
    left: Vec<[u64; 2]>,
    /// Whether there are marks.
    says: bool,
}

const PAGES: u64 = 4096;

impl Marked {
    fn new(threads: usize, before: u64, behind: u64) -> Marked {
        let left = vec![[before, behind]; threads];
        Marked { left, says: true }
    }
}

impl Program for Marked {
    fn footprint(&self) -> Bytes {
        Bytes(PAGES * 4096 * self.left.len() as u64)
    }

    fn threads(&self) -> u32 {
        self.left.len() as u32
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        let all = self.left.len() as u64;
        let left = &mut self.left[thread as usize];
        let part = if left[0] > 0 { 0 } else { 1 };
        for _ in 0..left[part].min(100) {
            let number = (left[0] + left[1]) * all + u64::from(thread);
            out.push(load(number % PAGES * 4096, 3, 0));
            left[part] -= 1;
        }
        match *left {
            [0, 0] if part == 1 => Step::End,
            [0, _] if part == 0 && self.says => Step::Mark(thread),
            _ => Step::More,
        }
    }
}

fn run(threads: u32, mut program: Marked) -> HostStats {
    let mut host = host();
    host.threads = threads;
    let length = RunLength {
        warmup: 0,
        measured: u64::MAX,
        sample_every: Ps::ZERO,
    };
    simulate(&host, expander(), &mut program, length, &mut |_| true).0
}

/// A program that ends where the other has its mark has the same figures, to the last bit.
#[test]
fn a_mark_has_the_figures_of_a_program_that_ends_there() {
    let one_load = run(1, Marked::new(1, 1, 0)).marks[0].1.time;
    for before in [1, 100, 777] {
        let all = run(1, Marked::new(1, before, 500));
        let [(number, at_mark)] = &all.marks[..] else {
            panic!("{} marks", all.marks.len());
        };
        let mut alone = run(1, Marked::new(1, before, 0));
        let (_, at_its_end) = alone.marks.pop().expect("a mark at the end");
        assert_eq!(*number, 0);
        assert_eq!(*at_mark, at_its_end);
        assert_eq!(at_mark.loads, before);
        assert_eq!(at_mark.memory.requests.total(), before);
        assert_eq!((at_mark.cores.idle, at_mark.switches), (Ps::ZERO, 0));
        // What comes behind is the rest.
        let behind = all.since(at_mark);
        assert_eq!((behind.loads, behind.instructions), (500, 2000));
        assert_eq!(behind.memory.requests.total(), 500);
        assert_eq!(behind.memory.latency.count(), 500);
        assert_eq!(behind.time + at_mark.time, all.time);
        assert_eq!(behind.levels[0].misses, 500);
        assert_eq!((all.cores.idle, all.switches), (Ps::ZERO, 0));
        // A mark makes nobody faster, and costs no more than one load's time.
        let mut silent = Marked::new(1, before, 500);
        silent.says = false;
        let silent = run(1, silent);
        assert!(silent.time <= all.time && all.time <= silent.time + one_load);
        assert_eq!(silent.loads, all.loads);
    }
}

#[test]
fn a_mark_stops_its_own_thread_alone_and_comes_once() {
    let all = run(3, Marked::new(3, 300, 300));
    let mut numbers: Vec<u32> = all.marks.iter().map(|(number, _)| *number).collect();
    let loads: Vec<u64> = all.marks.iter().map(|(_, stats)| stats.loads).collect();
    assert!(loads.is_sorted() && loads[0] >= 300, "{loads:?}");
    assert!(all.marks.iter().all(|(_, stats)| stats.marks.is_empty()));
    numbers.sort_unstable();
    assert_eq!((numbers, all.loads), (vec![0, 1, 2], 1800));
}
