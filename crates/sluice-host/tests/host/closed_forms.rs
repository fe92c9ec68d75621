//! What bounds a core: computation, one miss at a time, MSHRs, the window, the store buffer, the
//! link.

use sluice_host::{HostStats, Instr, Level, Program, RunLength, Step, simulate};
use sluice_testkit::core_rig::*;
use sluice_units::{Bytes, Ps};

const N: u64 = 10_000;

/// The run's time per round, within what filling and draining the pipeline can cost.
fn per_round(stats: &HostStats, expected: Ps, slack: Ps) {
    let (time, expected) = (stats.time.0, expected.0 * N);
    let difference = time.abs_diff(expected);
    assert!(
        difference <= slack.0,
        "{} ps a round instead of {}, {} ps off in all",
        time / N,
        expected / N,
        difference
    );
}

#[test]
fn computation_runs_at_full_width() {
    let stats = run(&host(), expander(), Loop::new(1, vec![work(1000)], 0, N));
    assert_eq!(stats.instructions, N * 1000);
    per_round(&stats, Ps(1000 * CYCLE.0 / WIDTH), Ps::ZERO);
    assert_eq!(stats.cores.compute, stats.time);
}

#[test]
fn a_chain_of_misses_takes_one_after_the_other() {
    let stats = run(
        &host(),
        expander(),
        Loop::new(1, vec![load(0, 0, 1)], 4096, N),
    );
    assert_eq!(stats.memory.requests.total(), N);
    per_round(&stats, L3 + MEMORY, Ps(CYCLE.0));
    assert_eq!(stats.cores.compute, Ps::ZERO);
}

/// It counted as a hit once if so many lines so far from it were asked for meanwhile: by 256 KiB,
/// or as many as leave it no place in the L1.
#[test]
fn a_line_on_its_way_is_no_hit() {
    for (distance, others) in [(256 << 10, 1), (4096, 8)] {
        let others = (1..=others).map(|number| load(number * distance, 0, 0));
        let mut body: Vec<Instr> = [load(0, 0, 0)].into_iter().chain(others).collect();
        body.extend([load(0, 0, 0), load(1 << 20, 0, 1)]);
        let stats = run(&host(), expander(), Loop::new(1, body, 0, 1));
        let both = 2 * (L3 + MEMORY).0;
        assert!(stats.time.0.abs_diff(both) < 4 * CYCLE.0, "{}", stats.time);
    }
}

#[test]
fn a_chain_of_hits_takes_the_l1_each() {
    let stats = run(&host(), expander(), Loop::new(1, vec![load(0, 0, 1)], 0, N));
    per_round(&stats, host().cpu.l1.latency, L3 + MEMORY + CYCLE);
}

#[test]
fn misses_overlap_as_far_as_mshrs_go() {
    for mshrs in [1, 3, 8, 16] {
        let mut host = host();
        host.cpu.l1.mshrs = mshrs;
        let stats = run(
            &host,
            expander(),
            Loop::new(1, vec![load(0, 0, 0)], 4096, N),
        );
        // An MSHR is taken from the L2's miss until the data is there.
        let held = L3 + MEMORY;
        let held = Ps(held.0 - host.cpu.l2.latency.0);
        per_round(&stats, Ps(held.0 / u64::from(mshrs)), held + L3);
    }
}

#[test]
fn misses_of_all_cores_overlap_as_far_as_the_mshrs_of_the_l3_go() {
    let (cores, own) = (4, 8);
    let with = |shared| {
        let mut host = host();
        (host.cpu.cores, host.threads) = (cores, cores);
        (host.cpu.l1.mshrs, host.cpu.l3.mshrs) = (own, shared);
        let body = vec![load(0, 0, 0)];
        run(&host, expander(), Loop::new(cores, body, 4096, N))
    };
    let held = L3 + MEMORY - host().cpu.l2.latency;
    for shared in [3, 8, 16, 32, 64] {
        let at_once = u64::from(shared.min(cores * own));
        let round = Ps(held.0 * u64::from(cores) / at_once);
        let stats = with(shared);
        per_round(&stats, round, (held + L3) * u64::from(cores));
        // What the cores' own MSHRs were taken for longer than a miss takes, misses have waited;
        // less where a core has ended early.
        let taken = stats.time.0 * u64::from(cores * own);
        let waited = taken.saturating_sub(held.0 * u64::from(cores) * N);
        let found = stats.levels[2].mshr_wait.0;
        let least = if shared < own { waited } else { 0 };
        let slack = taken / 50;
        assert!(
            (least.saturating_sub(slack)..=waited + slack).contains(&found),
            "{shared}: {found}, {waited}"
        );
        assert_eq!(shared < cores * own, found > 0);
    }
    // The thread that is always the last to get one has them all to itself in the end.
    let (all, one_less) = (with(32).time, with(31).time);
    let most = held.0 * N / 7;
    assert!(all < one_less && one_less.0 < most, "{all}, {one_less}");
}

