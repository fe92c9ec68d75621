//! What is recorded of a program: whose turn it is, what comes through caches, and how much is
//! kept.

use sluice_driver::recording::{FitsCaches, Recorder, Recording};
use sluice_host::{CacheSize, Instr, MemOp, Program, Step};
use sluice_net::Access;
use sluice_units::Bytes;
use std::collections::VecDeque;

/// Stretches of each thread, with what follows each of them.
struct Listed {
    threads: Vec<VecDeque<(Vec<Instr>, Step)>>,
    fills: u32,
}

impl Program for Listed {
    fn footprint(&self) -> Bytes {
        Bytes(12_345)
    }

    fn threads(&self) -> u32 {
        self.threads.len() as u32
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        self.fills += 1;
        let next = self.threads[thread as usize].pop_front();
        let (stretch, step) = next.expect("a thread is not asked after its end");
        out.extend(stretch);
        step
    }
}

fn instr(op: MemOp, line: u64, work: u16) -> Instr {
    Instr {
        addr: line * 64 + 63,
        work,
        after: 0,
        op,
    }
}

fn load(line: u64) -> Instr {
    instr(MemOp::Load, line, 4)
}

fn listed(threads: &[&[(&[Instr], Step)]]) -> Listed {
    let thread = |stretches: &&[(&[Instr], Step)]| {
        let stretches = stretches.iter();
        stretches.map(|(all, step)| (all.to_vec(), *step)).collect()
    };
    Listed {
        threads: threads.iter().map(thread).collect(),
        fills: 0,
    }
}

/// The CPU and the line of each access.
fn in_order(recording: &Recording) -> Vec<(u16, u64)> {
    let mut next = vec![0; recording.cpus.len()];
    let of = |cpu: &u16| {
        let place = &mut next[usize::from(*cpu)];
        *place += 1;
        let one = recording.cpus[usize::from(*cpu)][*place - 1];
        (*cpu, one.access().addr / 64)
    };
    recording.order.iter().map(of).collect()
}

/// What a program that ends asks for.
fn all_of(program: &mut Listed, caches: &[CacheSize], most: u64) -> Recording {
    Recording::of(program, caches, most, u64::MAX).expect("it ends")
}

/// Three threads, of which two meet at a barrier after the third has ended.
fn three() -> Listed {
    listed(&[
        &[
            (&[load(0), load(1)], Step::More),
            (&[load(2)], Step::Barrier),
            (&[load(3)], Step::End),
        ],
        &[
            (&[load(10)], Step::Barrier),
            (&[load(11)], Step::More),
            (&[load(12)], Step::End),
        ],
        &[(&[load(20)], Step::End)],
    ])
}

#[test]
fn threads_take_turns_and_wait_at_barriers() {
    let mut program = three();
    let recording = all_of(&mut program, &[], u64::MAX);
    let expected = [
        (0, 0),
        (0, 1),
        (1, 10),
        (2, 20),
        // The second waits for the first.
        (0, 2),
        (0, 3),
        (1, 11),
        (1, 12),
    ];
    assert_eq!(in_order(&recording), expected);
    assert_eq!(program.fills, 7);
    assert_eq!((recording.len(), recording.is_empty()), (8, false));
    assert_eq!(recording.footprint, Bytes(12_345));
    // Five for each load and the work before it.
    assert_eq!(recording.instructions, 8 * 5);
    let since = recording.cpus.iter().flatten().map(|one| one.instructions);
    assert_eq!(since.collect::<Vec<_>>(), [5; 8]);
}

#[test]
fn no_more_is_kept_than_was_wanted() {
    for (most, fills) in [(0, 0), (1, 1), (2, 1), (3, 2), (4, 3), (7, 6), (8, 7)] {
        let mut program = three();
        let recording = all_of(&mut program, &[], most);
        assert_eq!(recording.len(), most);
        assert_eq!(program.fills, fills, "{most}");
        assert_eq!(recording.is_empty(), most == 0);
        // Five for each load and the work before it: none that come after the last one kept.
        assert_eq!(recording.instructions, 5 * most);
        let all = all_of(&mut three(), &[], u64::MAX);
        assert_eq!(in_order(&recording), in_order(&all)[..most as usize]);
    }
}

