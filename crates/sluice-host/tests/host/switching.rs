//! Threads: switches on long delays, barriers, schedulers.

use sluice_host::{HostConfig, HostStats, Instr, Program, RunLength, Scheduling, Step, simulate};
use sluice_model::Device;
use sluice_testkit::core_rig::*;
use sluice_units::{Bytes, Ps};

/// A CXL-SSD whose every new page is a miss of 30 us.
fn flash(hint_threshold: &str) -> Device {
    let settings = [
        ("device.capacity", "1GiB"),
        ("cache.capacity", "256MiB"),
        ("cache.policy", "lru"),
        ("device.hint_threshold", hint_threshold),
        ("nand.read", "30us"),
        ("prefetch.policy", "none"),
    ];
    Device::new(&config(&settings), 1).expect("a device")
}

fn switching(threads: u32) -> HostConfig {
    let mut host = host();
    host.threads = threads;
    host.coordinated = true;
    host
}

/// A new page each round.
fn pages(threads: u32, rounds: u64) -> Loop {
    Loop::new(threads, vec![load(0, 10, 1)], 4096, rounds)
}

#[test]
fn threads_take_turns_while_pages_come() {
    let rounds = 200;
    let alone = run(&host(), flash("2us"), pages(1, rounds));
    assert_eq!((alone.switches, alone.memory.long_delays), (0, 0));
    let many = run(&switching(8), flash("2us"), pages(8, rounds));
    assert_eq!(many.instructions, 8 * alone.instructions);
    // Eight times the work: switching hides most of the waiting.
    assert!(
        many.time.0 < 2 * alone.time.0,
        "{} {}",
        many.time,
        alone.time
    );
    assert!(many.switches >= 8 * rounds, "{}", many.switches);
    let switched = Ps(2_000_000) * many.switches;
    assert_eq!(many.cores.switching, switched);
    let at_ends = 7;
    assert_eq!(many.switches, many.memory.long_delays + at_ends);
}

/// A window behind each load nothing is issued: it alone is executed again, and not the computation
/// before it, which had counted too.
#[test]
fn what_counts_as_given_up_is_executed_again() {
    let pages = Loop::new(8, vec![load(0, 1_000, 0)], 4096, 50);
    let stats = run(&switching(8), flash("2us"), pages);
    assert_eq!(stats.instructions, 8 * 50 * 1_001);
    assert!(stats.memory.long_delays >= 8 * 50);
    assert_eq!(stats.squashed, stats.memory.long_delays);
}

/// New pages for every thread; then the first reads other lines of its own, which the device has by
/// now.
struct ThenHits {
    first: Loop,
    hits: u64,
}

impl Program for ThenHits {
    fn footprint(&self) -> Bytes {
        self.first.footprint()
    }

    fn threads(&self) -> u32 {
        self.first.threads
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        let step = self.first.fill(thread, out);
        if step != Step::End || thread > 0 || self.hits == 0 {
            return step;
        }
        self.hits -= 1;
        let (page, line) = (
            self.hits % self.first.rounds,
            1 + self.hits / self.first.rounds,
        );
        out.push(load(page * 4096 + line * 64, 10, 0));
        Step::More
    }
}

/// Loads of both cores wait for the MSHRs of the L3 when switches give them up. Their cores' own
/// are free again: the last thread has as many misses under way as one that was always alone.
#[test]
fn loads_that_are_given_up_at_the_l3_give_their_mshrs_back() {
    let (new, hits) = (50, 1_000);
    let each = |cores, hits| {
        let mut host = switching(2 * cores);
        host.cpu.cores = cores;
        (host.cpu.l1.mshrs, host.cpu.l3.mshrs) = (8, 4);
        let first = Loop::new(host.threads, vec![load(0, 10, 0)], 4096, new);
        run(&host, flash("2us"), ThenHits { first, hits })
    };
    let for_hits = |cores| {
        let (once, twice) = (each(cores, hits), each(cores, 2 * hits));
        assert!(once.memory.long_delays > new && once.levels[2].mshr_wait > Ps::ZERO);
        (twice.time - once.time).0 as f64
    };
    let (alone, beside) = (for_hits(1), for_hits(2));
    assert!((beside / alone - 1.0).abs() < 0.05, "{beside}, {alone}");
}

