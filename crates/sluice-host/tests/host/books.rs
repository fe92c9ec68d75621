//! Counters against the program: what a host counts follows from what it was given to do.

use sluice_host::{
    Adaptive, HostConfig, HostStats, Instr, Level, MemOp, Migration, Program, RunLength, Step, Tlb,
    simulate,
};
use sluice_model::Device;
use sluice_testkit::core_rig::*;
use sluice_units::{Bytes, Ps};

const LINE: u64 = 64;
const PAGE: u64 = 4096;

/// The sums of one level, of a host with one core.
fn looked_up(stats: &HostStats, level: usize) -> [u64; 2] {
    [stats.levels[level].hits, stats.levels[level].misses]
}

/// Loads of so many lines in a circle, each after the one before.
fn circle(lines: u64, rounds: u64) -> Loop {
    let body = (0..lines).map(|line| load(line * LINE, 0, 1)).collect();
    Loop::new(1, body, 0, rounds)
}

/// Each level holds a circle or misses all of it, and is asked for what the level above missed.
#[test]
fn each_level_looks_up_what_the_one_above_missed() {
    let cpu = host().cpu;
    let [l1, l2, l3] = [cpu.l1.lines, cpu.l2.lines, cpu.l3.lines].map(u64::from);
    const ROUNDS: u64 = 3;
    for (lines, held_by) in [(l1, 0), (2 * l1, 1), (l2, 1), (l2 + l2 / 4, 2), (2 * l3, 3)] {
        let stats = run(&host(), expander(), circle(lines, ROUNDS));
        assert_eq!(stats.loads, lines * ROUNDS);
        let mut asked = stats.loads;
        for level in 0..3 {
            let misses = if level < held_by { asked } else { lines };
            let missed = if level > held_by { lines } else { misses };
            let expected = [asked - missed, missed];
            assert_eq!(
                looked_up(&stats, level),
                expected,
                "{lines} lines, L{}",
                level + 1
            );
            asked = missed;
        }
        assert_eq!(stats.memory.requests.total(), asked, "{lines} lines");
    }
}

/// One miss for each page of a walk over lines, and for each line of a walk over pages that the
/// TLB cannot hold.
#[test]
fn a_translation_serves_a_page_of_lines() {
    let mut host = host();
    host.cpu.tlb = Tlb {
        entries: 16,
        ways: 4,
        walk: Ps::from_ns(20),
        shootdown: Ps::ZERO,
    };
    let lines = PAGE / LINE;
    let (pages, rounds) = (40, 3);
    let stats = run(&host, expander(), circle(pages * lines, rounds));
    assert_eq!(stats.tlb_misses, pages * rounds);
    // All pages of a round stay.
    let stats = run(&host, expander(), circle(16 * lines, rounds));
    assert_eq!(stats.tlb_misses, 16);
    let far = (0..pages).map(|page| load(page * PAGE, 0, 1)).collect();
    let stats = run(&host, expander(), Loop::new(1, far, 0, rounds));
    assert_eq!(stats.tlb_misses, pages * rounds);
    // A walk is in the time of a load, and nothing else changes.
    let mut free = host.clone();
    free.cpu.tlb.walk = Ps::ZERO;
    let time = |host: &HostConfig| run(host, expander(), circle(pages * lines, rounds)).time;
    assert_eq!(
        time(&host) - time(&free),
        Ps::from_ns(20) * (pages * rounds)
    );
}

/// Threads that all load the same lines in the same order.
struct Together {
    threads: u32,
    left: Vec<u64>,
    addr: fn(u64) -> u64,
}

impl Program for Together {
    fn footprint(&self) -> Bytes {
        Bytes(1 << 30)
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        let left = &mut self.left[thread as usize];
        if *left == 0 {
            return Step::End;
        }
        *left -= 1;
        out.push(load((self.addr)(*left), 0, 1));
        Step::More
    }
}

/// Of two cores that want a line at the same time one fetches it, and the other waits as long.
#[test]
fn a_line_on_its_way_to_the_l3_is_not_fetched_twice() {
    const N: u64 = 500;
    // Near each other, pages apart, and so far apart that the numbers of lines fill 24 bits.
    let ways: [fn(u64) -> u64; 3] = [|n| n * 64, |n| n * 4096 + 64, |n| n * ((1 << 21) + 64)];
    for addr in ways {
        let mut host = host();
        (host.cpu.cores, host.threads) = (2, 2);
        let both = |threads: u32| Together {
            threads,
            left: vec![N; threads as usize],
            addr,
        };
        let length = RunLength {
            warmup: 0,
            measured: u64::MAX,
            sample_every: Ps::ZERO,
        };
        let stats = simulate(&host, expander(), &mut both(2), length, &mut |_| true).0;
        let l3 = &stats.levels[2];
        assert_eq!((l3.misses, l3.hits, l3.merges), (N, N, N));
        assert_eq!(stats.memory.requests.total(), N);
        (host.cpu.cores, host.threads) = (1, 1);
        let alone = simulate(&host, expander(), &mut both(1), length, &mut |_| true).0;
        let slack = CYCLE * 4;
        assert!(stats.time.0.abs_diff(alone.time.0) <= slack.0 + N * CYCLE.0);
    }
}