#[test]
fn misses_overlap_as_far_as_the_window_goes() {
    for (window, work) in [(256, 63), (256, 127), (64, 15), (128, 127), (1024, 3)] {
        let mut host = host();
        host.cpu.window = window;
        let body = vec![load(0, work, 0)];
        let stats = run(&host, expander(), Loop::new(1, body, 4096, N));
        let at_once = u64::from(window) / (u64::from(work) + 1);
        // A load is issued a window behind the one that has just retired.
        let latency = L3 + MEMORY;
        per_round(&stats, Ps(latency.0 / at_once), Ps(latency.0 * 2));
    }
}

/// Behind a load that waits there is room for as many as the scheduler has places for.
#[test]
fn misses_overlap_as_far_as_the_scheduler_has_room() {
    for (scheduler, work) in [(24, 5), (64, 15), (97, 0), (512, 63)] {
        let mut host = host();
        host.cpu.scheduler = scheduler;
        let body = vec![load(0, work, 0)];
        let stats = run(&host, expander(), Loop::new(1, body, 4096, N));
        let bound = u64::from(scheduler.min(host.cpu.window));
        let at_once = bound / (u64::from(work) + 1);
        let latency = L3 + MEMORY;
        per_round(&stats, Ps(latency.0 / at_once), Ps(latency.0 * 2));
    }
}

#[test]
fn more_computation_than_the_window_hides_no_miss() {
    let body = vec![load(0, 999, 0)];
    let stats = run(&host(), expander(), Loop::new(1, body, 4096, N));
    // The window fills behind each load while it waits; the rest comes after it.
    let behind = 256;
    let rest = Ps((1000 - behind) * CYCLE.0 / WIDTH);
    per_round(&stats, L3 + MEMORY + rest, Ps::from_us(1));
}

#[test]
fn the_link_bounds_what_mshrs_do_not() {
    let mut host = host();
    host.link.line = Ps::from_ns(4);
    let stats = run(
        &host,
        expander(),
        Loop::new(1, vec![load(0, 0, 0)], 4096, N),
    );
    per_round(&stats, Ps::from_ns(4), L3 + MEMORY + Ps::from_ns(4));
}

#[test]
fn stores_wait_for_room_in_the_store_buffer_only() {
    let run_with = |buffer| {
        let mut host = host();
        host.cpu.store_buffer = buffer;
        run(&host, expander(), Loop::new(1, vec![store(0, 0)], 4096, N))
    };
    // A store is issued a window behind the one that retires, which waits for the one that is a
    // store buffer before it.
    for buffer in [0, 1, 16, 64] {
        let at_once = u64::from(host().cpu.window + buffer);
        let latency = L3 + MEMORY;
        per_round(
            &run_with(buffer),
            Ps(latency.0 / at_once),
            Ps(latency.0 * 2),
        );
    }
    let hits = run(&host(), expander(), Loop::new(1, vec![store(0, 0)], 0, N));
    let first = L3 + MEMORY + host().cpu.l1.latency;
    per_round(&hits, Ps(CYCLE.0 / WIDTH), first);
}

/// A ring of misses goes by while a store is in the buffer: it waits for its own, not for the one
/// that has taken its place.
#[test]
fn a_store_knows_its_miss_however_long_it_stays_in_the_buffer() {
    let loads = 3_900;
    let mut body: Vec<_> = (0..loads).map(|page| load(page * 4096, 0, 0)).collect();
    body.push(store(loads * 4096, 0));
    let (rounds, mut host) = (20, host());
    host.cpu.store_buffer = 1;
    let program = Loop::new(1, body, (loads + 1) * 4096, rounds);
    let stats = run(&host, expander(), program);
    let (latency, at_once) = (L3 + MEMORY, u64::from(host.cpu.window));
    let expected = latency.0 * (loads + 1) * rounds / at_once;
    let off = stats.time.0.abs_diff(expected);
    assert!(
        off <= latency.0 * 2,
        "{} instead of {expected}",
        stats.time.0
    );
}