#[test]
fn a_threshold_above_the_wait_switches_never() {
    let stats = run(&switching(8), flash("100us"), pages(8, 50));
    assert_eq!(
        (stats.memory.long_delays, stats.switches),
        (0, 7),
        "at the ends of threads only"
    );
}

#[test]
fn one_thread_switches_to_itself_until_its_page_is_there() {
    let stats = run(&switching(1), flash("2us"), pages(1, 100));
    let waits = run(&host(), flash("2us"), pages(1, 100));
    assert!(stats.switches > 100 && stats.time.0 >= waits.time.0);
    assert_eq!(stats.instructions, waits.instructions);
}

#[test]
fn every_scheduler_lets_everybody_finish() {
    for scheduling in [Scheduling::RoundRobin, Scheduling::Random, Scheduling::Fair] {
        let mut host = switching(6);
        host.scheduling = scheduling;
        host.cpu.cores = 2;
        let stats = run(&host, flash("2us"), pages(6, 100));
        assert_eq!(stats.instructions, 6 * 100 * 11, "{scheduling:?}");
        let whole = stats.cores;
        let sum = whole.compute + whole.memory + whole.switching + whole.idle;
        assert_eq!(sum, stats.time * 2, "{scheduling:?}");
    }
}

#[test]
fn a_barrier_waits_for_the_last() {
    let mut host = host();
    (host.threads, host.cpu.cores) = (4, 4);
    let mut program = Loop::new(4, vec![work(1000)], 0, 10);
    program.barrier = 1;
    let stats = run(&host, expander(), program);
    let alone = Ps(10 * 1000 * CYCLE.0 / WIDTH);
    assert_eq!((stats.time, stats.switches), (alone, 0));
    assert_eq!(stats.cores.idle, Ps::ZERO);
}

#[test]
fn a_slice_ends_a_turn() {
    let mut host = host();
    (host.threads, host.slice) = (2, Ps::from_us(100));
    let program = Loop::new(2, vec![work(1000)], 0, 10_000);
    let stats = run(&host, expander(), program);
    let busy = Ps(2 * 10_000 * 1000 * CYCLE.0 / WIDTH);
    let turns = busy.0 / host.slice.0;
    assert!(
        stats.switches.abs_diff(turns) <= 1,
        "{} of {turns}",
        stats.switches
    );
    let spent = busy + Ps::from_us(2) * stats.switches;
    assert_eq!(stats.time, spent);
}

fn hash_of(seed: u64, policy: Scheduling) -> (HostStats, u64) {
    let mut host = switching(6);
    (host.cpu.cores, host.seed, host.scheduling) = (2, seed, policy);
    let stats = run(&host, flash("2us"), pages(6, 100));
    let hash = stats.hash;
    (stats, hash)
}

#[test]
fn equal_runs_are_equal() {
    let (first, second) = (
        hash_of(1, Scheduling::Random),
        hash_of(1, Scheduling::Random),
    );
    assert_eq!(first, second);
    assert_ne!(first.1, hash_of(2, Scheduling::Random).1);
}

/// Runs of one program to its end do the same. What is counted of them is not.
#[test]
fn a_hash_has_where_counting_began() {
    let hashes = [0, 0, 2_000, 4_000].map(|warmup| {
        let mut program = pages(6, 100);
        let length = RunLength {
            warmup,
            measured: u64::MAX,
            sample_every: Ps::ZERO,
        };
        let (stats, _) = simulate(
            &switching(6),
            flash("2us"),
            &mut program,
            length,
            &mut |_| true,
        );
        stats.hash
    });
    assert_eq!(hashes[0], hashes[1]);
    assert_ne!(hashes[0], hashes[2]);
    assert_ne!(hashes[2], hashes[3]);
}

