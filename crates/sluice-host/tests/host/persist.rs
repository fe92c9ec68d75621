//! Lines that a program sends to memory, its own memory, its phases, and a host without an L3.

use sluice_host::{Instr, MemOp, Migration, Program, RunLength, Step, simulate};
use sluice_testkit::core_rig::{CYCLE, L3, Loop, MEMORY, expander, host, load, run, store, work};
use sluice_units::{Bytes, Ps};

fn of(op: MemOp, addr: u64) -> Instr {
    Instr {
        addr,
        work: 0,
        after: 0,
        op,
    }
}

/// How much longer a program takes for 64 more rounds, each `stride` further.
fn more(body: &[Instr], stride: u64) -> Ps {
    let time = |rounds| {
        let program = Loop::new(1, body.to_vec(), stride, rounds);
        run(&host(), expander(), program).time
    };
    time(164) - time(100)
}

/// The line is fetched long before, by a core that runs ahead; then each round waits for its write.
#[test]
fn a_fence_waits_for_what_was_flushed() {
    let one = [store(0, 0), of(MemOp::Flush, 0), of(MemOp::Fence, 0)];
    let round = L3 + MEMORY + CYCLE;
    assert_eq!(
        more(&one, 4096).0.div_ceil(64).abs_diff(round.0) / CYCLE.0,
        0
    );
    // Two lines go at the same time.
    let two = [
        store(0, 0),
        store(64, 0),
        of(MemOp::Flush, 0),
        of(MemOp::Flush, 64),
        of(MemOp::Fence, 0),
    ];
    let both = more(&two, 4096).0.div_ceil(64);
    assert!(both < (round + CYCLE * 2).0, "{both}");
    // With a fence between them, one after the other.
    let apart = [
        &one[..],
        &[store(64, 0), of(MemOp::Flush, 64), of(MemOp::Fence, 0)],
    ]
    .concat();
    assert!(more(&apart, 4096) > (L3 + MEMORY) * 2 * 64);
}

/// A line is flushed once it is there, also if it has left the L1 before: it was written to memory
/// before memory had given it.
#[test]
fn a_line_that_leaves_the_l1_on_its_way_is_flushed_when_it_is_there() {
    let times = [1, 8].map(|ways| {
        let mut host = host();
        (host.cpu.l1.lines, host.cpu.l1.ways) = (ways, ways);
        let body = vec![
            store(0, 0),
            store(64, 0),
            of(MemOp::Flush, 0),
            of(MemOp::Fence, 0),
        ];
        run(&host, expander(), Loop::new(1, body, 0, 1)).time
    });
    // It comes, and goes.
    let least = (L3 + MEMORY) * 2;
    assert!(
        times.iter().all(|time| *time >= least),
        "{times:?}, {least}"
    );
}

/// Lines count as written when their stores retire. One that had left L1 and L2 by then was never
/// written to memory.
#[test]
fn a_line_that_leaves_the_l2_before_its_store_retires_is_written() {
    let mut host = host();
    (host.cpu.l1.lines, host.cpu.l1.ways) = (2, 2);
    (host.cpu.l2.lines, host.cpu.l2.ways) = (4, 4);
    let mut body = vec![load(640, 0, 0), store(0, 0)];
    body.extend((11..16).map(|line| load(line * 64, 0, 0)));
    body.extend([of(MemOp::Flush, 0), of(MemOp::Fence, 0)]);
    let stats = run(&host, expander(), Loop::new(1, body, 0, 50));
    assert_eq!(stats.memory.requests.device_writes, 50);
}

#[test]
fn nobody_waits_for_a_flush_without_a_fence() {
    let body = [load(0, 0, 0), store(0, 0), of(MemOp::Flush, 0), work(2000)];
    // 2,003 instructions at four a cycle.
    assert_eq!(more(&body, 0), CYCLE * 2003 * 16);
}

#[test]
fn a_clean_line_is_not_written_and_a_flushed_one_stays() {
    let body = vec![
        store(0, 0),
        of(MemOp::Flush, 0),
        of(MemOp::Fence, 0),
        of(MemOp::Flush, 0),
        of(MemOp::Fence, 0),
        load(0, 0, 0),
    ];
    let stats = run(&host(), expander(), Loop::new(1, body, 0, 50));
    let requests = &stats.memory.requests;
    assert_eq!((requests.device_read_hits, requests.device_writes), (1, 50));
    assert_eq!((stats.loads, stats.stores), (50, 50));
    assert_eq!(stats.instructions, 300);
}