#[test]
fn lines_written_are_written_back_once() {
    let stats = run(&host(), expander(), Loop::new(1, vec![store(0, 0)], 64, N));
    let caches = u64::from(host().cpu.l3.lines + host().cpu.l2.lines);
    assert!(N < caches && stats.memory.requests.device_writes == 0);
    let rounds = 4 * caches;
    let stats = run(
        &host(),
        expander(),
        Loop::new(1, vec![store(0, 0)], 64, rounds),
    );
    let left = stats.memory.requests.device_writes;
    assert!(
        left <= rounds - u64::from(host().cpu.l3.lines),
        "{left} of {rounds}"
    );
    assert!(left >= rounds - caches, "{left} of {rounds}");
}

/// A line that is used again and again beside a stream of others.
struct Beside(u64);

impl Program for Beside {
    fn footprint(&self) -> Bytes {
        Bytes(1 << 30)
    }

    fn threads(&self) -> u32 {
        1
    }

    fn fill(&mut self, _: u32, out: &mut Vec<Instr>) -> Step {
        if self.0 == 0 {
            return Step::End;
        }
        out.extend([load(0, 0, 1), load(self.0 * 64, 0, 1)]);
        self.0 -= 1;
        Step::More
    }
}

#[test]
fn an_l2_that_is_sure_of_nothing_leaves_the_l1_its_lines() {
    for (rules, again) in [(true, N / 512), (false, 0)] {
        let mut host = host();
        host.cpu.l2_rules = rules;
        // One set: a line leaves it when as many others as it has ways have come.
        host.cpu.l2 = Level {
            lines: 512,
            ways: 512,
            ..host.cpu.l2
        };
        let length = RunLength {
            warmup: 0,
            measured: u64::MAX,
            sample_every: Ps::ZERO,
        };
        let (stats, ..) = simulate(&host, expander(), &mut Beside(N), length, &mut |_| true);
        let misses = stats.levels[0].misses - (N + 1);
        assert!(misses.abs_diff(again) <= 1, "{misses} for {again}");
    }
}

/// Lines that the L1 keeps longer than the L2 are not lost.
#[test]
fn what_an_l2_has_no_longer_is_written_back_past_it() {
    let mut host = host();
    host.cpu.l2_rules = false;
    host.cpu.l2 = Level {
        lines: 128,
        ..host.cpu.l2
    };
    let caches = u64::from(host.cpu.l1.lines + host.cpu.l3.lines);
    let rounds = 4 * caches;
    let lines = Loop::new(1, vec![store(0, 0)], 64, rounds);
    let left = run(&host, expander(), lines).memory.requests.device_writes;
    let all = rounds - u64::from(host.cpu.l3.lines);
    assert!((rounds - caches..=all).contains(&left), "{left}");
}

/// A run is asked now and then whether it goes on: a short one never, a long one once in 16,384
/// events, of which each miss has a few.
#[test]
fn a_run_is_watched_now_and_then_and_ends_when_it_is_told_to() {
    let watched = |rounds: u64, looks_max: usize| {
        let mut seen = Vec::new();
        let mut program = Loop::new(1, vec![load(0, 0, 1)], 4096, rounds);
        let length = sluice_host::RunLength {
            warmup: 0,
            measured: u64::MAX,
            sample_every: Ps::ZERO,
        };
        let mut watch = |retired| {
            seen.push(retired);
            seen.len() < looks_max
        };
        let stats = sluice_host::simulate(&host(), expander(), &mut program, length, &mut watch).0;
        (seen, stats.instructions)
    };
    assert_eq!(watched(1_000, usize::MAX), (vec![], 1_000));
    const ROUNDS: u64 = 60_000;
    let (seen, all) = watched(ROUNDS, usize::MAX);
    assert_eq!(all, ROUNDS);
    let looks = seen.len() as u64;
    assert!(
        (ROUNDS / 16_384..=6 * ROUNDS / 16_384).contains(&looks),
        "{looks}"
    );
    assert!(seen.is_sorted_by(|a, b| a < b) && seen[0] > 0);
    let (first, stopped) = watched(ROUNDS, 2);
    assert_eq!((&first[..], stopped), (&seen[..2], seen[1]));
}
