//! Threads that load and store as fast as they can, or at a pace, and one that makes dependent
//! loads beside them.
//!
//! The measured loops allocate nothing, and the histogram is static.

use std::hint::{black_box, spin_loop};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::hist::Histogram;
use crate::meeting::{Meeting, Over};
use crate::memory::{Buffer, Scratch};
use crate::timer::Timer;
use sluice_streams::order;
use sluice_units::{LINE_BYTES, Rng, seed_of};

static CHASE: Histogram = Histogram::new();
/// The histogram serves one run at a time.
static RUN: Mutex<()> = Mutex::new(());

/// How a thread stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// Through the caches.
    Cached,
    /// Past the caches, a whole line.
    NonTemporal,
}

/// What the threads do.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Threads, each in a region of its own.
    pub threads: u64,
    /// Bytes of a region: a multiple of the stride.
    pub size: u64,
    /// Bytes from one place to the next: a multiple of a line.
    pub stride: u64,
    /// Whether each place is drawn.
    pub random: bool,
    /// Loads of 100 accesses.
    pub reads: u64,
    /// How a thread stores.
    pub store: Store,
    /// From an access of a thread to its next, at least.
    pub pace: Duration,
    /// Threads run on so many CPUs; 0: wherever the system puts them.
    pub cores: u64,
    /// Bytes in which the dependent loads are; 0: there are none.
    pub chase: u64,
    /// Times that each thread goes through its region.
    pub passes: u64,
    /// Whether every page is stored to once before.
    pub warm: bool,
    /// Seed of what is drawn.
    pub seed: u64,
}

impl Plan {
    /// Bytes of all regions.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.threads * self.size + self.chase
    }

    /// Accesses of one thread.
    #[must_use]
    pub fn accesses(&self) -> u64 {
        self.passes * (self.size / self.stride)
    }
}

/// What was measured.
pub struct Measured {
    /// From the common start to the end of the last thread, ns.
    pub wall_ns: u64,
    /// Latencies of the dependent loads.
    pub chase: &'static Histogram,
}

/// Runs the threads to their end, and the dependent loads as long.
///
/// # Errors
/// What the system refuses.
pub fn run<R>(plan: &Plan, buffer: &Buffer, read: impl FnOnce(&Measured) -> R) -> Result<R, Error> {
    let _running = RUN.lock().unwrap_or_else(PoisonError::into_inner);
    CHASE.clear();
    let chaser = Chaser::new(plan, buffer)?;
    if plan.warm {
        // By a store: Linux gives all memory that was only read one page of zeros.
        let regions = 0..plan.total_bytes() - plan.chase;
        for at in regions.step_by(4096) {
            buffer.word(at as usize).store(0, Relaxed);
        }
    }
    let alone = plan.threads == 0;
    let waiting = plan.threads as usize + usize::from(plan.chase > 0);
    let (meeting, over) = (Meeting::new(waiting), AtomicBool::new(false));
    let (started_ns, ended_ns) = (AtomicU64::new(u64::MAX), AtomicU64::new(0));
    let clock = Instant::now();
    let now = || clock.elapsed().as_nanos() as u64;
    let refused = std::thread::scope(|scope| {
        let (_joined, over_at_end) = (meeting.join(), Over(&over));
        let workers: Vec<_> = (0..plan.threads)
            .map(|number| {
                let (meeting, started_ns, ended_ns) = (&meeting, &started_ns, &ended_ns);
                scope.spawn(move || {
                    let _joined = meeting.join();
                    let bound = bind(plan, number);
                    meeting.wait();
                    started_ns.fetch_min(now(), Relaxed);
                    if bound.is_ok() {
                        Worker::new(plan, buffer, number).work();
                    }
                    ended_ns.fetch_max(now(), Relaxed);
                    bound
                })
            })
            .collect();
        if plan.chase > 0 {
            let (meeting, over, chaser) = (&meeting, &over, &chaser);
            let (started_ns, ended_ns) = (&started_ns, &ended_ns);
            scope.spawn(move || {
                let _joined = meeting.join();
                meeting.wait();
                if alone {
                    started_ns.store(now(), Relaxed);
                }
                chaser.follow(|done| match alone {
                    true => done == plan.passes * (plan.chase / LINE_BYTES),
                    false => over.load(Relaxed),
                });
                if alone {
                    ended_ns.store(now(), Relaxed);
                }
            });
        }
        let bound = workers
            .into_iter()
            .map(|worker| worker.join().expect("a thread panicked"));
        let refused = bound.fold(Ok(()), io::Result::and);
        drop(over_at_end);
        refused
    });
    refused.map_err(Error::system("binding a thread to a CPU"))?;
    Ok(read(&Measured {
        wall_ns: ended_ns
            .load(Relaxed)
            .saturating_sub(started_ns.load(Relaxed)),
        chase: &CHASE,
    }))
}