/// One in the L3 alone is written too.
#[test]
fn a_line_that_has_left_the_l2_is_flushed_from_the_l3() {
    let lines = u64::from(host().cpu.l2.lines) * 5 / 4;
    let mut body: Vec<Instr> = (0..lines).map(|line| store(line * 64, 0)).collect();
    body.push(of(MemOp::Flush, 0));
    body.push(of(MemOp::Fence, 0));
    let stats = run(&host(), expander(), Loop::new(1, body, 0, 1));
    assert_eq!(stats.memory.requests.device_writes, 1);
}

#[test]
fn without_an_l3_what_misses_the_l2_goes_to_memory() {
    let mut host = host();
    host.cpu.l3.lines = 0;
    host.cpu.l3.latency = host.cpu.l2.latency;
    let chain = |rounds| {
        let body = (0..64).map(|line| load(line * 64, 0, 1));
        let stats = run(
            &host,
            expander(),
            Loop::new(1, body.collect(), 4096, rounds),
        );
        assert_eq!(stats.levels[2].hits, 0);
        stats
    };
    // Each waits for the one before.
    let (few, many) = (chain(10), chain(20));
    let step = host.cpu.l2.latency + MEMORY;
    assert_eq!(many.time - few.time, step * 640);
    // What is written goes there when it leaves the L2.
    let lines = u64::from(host.cpu.l2.lines) + 100;
    let body: Vec<Instr> = (0..lines).map(|line| store(line * 64, 0)).collect();
    let stats = run(&host, expander(), Loop::new(1, body, 0, 1));
    assert_eq!(stats.memory.requests.device_writes, 100);
}

/// Two phases in turn, the first of the program's own memory.
struct Phased {
    at: usize,
    given: bool,
}

impl Program for Phased {
    fn footprint(&self) -> Bytes {
        Bytes(1 << 20)
    }

    fn threads(&self) -> u32 {
        1
    }

    fn local(&self) -> Bytes {
        Bytes(1 << 16)
    }

    fn phases(&self) -> &'static [&'static str] {
        &["own", "far"]
    }

    fn phase(&self) -> usize {
        self.at % 2
    }

    fn fill(&mut self, _: u32, out: &mut Vec<Instr>) -> Step {
        if self.at == 6 {
            return Step::End;
        }
        self.given = !self.given;
        if !self.given {
            self.at += 1;
            return Step::Barrier;
        }
        let first = (self.at % 2 * 256 + self.at * 8) as u64 * 256;
        out.extend((0..8).map(|line| load(first + line * 64, 0, u16::from(line > 0))));
        Step::More
    }
}

#[test]
fn phases_are_counted_apart_and_own_memory_is_the_hosts() {
    let mut host = host();
    let length = RunLength {
        warmup: 1,
        measured: u64::MAX,
        sample_every: Ps::ZERO,
    };
    for in_host in [true, false] {
        host.local_in_host = in_host;
        host.migration = Migration::None;
        let mut program = Phased {
            at: 0,
            given: false,
        };
        let (stats, _) = simulate(&host, expander(), &mut program, length, &mut |_| true);
        let [own, far] = [&stats.phases[0], &stats.phases[1]];
        // The first was under way when counting began.
        assert_eq!([own.times, far.times], [2, 3]);
        assert_eq!([own.instructions, far.instructions], [16, 24]);
        let kept = if in_host { 16 } else { 0 };
        assert_eq!(own.requests.host_reads, kept);
        assert_eq!(own.requests.device_read_hits, 16 - kept);
        assert_eq!(far.requests.device_read_hits, 24);
        assert_eq!(far.cache_hits, 24);
        let each = (L3 + MEMORY) * 8 + CYCLE;
        assert!(far.shortest.0.abs_diff(each.0) < CYCLE.0 * 2, "{each}");
        assert_eq!(far.time, far.shortest * 3);
    }
}