#[test]
fn counting_begins_after_the_warm_up() {
    let mut program = Loop::new(1, vec![work(1000)], 0, 10_000);
    let length = RunLength {
        warmup: 1_000_000,
        measured: 2_000_000,
        sample_every: Ps::from_us(10),
    };
    let (stats, _) = simulate(&host(), expander(), &mut program, length, &mut |_| true);
    // A core runs up to a microsecond ahead: 16,000 instructions.
    assert!(
        stats.instructions.abs_diff(2_000_000) <= 17_000,
        "{}",
        stats.instructions
    );
    assert!(
        stats.time.0.abs_diff(125_000_000) <= 2_000_000,
        "{}",
        stats.time
    );
    assert_eq!(stats.timeline.len() as u64, stats.time.0 / 10_000_000);
    let counted: u64 = stats.timeline.iter().map(|s| s.instructions).sum();
    assert!(counted <= stats.instructions && counted > stats.instructions * 9 / 10);
}

#[test]
fn threads_get_on_with_less_cache_than_threads() {
    let settings = [
        ("device.capacity", "1GiB"),
        ("cache.capacity", "16KiB"),
        ("cache.policy", "lru"),
        ("nand.read", "30us"),
        ("prefetch.policy", "none"),
    ];
    let device = Device::new(&config(&settings), 1).expect("a device");
    let stats = run(&switching(24), device, pages(24, 20));
    assert_eq!(stats.instructions, 24 * 20 * 11);
}

/// Threads that compute for a microsecond, sleep for `sleeps` microseconds, and so on.
struct Sleepers {
    sleeps: Vec<u64>,
    rounds: u64,
    /// For each thread: rounds, and naps of a microsecond left before the next.
    at: Vec<(u64, u64)>,
}

impl Program for Sleepers {
    fn footprint(&self) -> Bytes {
        Bytes(1 << 20)
    }

    fn threads(&self) -> u32 {
        self.sleeps.len() as u32
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        let (round, naps) = &mut self.at[thread as usize];
        if *naps > 0 {
            *naps -= 1;
            return Step::Sleep(Ps::from_us(1));
        }
        if *round == self.rounds {
            return Step::End;
        }
        *round += 1;
        *naps = self.sleeps[thread as usize] - 1;
        // Four instructions in a cycle of 250 ps.
        out.push(work(16_000));
        Step::Sleep(Ps::from_us(1))
    }
}

fn sleep(sleeps: &[u64], rounds: u64) -> HostStats {
    let mut program = Sleepers {
        sleeps: sleeps.to_vec(),
        rounds,
        at: vec![(0, 0); sleeps.len()],
    };
    let length = RunLength {
        warmup: 0,
        measured: u64::MAX,
        sample_every: Ps::ZERO,
    };
    let host = switching(sleeps.len() as u32);
    simulate(&host, flash("2us"), &mut program, length, &mut |_| true).0
}

#[test]
fn a_sleeper_leaves_its_core_for_as_long_as_it_says() {
    let alone = sleep(&[5], 10);
    assert_eq!((alone.instructions, alone.switches), (160_000, 0));
    assert_eq!(alone.time, Ps::from_us(10 * (1 + 5)));
    assert_eq!(alone.cores.idle, Ps::from_us(10 * 5));
    // One computes while the other sleeps; each change costs a switch of 2 us.
    let both = sleep(&[7, 7], 10);
    assert_eq!(both.instructions, 320_000);
    assert_eq!(
        both.switches,
        2 * 10 - 1,
        "the end of a sleeper takes no core"
    );
    // The first one's last turn ends after 9 * (2 + 1 + 7) + 1 us, the other's 2 + 1 later.
    assert_eq!(both.time, Ps::from_us(9 * (2 + 1 + 7) + 1 + 2 + 1 + 7));
}

/// A thread that computes without end, and one that sleeps for 30 ms before.
struct Late(bool);

impl Program for Late {
    fn footprint(&self) -> Bytes {
        Bytes(1 << 20)
    }

    fn threads(&self) -> u32 {
        2
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        if thread == 1 && !std::mem::replace(&mut self.0, true) {
            return Step::Sleep(Ps::from_ms(30));
        }
        // A microsecond of the late one, a microsecond and a load of the other.
        out.push(work(16_000));
        if thread == 0 {
            out.push(load(0, 0, 0));
        }
        Step::More
    }
}