/// Binds the calling thread to its CPU, if threads are to share some.
fn bind(plan: &Plan, number: u64) -> io::Result<()> {
    if plan.cores == 0 {
        return Ok(());
    }
    // SAFETY: plain data, for which zeros are valid.
    let mut allowed: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let size = size_of_val(&allowed);
    // SAFETY: the set is ours, and as large as is said.
    let got = unsafe { libc::sched_getaffinity(0, size, &raw mut allowed) };
    if got != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both sets are ours, and the numbers are below their size.
    unsafe {
        let mut cpus =
            (0..libc::CPU_SETSIZE as usize).filter(|cpu| libc::CPU_ISSET(*cpu, &allowed));
        let cpu = cpus.nth((number % plan.cores) as usize).ok_or_else(|| {
            let what = format!("there are fewer than {} CPUs", plan.cores);
            io::Error::new(io::ErrorKind::InvalidInput, what)
        })?;
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut one);
        match libc::sched_setaffinity(0, size, &raw const one) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

struct Worker<'a> {
    plan: &'a Plan,
    buffer: &'a Buffer,
    base: usize,
    rng: Rng,
}

impl<'a> Worker<'a> {
    fn new(plan: &'a Plan, buffer: &'a Buffer, number: u64) -> Self {
        Self {
            plan,
            buffer,
            base: (number * plan.size) as usize,
            rng: Rng::stream(seed_of(plan.seed, number), "traffic.thread"),
        }
    }

    /// All passes. The usual ones have loops of their own, so that nothing but the accesses counts.
    fn work(mut self) {
        let plan = self.plan;
        let is_plain = plan.pace.is_zero() && !plan.random;
        match (is_plain, plan.reads, plan.store) {
            (true, 100, _) => self.sweep(|worker, at| worker.load(at)),
            (true, 0, Store::Cached) => self.sweep(|worker, at| worker.store(at)),
            (true, 0, Store::NonTemporal) => self.sweep(|worker, at| worker.store_past(at)),
            _ => self.any(),
        }
    }

    #[inline(always)]
    fn sweep(&self, access: impl Fn(&Self, usize)) {
        for _ in 0..self.plan.passes {
            let places = (0..self.plan.size as usize).step_by(self.plan.stride as usize);
            places.for_each(|place| access(self, self.base + place));
        }
    }

    fn any(&mut self) {
        let places = self.plan.size / self.plan.stride;
        let (mut due, mut share) = (Instant::now(), 0);
        for number in 0..self.plan.accesses() {
            let place = match self.plan.random {
                true => self.rng.below(places),
                false => number % places,
            };
            let at = self.base + (place * self.plan.stride) as usize;
            share += self.plan.reads;
            match share >= 100 {
                true => {
                    share -= 100;
                    self.load(at);
                }
                false if self.plan.store == Store::NonTemporal => self.store_past(at),
                false => self.store(at),
            }
            if !self.plan.pace.is_zero() {
                due += self.plan.pace;
                while Instant::now() < due {
                    spin_loop();
                }
            }
        }
    }

    #[inline(always)]
    fn load(&self, at: usize) {
        black_box(self.buffer.word(at).load(Relaxed));
    }

    /// A whole line, as what a program writes fills its lines.
    #[inline(always)]
    fn store(&self, at: usize) {
        for word in 0..8 {
            self.buffer.word(at + word * 8).store(at as u64, Relaxed);
        }
    }

    /// A whole line, so that no cache has to read it.
    #[inline(always)]
    fn store_past(&self, at: usize) {
        past(self.buffer, at);
    }
}

