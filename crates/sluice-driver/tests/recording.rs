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
        (1, 10),
        (2, 20),
        (0, 1),
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
    // The second was at the barrier after 5, and had the time of the first behind it.
    let at = recording.cpus.iter().flatten().map(|one| one.at);
    assert_eq!(at.collect::<Vec<_>>(), [5, 10, 15, 20, 5, 20, 25, 5]);
}

#[test]
fn no_more_is_kept_than_was_wanted() {
    for (most, fills) in [(0, 0), (1, 3), (3, 3), (4, 3), (5, 4), (6, 6), (8, 7)] {
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
        (access(7, true), 12),
        // The second flush has nothing to write. It, the fence, the work and the store.
        (access(8, false), 18),
        (access(9, false), 20),
        // What leaves for the last line goes before it or after it, with none between.
        (access(8, true), 21),
        (access(10, false), 21),
    ];
    let kept = recording.cpus[0].iter();
    let mut kept: Vec<_> = kept.map(|it| (it.access(), it.at)).collect();
    if kept[4].0 == access(10, false) {
        // Both belong to the same instruction.
        kept.swap(4, 5);
    }
    assert_eq!(kept, expected);
    assert_eq!(recording.writes(), 2);
    assert_eq!(recording.instructions, 1 + 11 + 6 + 2 + 1);
}

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
    let at: Vec<u64> = recording.cpus[0].iter().map(|it| it.at).collect();
    assert_eq!(at, [10, 30]);
    assert_eq!(recording.instructions, 50);
}

/// Four threads with stretches of their own lengths: what is kept is what is done first.
#[test]
fn threads_run_side_by_side() {
    let mut all = Vec::new();
    let mut threads = Vec::new();
    for cpu in 0..4u16 {
        let mut at = 0;
        let mut stretches = VecDeque::new();
        for stretch in 0..20 {
            let line = |n: u64| u64::from(cpu) << 16 | stretch << 8 | n;
            let stretch: Vec<Instr> = (0..1 + u64::from(cpu) * 30)
                .map(|n| instr(MemOp::Load, line(n), (line(n) * 7 % 19) as u16))
                .collect();
            for one in &stretch {
                at += one.count();
                all.push((at, cpu, one.addr / 64));
            }
            stretches.push_back((stretch, Step::More));
        }
        stretches.back_mut().expect("twenty").1 = Step::End;
        threads.push(stretches);
    }
    all.sort_unstable();
    let all: Vec<_> = all.into_iter().map(|(_, cpu, line)| (cpu, line)).collect();
    for most in [10, 700, all.len()] {
        let threads = threads.clone();
        let recording = all_of(&mut Listed { threads, fills: 0 }, &[], most as u64);
        assert!(in_order(&recording) == all[..most], "{most}");
    }
}

/// The last line of the memory that there is room for comes back as itself, also from a cache.
#[test]
fn there_is_room_for_each_line() {
    let small = [CacheSize { lines: 2, ways: 2 }];
    for caches in [&[][..], &small] {
        let room = Recording::room(caches).0;
        let mut recorder = Recorder::new(1, caches, u64::MAX);
        let lines = [room / 64 - 1, 1, 2, room / 64 - 3];
        for line in lines {
            let line = u32::try_from(line).expect("a line has 32 bits");
            recorder.access(0, line, true);
        }
        let recording = recorder.end(Bytes(room));
        let kept: Vec<_> = recording.cpus[0].iter().map(|it| it.access()).collect();
        let writes = kept.iter().filter(|access| access.is_write);
        let writes: Vec<u64> = writes.map(|access| access.addr / 64).collect();
        assert_eq!(writes, lines[..if caches.is_empty() { 4 } else { 2 }]);
    }
}