/// The other one had the core while it slept, which nobody had counted yet.
#[test]
fn a_sleeper_does_not_get_the_time_back_that_a_running_thread_had() {
    let mut host = host();
    (host.threads, host.scheduling) = (2, Scheduling::Fair);
    let loads_until = |ms: u64| {
        let length = RunLength {
            warmup: 0,
            measured: ms * 16_000_000,
            sample_every: Ps::ZERO,
        };
        simulate(&host, expander(), &mut Late(false), length, &mut |_| true)
            .0
            .loads
    };
    // Of the 24 ms after the sleep each has about half, in turns of 3 ms.
    let loads = loads_until(54) - loads_until(30);
    assert!((8_900..=15_100).contains(&loads), "{loads}");
}

/// One of two threads computes for 30 ms before both pass a barrier; then each counts its turns.
struct AfterBarrier {
    alone: u32,
    begun: [bool; 2],
}

impl Program for AfterBarrier {
    fn footprint(&self) -> Bytes {
        Bytes(1 << 20)
    }

    fn threads(&self) -> u32 {
        2
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        if std::mem::replace(&mut self.begun[thread as usize], true) {
            out.push(work(16_000));
            if thread == self.alone {
                out.push(load(0, 0, 0));
            }
            return Step::More;
        }
        if thread == self.alone {
            out.extend(vec![work(16_000); 30_000]);
        }
        Step::Barrier
    }
}

/// While one computed alone the other waited. It got the 30 ms back if the one was the second.
#[test]
fn who_waited_at_a_barrier_does_not_get_the_time_back() {
    let mut host = host();
    (host.threads, host.scheduling) = (2, Scheduling::Fair);
    for alone in [0, 1] {
        let length = RunLength {
            warmup: 0,
            measured: (30 + 24) * 16_000_000,
            sample_every: Ps::ZERO,
        };
        let mut program = AfterBarrier {
            alone,
            begun: [false; 2],
        };
        let loads = simulate(&host, expander(), &mut program, length, &mut |_| true)
            .0
            .loads;
        // Of the 24 ms each has about half, in turns of 3 ms.
        assert!((8_900..=15_100).contains(&loads), "{alone}: {loads}");
    }
}

/// Threads that sleep for a time of their own, meet at a barrier, and compute.
struct Meeting {
    sleeps: Vec<u64>,
    steps: Vec<u32>,
    /// Those that have ended, in that order.
    done: Vec<u32>,
}

impl Program for Meeting {
    fn footprint(&self) -> Bytes {
        Bytes(1 << 20)
    }

    fn threads(&self) -> u32 {
        self.sleeps.len() as u32
    }

    fn drained(&mut self, thread: u32, _now: Ps) {
        if self.steps[thread as usize] == 3 {
            self.done.push(thread);
        }
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        let step = &mut self.steps[thread as usize];
        *step += 1;
        out.push(work(1_000));
        match *step {
            1 => Step::Sleep(Ps::from_us(self.sleeps[thread as usize])),
            2 => Step::Barrier,
            _ => Step::End,
        }
    }
}

/// They were woken by their numbers. The last to come never leaves its core.
#[test]
fn who_came_first_to_a_barrier_leaves_it_first() {
    for (sleeps, order) in [
        ([300, 100, 400, 200], [2, 1, 3, 0]),
        ([400, 300, 200, 100], [0, 3, 2, 1]),
    ] {
        let mut host = host();
        (host.threads, host.scheduling) = (4, Scheduling::RoundRobin);
        let mut program = Meeting {
            sleeps: sleeps.to_vec(),
            steps: vec![0; 4],
            done: Vec::new(),
        };
        let length = RunLength {
            warmup: 0,
            measured: u64::MAX,
            sample_every: Ps::ZERO,
        };
        simulate(&host, expander(), &mut program, length, &mut |_| true);
        assert_eq!(program.done, order, "{sleeps:?}");
    }
}