/// Every count of a run, in one order.
fn counts(stats: &HostStats) -> Vec<u64> {
    let requests = &stats.memory.requests;
    let mut all = vec![
        stats.instructions,
        stats.loads,
        stats.stores,
        stats.time.0,
        stats.tlb_misses,
        requests.host_reads,
        requests.host_writes,
        requests.device_read_hits,
        requests.device_read_misses,
        requests.device_writes,
        stats.memory.access_time.total().0,
        stats.memory.latency.count(),
        stats.device.accesses(),
    ];
    for level in &stats.levels {
        all.extend([level.hits, level.misses, level.merges, level.write_backs]);
    }
    all
}

/// Counting begins after the warm-up: what came before and what came after add up to all of it.
#[test]
fn the_parts_of_a_run_add_up_to_the_whole() {
    for migration in [Migration::None, Migration::AllHost] {
        let mut host = host();
        host.migration = migration;
        host.cpu.l3 = Level {
            lines: 16_384,
            ..host.cpu.l3
        };
        // Stores whose lines leave the caches, and loads that miss.
        let body = vec![load(0, 3, 1), store(64, 2), load(128, 0, 0)];
        let count = |warmup, measured| {
            let length = RunLength {
                warmup,
                measured,
                sample_every: Ps::ZERO,
            };
            let mut program = Loop::new(1, body.clone(), 3 * 64, 100_000);
            counts(&simulate(&host, expander(), &mut program, length, &mut |_| true).0)
        };
        let half = 400_000;
        let (first, rest, all) = (count(0, half), count(half, u64::MAX), count(0, u64::MAX));
        let sums: Vec<u64> = first.iter().zip(&rest).map(|(a, b)| a + b).collect();
        assert_eq!(sums, all, "{migration:?}");
        let writes = if matches!(migration, Migration::None) {
            9
        } else {
            6
        };
        assert!(
            first[writes] > 1_000 && rest[writes] > 1_000,
            "{first:?} {rest:?}"
        );
    }
}

/// What leaves the L2 dirty is written to the L3, and what is flushed from either counts once.
#[test]
fn a_flush_is_a_write_back_of_the_level_that_had_the_line() {
    let flush = |addr| Instr {
        op: MemOp::Flush,
        ..load(addr, 0, 0)
    };
    let fence = Instr {
        op: MemOp::Fence,
        ..load(0, 0, 0)
    };
    let body = vec![store(0, 0), flush(0), fence, flush(0), fence];
    let stats = run(&host(), expander(), Loop::new(1, body, 0, 50));
    assert_eq!(stats.levels.map(|level| level.write_backs), [0, 50, 0]);
    // The first line has left the L2, and with it a fifth of the others.
    let held = u64::from(host().cpu.l2.lines);
    let all = held * 5 / 4;
    let stores = (0..all).map(|line| store(line * LINE, 0));
    let body = stores.chain([fence, flush(0), fence]).collect();
    let stats = run(&host(), expander(), Loop::new(1, body, 0, 1));
    assert_eq!(stats.levels[1].write_backs, all - held);
    assert_eq!(stats.levels[2].write_backs, 1);
}

/// A page that is asked for often moves to the host an interrupt later, not before and not never.
#[test]
fn a_promotion_is_there_when_its_time_has_come() {
    let small = |lines| Level {
        lines,
        ways: lines,
        latency: Ps::from_ns(1),
        mshrs: 8,
    };
    let mut host = host();
    (host.cpu.l1, host.cpu.l2) = (small(8), small(16));
    host.cpu.l3 = Level {
        lines: 0,
        ..small(16)
    };
    let settings = [
        ("device.capacity", "1GiB"),
        ("cache.capacity", "1MiB"),
        ("nand.read", "3us"),
        ("prefetch.policy", "none"),
    ];
    let device = || Device::new(&config(&settings), 1).expect("a device");
    const LOADS: u64 = 64 * 40;
    let one_page = || circle(64, LOADS / 64);
    // Nothing moves: a hit of the device each, after the first.
    let plain = run(&host, device(), one_page());
    assert_eq!(plain.memory.requests.device_read_hits, LOADS - 1);
    let each = (plain.time.0 - Ps::from_us(3).0) / LOADS;
    let (threshold, interrupt) = (10, Ps::from_us(50));
    host.migration = Migration::Adaptive(Adaptive {
        pages: 16,
        threshold,
        decay: Ps::ZERO,
        buffer: 4,
        interrupt,
        line: Ps(1),
        huge: 1,
        spare: 0,
        remote_pages: 0,
        remote_latency: Ps::ZERO,
        ways: 0,
    });
    let stats = run(&host, device(), one_page());
    let requests = &stats.memory.requests;
    let expected = u64::from(threshold) + interrupt.0 / each;
    let hits = requests.device_read_hits;
    assert!(hits.abs_diff(expected) <= 5, "{hits}, not {expected}");
    assert_eq!(requests.host_reads, LOADS - 1 - hits);
    assert_eq!(stats.memory.migration.promotions, 1);
}