/// Two lines that go round for ever, in a cache that has both from the first round on.
struct Endless;

impl Program for Endless {
    fn footprint(&self) -> Bytes {
        Bytes(128)
    }

    fn threads(&self) -> u32 {
        1
    }

    fn fill(&mut self, _thread: u32, out: &mut Vec<Instr>) -> Step {
        out.extend([load(0), load(1)]);
        Step::More
    }
}

#[test]
fn a_program_that_fits_its_caches_is_not_waited_for() {
    let small = [CacheSize { lines: 2, ways: 2 }];
    let found = Recording::of(&mut Endless, &small, 3, 1_000);
    assert_eq!(found, Err(FitsCaches { accesses: 2 }));
    let found = Recording::of(&mut Endless, &small, 2, 1_000);
    assert_eq!(found.map(|recording| recording.len()), Ok(2));
}

/// A cache of two lines in front: what misses is read, what was written is written when it leaves
/// or is flushed; fences and work ask for nothing.
#[test]
fn what_caches_let_through_is_recorded() {
    let small = [CacheSize { lines: 2, ways: 2 }];
    let all = [
        instr(MemOp::Store, 7, 0),
        instr(MemOp::Load, 7, 9),
        instr(MemOp::Flush, 7, 0),
        instr(MemOp::Flush, 7, 0),
        instr(MemOp::Fence, 7, 0),
        instr(MemOp::None, 7, 3),
        instr(MemOp::Store, 8, 0),
        instr(MemOp::Load, 9, 1),
        instr(MemOp::Load, 10, 0),
    ];
    let mut program = listed(&[&[(&all, Step::End)]]);
    let recording = all_of(&mut program, &small, u64::MAX);
    let access = |line: u64, is_write| Access {
        addr: line * 64,
        is_write,
    };
    let expected = [
        (access(7, false), 1),
        // The load that hits, its work, and the flush itself.
        (access(7, true), 11),
        // The second flush has nothing to write. It, the fence, the work and the store.
        (access(8, false), 6),
        (access(9, false), 2),
        // What leaves for the last line goes before it or after it, with none between.
        (access(8, true), 0),
        (access(10, false), 1),
    ];
    let kept = recording.cpus[0].iter();
    let mut kept: Vec<_> = kept.map(|it| (it.access(), it.instructions)).collect();
    if kept[4].0 == access(10, false) {
        // Both belong to the same instruction.
        assert_eq!((kept[4].1, kept[5].1), (1, 0));
        kept.swap(4, 5);
        (kept[4].1, kept[5].1) = (0, 1);
    }
    assert_eq!(kept, expected);
    assert_eq!(recording.writes(), 2);
    assert_eq!(recording.instructions, 1 + 11 + 6 + 2 + 1);
}

/// An access that is not kept takes no instructions from the next one.
#[test]
fn each_cpu_has_caches_and_instructions_of_its_own() {
    let mut recorder = Recorder::new(2, &[CacheSize { lines: 8, ways: 8 }], 3);
    for (cpu, line) in [(0, 5), (1, 5), (0, 5), (0, 6), (1, 7)] {
        recorder.executed(cpu, 10);
        assert_eq!(recorder.is_full(), (cpu, line) == (1, 7));
        recorder.access(cpu, line, false);
    }
    let recording = recorder.end(Bytes(512));
    assert_eq!(in_order(&recording), [(0, 5), (1, 5), (0, 6)]);
    let since: Vec<u64> = recording.cpus[0].iter().map(|it| it.instructions).collect();
    assert_eq!(since, [10, 20]);
    assert_eq!(recording.instructions, 50);
}