/// Whether this processor has stores past its caches.
pub const HAS_PAST: bool = cfg!(target_arch = "x86_64");

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn past(buffer: &Buffer, at: usize) {
    let word = |n: usize| buffer.word(at + n * 8).as_ptr().cast::<i64>();
    for n in 0..8 {
        // SAFETY: a word of the buffer, in a line of this thread's own region. SSE2 is part of
        // x86_64. Needed because nothing else says that a store goes past the caches.
        unsafe { std::arch::x86_64::_mm_stream_si64(word(n), at as i64) };
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn past(_: &Buffer, _: usize) {
    unreachable!("refused before: HAS_PAST");
}

/// One cycle of pointers, in random order.
struct Chaser<'a> {
    buffer: &'a Buffer,
    base: u64,
    timer: Timer,
}

impl<'a> Chaser<'a> {
    fn new(plan: &Plan, buffer: &'a Buffer) -> Result<Self, Error> {
        let base = (plan.threads * plan.size) as usize;
        let lines = (plan.chase / LINE_BYTES) as usize;
        if lines > 0 {
            let mut scratch =
                Scratch::new(lines).map_err(Error::system("scratch memory for the order"))?;
            let next = scratch.cells();
            order::cycle(next, &mut order::rng(plan.seed, plan.threads));
            for (line, next) in next.iter().enumerate() {
                let address = buffer.base() + base + *next as usize * LINE_BYTES as usize;
                let at = base + line * LINE_BYTES as usize;
                buffer.word(at).store(address as u64, Relaxed);
            }
        }
        Ok(Self {
            buffer,
            base: (buffer.base() + base) as u64,
            timer: Timer::calibrate(),
        })
    }

    /// Follows the pointers until `is_over` says so of the number of loads. One is made however
    /// late this thread came to run.
    fn follow(&self, is_over: impl Fn(u64) -> bool) {
        let (mut at, mut done) = (self.base, 0);
        loop {
            let word = self.buffer.word_at(at).expect("a pointer of the cycle");
            let started = self.timer.start();
            at = word.load(Relaxed);
            CHASE.record(self.timer.stop(started));
            done += 1;
            if is_over(done) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Plan = Plan {
        threads: 2,
        size: 64 << 10,
        stride: 64,
        random: false,
        reads: 100,
        store: Store::Cached,
        pace: Duration::ZERO,
        cores: 0,
        chase: 0,
        passes: 2,
        warm: true,
        seed: 1,
    };

    fn run_in(plan: &Plan) -> (Buffer, u64, u64) {
        let buffer = Buffer::anonymous(plan.total_bytes() as usize).unwrap();
        let (wall_ns, count) = run(plan, &buffer, |m| (m.wall_ns, m.chase.count())).unwrap();
        (buffer, wall_ns, count)
    }

    /// Each place of each region holds what its store left there, whichever way it stored.
    #[test]
    fn stores_reach_every_place_of_every_region() {
        for store in [Store::Cached, Store::NonTemporal] {
            for pace in [Duration::ZERO, Duration::from_nanos(1)] {
                let (buffer, ..) = run_in(&Plan {
                    reads: 0,
                    store,
                    pace,
                    ..PLAN
                });
                for at in (0..buffer.bytes()).step_by(8) {
                    let line = (at - at % 64) as u64;
                    assert_eq!(buffer.word(at).load(Relaxed), line, "{store:?} {at}");
                }
            }
        }
    }

    /// Of so many accesses of a thread from its first on, their share are loads.
    #[test]
    fn loads_have_their_share_of_the_accesses() {
        for reads in [1, 30, 50, 70, 99] {
            let (buffer, ..) = run_in(&Plan {
                reads,
                passes: 1,
                ..PLAN
            });
            for thread in 0..2 {
                let mut loads = 0;
                for number in 0..1024 {
                    let line = (thread * 1024 + number) * 64;
                    // What is stored in the first line of all is 0 as well.
                    let is_stored = line == 0 || buffer.word(line).load(Relaxed) != 0;
                    loads += u64::from(!is_stored);
                    assert_eq!(
                        loads,
                        (number as u64 + 1) * reads / 100,
                        "{reads} % at {line}"
                    );
                }
            }
        }
    }

    /// Linux gives memory that was only read one page of zeros: loads would all find it in the
    /// first cache.
    #[test]
    fn loads_are_of_pages_that_are_there() {
        let resident = || {
            let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
            let pages = statm.split(' ').nth(1).unwrap();
            pages.parse::<usize>().unwrap() * 4096
        };
        let before = resident();
        let (buffer, ..) = run_in(&Plan {
            size: 32 << 20,
            passes: 1,
            ..PLAN
        });
        let more = resident().saturating_sub(before);
        assert!(more > buffer.bytes() / 2, "{more} bytes more are resident");
    }

    #[test]
    fn a_pace_takes_its_time() {
        let pace = Duration::from_micros(2);
        let (_, wall_ns, _) = run_in(&Plan { pace, ..PLAN });
        assert!(wall_ns >= 2 * 1024 * 2_000, "{wall_ns} ns");
    }

    #[test]
    fn dependent_loads_go_on_as_long_as_the_others_or_for_their_passes() {
        let (.., count) = run_in(&Plan {
            chase: 4096,
            pace: Duration::from_micros(1),
            ..PLAN
        });
        assert!(count > 0, "no load beside two threads");
        let (.., count) = run_in(&Plan {
            threads: 0,
            chase: 4096,
            ..PLAN
        });
        assert_eq!(count, 2 * 64);
    }

    #[test]
    fn more_cpus_than_there_are_cannot_be_shared() {
        let cores = libc::CPU_SETSIZE as u64;
        let plan = Plan {
            cores,
            threads: cores,
            size: 4096,
            ..PLAN
        };
        let buffer = Buffer::anonymous(plan.total_bytes() as usize).unwrap();
        let message = run(&plan, &buffer, |_| ()).unwrap_err().to_string();
        assert!(message.contains("fewer than 1024 CPUs"), "{message}");
    }
}