/// More threads than the device can cache pages: each page has left before its thread is back,
/// again and again, until the thread waits for it.
#[test]
fn threads_that_take_each_others_pages_get_on() {
    let settings = [
        ("device.capacity", "1GiB"),
        ("cache.capacity", "16KiB"),
        ("cache.policy", "fifo"),
        ("device.hint_threshold", "2us"),
        ("nand.read", "30us"),
        ("prefetch.policy", "none"),
    ];
    let device = Device::new(&config(&settings), 1).expect("a device");
    let mut host = host();
    (host.threads, host.coordinated) = (32, true);
    let rounds = 4;
    let mut program = Loop::new(32, vec![load(0, 10, 1)], PAGE, rounds);
    let length = RunLength {
        warmup: 0,
        measured: u64::MAX,
        sample_every: Ps::ZERO,
    };
    // Far more looks than it takes, so that threads that never get on fail the test.
    let mut looks = 0;
    let mut watch = |_| {
        looks += 1;
        looks < 200
    };
    let stats = simulate(&host, device, &mut program, length, &mut watch).0;
    assert_eq!(stats.instructions, 32 * rounds * 11);
    assert!(stats.switches > 32 * rounds * 2, "{}", stats.switches);
}

/// Stores and loads of its own memory and of the device's, phase by phase.
struct InPhases {
    at: u64,
    given: bool,
}

const PHASES: u64 = 7;
const LINES: u64 = 3_000;

impl Program for InPhases {
    fn footprint(&self) -> Bytes {
        Bytes(64 << 20)
    }

    fn threads(&self) -> u32 {
        1
    }

    fn local(&self) -> Bytes {
        Bytes(1 << 20)
    }

    fn phases(&self) -> &'static [&'static str] {
        &["own", "far", "both"]
    }

    fn phase(&self) -> usize {
        (self.at % 3) as usize
    }

    fn fill(&mut self, _: u32, out: &mut Vec<Instr>) -> Step {
        if self.at == PHASES {
            return Step::End;
        }
        self.given = !self.given;
        if !self.given {
            self.at += 1;
            return Step::Barrier;
        }
        for line in 0..LINES {
            // The first MiB is the program's own.
            let place = match self.phase() {
                0 => line,
                1 => (1 << 14) + line + self.at * LINES,
                _ => line * 7,
            };
            out.push(store(place * LINE, 1));
            out.push(load(place * LINE + 64 * 512, 0, 0));
        }
        Step::More
    }
}

/// Phases, and stretches of time, are parts of the run and nothing besides.
#[test]
fn phases_and_stretches_add_up_to_the_run() {
    let mut host = host();
    let small = |lines, ways| Level {
        lines,
        ways,
        ..host.cpu.l2
    };
    (host.cpu.l1, host.cpu.l2) = (small(64, 8), small(128, 8));
    host.cpu.l3 = Level {
        lines: 256,
        ways: 8,
        ..host.cpu.l3
    };
    let length = RunLength {
        warmup: 0,
        measured: u64::MAX,
        sample_every: Ps::from_us(1),
    };
    let mut program = InPhases {
        at: 0,
        given: false,
    };
    let stats = simulate(&host, expander(), &mut program, length, &mut |_| true).0;
    let fields = |requests: &sluice_host::Requests| {
        [
            requests.host_reads,
            requests.host_writes,
            requests.device_read_hits,
            requests.device_read_misses,
            requests.device_writes,
        ]
    };
    let mut sums = [0; 5];
    for phase in &stats.phases {
        let sum = sums.iter_mut().zip(fields(&phase.requests));
        sum.for_each(|(sum, part)| *sum += part);
    }
    let all = fields(&stats.memory.requests);
    assert_eq!(sums, all);
    assert!(all.iter().filter(|n| **n > 1_000).count() >= 4, "{all:?}");
    let own = fields(&stats.phases[0].requests);
    assert!(own[1] > 1_000 && own[2] == 0, "{own:?}");
    let times: u64 = stats.phases.iter().map(|phase| phase.times).sum();
    assert_eq!(times, PHASES);
    let instructions: u64 = stats.phases.iter().map(|phase| phase.instructions).sum();
    assert_eq!(instructions, stats.instructions);
    // The last stretch is not over when the run is.
    let stretches = &stats.timeline;
    let of = |what: fn(&sluice_host::Sample) -> u64| stretches.iter().map(what).sum::<u64>();
    let (instructions, accesses) = (of(|it| it.instructions), of(|it| it.accesses));
    assert!(stretches.len() > 10, "{stretches:?} {}", stats.time);
    assert!(instructions * 10 > stats.instructions * 9, "{instructions}");
    assert!(accesses <= all.iter().sum() && accesses * 10 > all.iter().sum::<u64>() * 9);
}
