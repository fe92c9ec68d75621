//! Threads that compute beside threads that load from pages at random.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use sluice_units::{PAGE_BYTES, Rng, splitmix};

use crate::meeting::{Meeting, Over};
use crate::memory::Buffer;
use sluice_streams::order::thread_rng;

const STREAM: &str = "mixed.order";
const PAGE: usize = PAGE_BYTES as usize;
/// Steps of a computation between two looks whether time is up: some microseconds.
const STEPS: u64 = 4096;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Threads that compute, and touch no memory of the buffer.
    pub computing: u64,
    /// Threads that load.
    pub loading: u64,
    pub time: Duration,
    pub seed: u64,
}

/// What was done and found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Pages stored to at the start, and how long that took, ns.
    pub filled: (u64, u64),
    /// Pages loaded from, and how long all threads ran, ns.
    pub read: (u64, u64),
    /// For each computing thread: its CPU time as a share of the time it ran.
    pub cpu_share: Vec<f64>,
    /// The CPU time of all computing threads, as a share of the process's.
    pub cpu_of_process: f64,
    /// Steps of the computations.
    pub steps: u64,
    /// Loads that gave back something else than was stored.
    pub mismatches: u64,
}

/// Stores to every page, and lets the threads run.
#[must_use]
pub fn run(load: &Load, memory: &Buffer) -> Found {
    let pages = (memory.bytes() / PAGE) as u64;
    let started = Instant::now();
    for page in 0..pages {
        memory
            .word(page as usize * PAGE)
            .store(value(load.seed, page), Relaxed);
    }
    let filled = (pages, started.elapsed().as_nanos() as u64);
    let (is_over, start) = (
        AtomicBool::new(false),
        Meeting::new((load.computing + load.loading) as usize + 1),
    );
    let (is_over, start) = (&is_over, &start);
    let mut found = Found {
        filled,
        ..Found::default()
    };
    let mut wall_ns = 0;
    std::thread::scope(|scope| {
        let (_joined, over_at_end) = (start.join(), Over(is_over));
        let compute = |thread| scope.spawn(move || compute(load.seed ^ thread, start, is_over));
        let computing: Vec<_> = (0..load.computing).map(compute).collect();
        let read = |thread| {
            let rng = thread_rng(load.seed, thread, STREAM);
            scope.spawn(move || read(load.seed, rng, memory, start, is_over))
        };
        let loading: Vec<_> = (0..load.loading).map(read).collect();
        start.wait();
        let started = Instant::now();
        let before = cpu_ns(libc::CLOCK_PROCESS_CPUTIME_ID);
        std::thread::sleep(load.time);
        drop(over_at_end);
        let mut computed_ns = 0;
        for thread in computing {
            let (cpu_ns, ran_ns, steps) = thread.join().expect("a thread panicked");
            found.cpu_share.push(cpu_ns as f64 / ran_ns as f64);
            computed_ns += cpu_ns;
            found.steps += steps;
        }
        for thread in loading {
            let (loads, wrong) = thread.join().expect("a thread panicked");
            found.read.0 += loads;
            found.mismatches += wrong;
        }
        wall_ns = started.elapsed().as_nanos() as u64;
        let all_ns = cpu_ns(libc::CLOCK_PROCESS_CPUTIME_ID) - before;
        found.cpu_of_process = computed_ns as f64 / all_ns.max(1) as f64;
    });
    found.read.1 = wall_ns;
    found
}

fn value(seed: u64, page: u64) -> u64 {
    splitmix(seed ^ page << 20)
}

/// Computes until time is up: its CPU time and how long it ran, ns, and how many steps it made.
fn compute(seed: u64, start: &Meeting, is_over: &AtomicBool) -> (u64, u64, u64) {
    let _joined = start.join();
    start.wait();
    let own = libc::CLOCK_THREAD_CPUTIME_ID;
    let (started, cpu_before) = (Instant::now(), cpu_ns(own));
    let (mut state, mut steps) = (seed, 0);
    while !is_over.load(Relaxed) {
        for _ in 0..STEPS {
            state = splitmix(state);
        }
        steps += STEPS;
    }
    black_box(state);
    let ran_ns = started.elapsed().as_nanos() as u64;
    (cpu_ns(own) - cpu_before, ran_ns, steps)
}

/// Loads from a word of one page after another until time is up: how many, and how many were wrong.
fn read(
    seed: u64,
    mut rng: Rng,
    memory: &Buffer,
    start: &Meeting,
    is_over: &AtomicBool,
) -> (u64, u64) {
    let _joined = start.join();
    let pages = (memory.bytes() / PAGE) as u64;
    start.wait();
    let (mut loads, mut wrong) = (0, 0);
    while !is_over.load(Relaxed) {
        let page = rng.below(pages);
        let found = memory.word(page as usize * PAGE).load(Relaxed);
        loads += 1;
        wrong += u64::from(found != value(seed, page));
    }
    (loads, wrong)
}

/// A clock of CPU time, ns.
fn cpu_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a live time; the clocks of the own thread and process always exist.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_compute_and_load_and_a_wrong_page_is_noticed() {
        let memory = Buffer::anonymous(16 * PAGE).expect("room");
        let load = Load {
            computing: 2,
            loading: 1,
            time: Duration::from_millis(50),
            seed: 3,
        };
        let found = run(&load, &memory);
        assert_eq!((found.filled.0, found.mismatches), (16, 0));
        assert!(found.read.0 > 0 && found.steps > 0);
        assert_eq!(found.cpu_share.len(), 2);
        assert!(
            found
                .cpu_share
                .iter()
                .all(|share| (0.0..=1.1).contains(share))
        );
        memory.word(5 * PAGE).store(1, Relaxed);
        let (start, is_over) = (Meeting::new(1), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let rng = thread_rng(3, 0, STREAM);
            let read = scope.spawn(|| read(3, rng, &memory, &start, &is_over));
            std::thread::sleep(Duration::from_millis(50));
            is_over.store(true, Relaxed);
            assert_ne!(read.join().expect("a thread").1, 0);
        });
    }

    /// A clock of CPU time stands still while its thread sleeps.
    #[test]
    fn cpu_time_is_that_of_the_thread_while_it_computes() {
        let burn = |time| {
            let wall = Instant::now();
            while wall.elapsed() < time {}
        };
        // What the thread did before is no part of it.
        burn(Duration::from_millis(30));
        let (start, is_over) = (Meeting::new(1), AtomicBool::new(true));
        let (cpu_ns, ran_ns, steps) = compute(3, &start, &is_over);
        assert!(cpu_ns < 20_000_000 && steps == 0, "{cpu_ns} of {ran_ns} ns");
        let own = libc::CLOCK_THREAD_CPUTIME_ID;
        let before = super::cpu_ns(own);
        std::thread::sleep(Duration::from_millis(20));
        let slept = super::cpu_ns(own) - before;
        assert!(slept < 10_000_000, "{slept} ns");
        burn(Duration::from_millis(5));
        assert!(super::cpu_ns(own) > before + slept);
        assert!(super::cpu_ns(libc::CLOCK_PROCESS_CPUTIME_ID) >= super::cpu_ns(own));
    }
}
