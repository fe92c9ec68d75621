//! The pointer chase: dependent loads through a buffer, each timed by itself.
//!
//! The measured loop allocates nothing, and its histograms are static: no page but those of
//! the buffer can disturb a device under the buffer.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Barrier, Mutex, PoisonError};
use std::time::Instant;

use crate::error::Error;
use crate::hist::Histogram;
use crate::memory::{Buffer, Scratch};
use crate::order::{self, Order, UniformWalk, VisitHash, uniform_tag};
use crate::plan::{PASSES_MAX, Plan, THREADS_MAX};
use crate::timer::Timer;

const COUNTER: u64 = 8;

static PASSES: [Histogram; PASSES_MAX] = [const { Histogram::new() }; PASSES_MAX];
static THREADS: [Histogram; THREADS_MAX] = [const { Histogram::new() }; THREADS_MAX];
static TOTAL: Histogram = Histogram::new();
static WALL_NS: [AtomicU64; PASSES_MAX] = [const { AtomicU64::new(0) }; PASSES_MAX];
/// The histograms serve one run at a time.
static RUN: Mutex<()> = Mutex::new(());

/// How a chase is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Every access by itself.
    Accesses,
    /// Whole passes only, at native speed.
    Passes,
}

/// What a chase measured; histograms are handed to the reader of [`run`] while they are valid.
pub struct Measured<'a> {
    /// Wall time of each pass, in nanoseconds.
    pub pass_ns: Vec<u64>,
    /// Latencies of each pass: empty histograms when whole passes were measured.
    pub passes: &'a [Histogram],
    /// Latencies of all passes.
    pub total: &'a Histogram,
    /// Wall time of the pass that built the chain, in nanoseconds.
    pub build_ns: u64,
    /// Hash of all measured visits in order, over the threads.
    pub checksum: u64,
    /// The clock.
    pub timer: Timer,
}

/// Memory that does not hold what was stored.
#[derive(Clone, Copy, Debug)]
struct Damage {
    thread: usize,
    offset: u64,
    what: Wrong,
}

#[derive(Clone, Copy, Debug)]
enum Wrong {
    Pointer { leads: u64 },
    Tag { found: u64, expected: u64 },
    NotClosed,
    Counter { found: u64, expected: u64 },
    Pass { pass: usize },
}

impl From<Damage> for Error {
    fn from(damage: Damage) -> Error {
        let Damage {
            thread,
            offset,
            what,
        } = damage;
        let what = match what {
            Wrong::Pointer { leads } => format!("the pointer followed leads outside: {leads:#x}"),
            Wrong::Tag { found, expected } => format!("holds {found:#x}, expected {expected:#x}"),
            Wrong::NotClosed => "the pass ended here, not at offset 0".to_owned(),
            Wrong::Counter { found, expected } => {
                format!("the counter holds {found}, expected {expected}")
            }
            Wrong::Pass { pass } => format!("pass {pass} visited other nodes than pass 1"),
        };
        Error::Mismatch(format!(
            "chase: thread {thread}, offset {offset:#x}: {what}"
        ))
    }
}

/// Runs a chase in `buffer` and hands what it measured to `read`.
///
/// # Errors
/// [`Error::Mismatch`] when the buffer does not hold what was stored there, and
/// [`Error::System`] when there is no scratch memory for the order.
///
/// # Panics
/// If the buffer is smaller than the plan needs.
pub fn run<R>(
    plan: &Plan,
    measure: Measure,
    buffer: &Buffer,
    read: impl FnOnce(&Measured) -> R,
) -> Result<R, Error> {
    assert!(buffer.bytes() as u64 >= plan.total_bytes());
    let _running = RUN.lock().unwrap_or_else(PoisonError::into_inner);
    PASSES
        .iter()
        .chain(&THREADS)
        .chain([&TOTAL])
        .for_each(Histogram::clear);
    let crew = Crew {
        plan,
        measure,
        buffer,
        timer: Timer::calibrate(),
        barrier: Barrier::new(plan.parameters().threads as usize),
    };
    let (build_ns, checksum) = crew.run()?;
    let passes = plan.parameters().passes as usize;
    PASSES[..passes].iter().for_each(|pass| TOTAL.merge(pass));
    Ok(read(&Measured {
        pass_ns: WALL_NS[..passes]
            .iter()
            .map(|ns| ns.load(Relaxed))
            .collect(),
        passes: &PASSES[..passes],
        total: &TOTAL,
        build_ns,
        checksum,
        timer: crew.timer,
    }))
}

struct Crew<'a> {
    plan: &'a Plan,
    measure: Measure,
    buffer: &'a Buffer,
    timer: Timer,
    barrier: Barrier,
}

impl Crew<'_> {
    /// Build time and checksum. One thread runs here; more are started only when asked for,
    /// because starting one allocates.
    fn run(&self) -> Result<(u64, u64), Error> {
        let threads = self.plan.parameters().threads as usize;
        if threads == 1 {
            return self.work(0);
        }
        std::thread::scope(|scope| {
            let handles: Vec<_> = (0..threads)
                .map(|thread| scope.spawn(move || self.work(thread)))
                .collect();
            let mut sum = (0, 0_u64);
            for handle in handles {
                let (build_ns, checksum) = handle.join().expect("a chasing thread panicked")?;
                sum = (sum.0.max(build_ns), sum.1.wrapping_add(checksum));
            }
            Ok(sum)
        })
    }

    /// One thread's whole life. A thread that finds damage still meets the others at every
    /// barrier, so that nobody waits forever.
    fn work(&self, thread: usize) -> Result<(u64, u64), Error> {
        let mut part = Part::new(self, thread);
        let started = Instant::now();
        let mut state = part.build();
        let build_ns = started.elapsed().as_nanos() as u64;
        let mut first = None;
        for pass in 0..self.plan.parameters().passes as usize {
            self.barrier.wait();
            let started = Instant::now();
            if state.is_ok() {
                state = self
                    .pass(&mut part, thread, pass, &mut first)
                    .map_err(Error::from);
            }
            self.barrier.wait();
            if thread == 0 {
                WALL_NS[pass].store(started.elapsed().as_nanos() as u64, Relaxed);
                let mine = &THREADS[..self.plan.parameters().threads as usize];
                mine.iter().for_each(|hist| {
                    PASSES[pass].merge(hist);
                    hist.clear();
                });
            }
        }
        state?;
        part.verify()?;
        Ok((build_ns, part.hash.0))
    }

    fn pass(
        &self,
        part: &mut Part,
        thread: usize,
        pass: usize,
        first: &mut Option<VisitHash>,
    ) -> Result<(), Damage> {
        let mut seen = VisitHash::default();
        match self.measure {
            Measure::Accesses => {
                part.visit_all(
                    &Timed {
                        timer: self.timer,
                        hist: &THREADS[thread],
                    },
                    &mut seen,
                )?;
            }
            Measure::Passes => part.visit_all(&Untimed, &mut seen)?,
        }
        part.hash.visit(seen.0);
        let repeats = self.plan.parameters().order != Order::Uniform;
        if repeats && *first.get_or_insert(seen) != seen {
            return Err(part.damage(0, Wrong::Pass { pass: pass + 1 }));
        }
        Ok(())
    }
}

/// What stands around one access.
trait Probe {
    fn around(&self, access: impl FnOnce() -> u64) -> u64;
}

struct Timed<'a> {
    timer: Timer,
    hist: &'a Histogram,
}

impl Probe for Timed<'_> {
    #[inline(always)]
    fn around(&self, access: impl FnOnce() -> u64) -> u64 {
        let started = self.timer.start();
        let value = access();
        let ns = self.timer.stop(started);
        self.hist.record(ns);
        value
    }
}

struct Untimed;

impl Probe for Untimed {
    #[inline(always)]
    fn around(&self, access: impl FnOnce() -> u64) -> u64 {
        access()
    }
}

/// One thread's buffer and where its walk stands.
struct Part<'a> {
    plan: &'a Plan,
    buffer: &'a Buffer,
    thread: usize,
    base: u64,
    walk: UniformWalk,
    loaded: u64,
    hash: VisitHash,
}

impl<'a> Part<'a> {
    fn new(crew: &Crew<'a>, thread: usize) -> Self {
        let parameters = crew.plan.parameters();
        Self {
            plan: crew.plan,
            buffer: crew.buffer,
            thread,
            base: crew.buffer.base() as u64 + thread as u64 * parameters.size,
            walk: UniformWalk::new(parameters.seed, thread as u64, crew.plan.nodes()),
            loaded: 0,
            hash: VisitHash::default(),
        }
    }

    fn damage(&self, address: u64, what: Wrong) -> Damage {
        Damage {
            thread: self.thread,
            offset: address.wrapping_sub(self.base),
            what,
        }
    }

    fn address(&self, node: u64) -> u64 {
        self.base + node * self.plan.parameters().stride
    }

    /// Writes all nodes in address order.
    fn build(&self) -> Result<(), Error> {
        let nodes = self.plan.nodes();
        match self.plan.parameters().order {
            Order::Sequential => {
                (0..nodes).for_each(|node| self.put(node, self.address((node + 1) % nodes)));
            }
            Order::Uniform => (0..nodes).for_each(|node| self.put(node, uniform_tag(node))),
            Order::Cycle => {
                let mut scratch = Scratch::new(nodes as usize)
                    .map_err(Error::system("scratch memory for the order"))?;
                let next = scratch.cells();
                let seed = self.plan.parameters().seed;
                order::cycle(next, &mut order::rng(seed, self.thread as u64));
                for (node, next) in next.iter().enumerate() {
                    self.put(node as u64, self.address(u64::from(*next)));
                }
            }
        }
        Ok(())
    }

    fn put(&self, node: u64, value: u64) {
        let offset = self.address(node) as usize - self.buffer.base();
        self.buffer.word(offset).store(value, Relaxed);
        if self.plan.parameters().write {
            self.buffer
                .word(offset + COUNTER as usize)
                .store(0, Relaxed);
        }
    }

    /// One pass.
    fn visit_all(&mut self, probe: &impl Probe, seen: &mut VisitHash) -> Result<(), Damage> {
        let parameters = self.plan.parameters();
        match (parameters.order == Order::Uniform, parameters.write) {
            (false, false) => self.follow::<false>(probe, seen),
            (false, true) => self.follow::<true>(probe, seen),
            (true, false) => self.roam::<false>(probe, seen),
            (true, true) => self.roam::<true>(probe, seen),
        }
    }

    /// Follows the pointers once around.
    fn follow<const WRITE: bool>(
        &self,
        probe: &impl Probe,
        seen: &mut VisitHash,
    ) -> Result<(), Damage> {
        let mut at = self.base;
        for _ in 0..self.plan.nodes() {
            let leads = |at| self.damage(at, Wrong::Pointer { leads: at });
            let node = self.buffer.word_at(at).ok_or_else(|| leads(at))?;
            let counter = if WRITE {
                self.buffer.word_at(at + COUNTER)
            } else {
                None
            };
            seen.visit(at - self.base);
            at = probe.around(|| {
                let next = node.load(Relaxed);
                counter.inspect(|counter| counter.store(counter.load(Relaxed) + 1, Relaxed));
                next
            });
        }
        if at == self.base {
            Ok(())
        } else {
            Err(self.damage(at, Wrong::NotClosed))
        }
    }

    /// Visits as many independent random nodes as there are nodes.
    fn roam<const WRITE: bool>(
        &mut self,
        probe: &impl Probe,
        seen: &mut VisitHash,
    ) -> Result<(), Damage> {
        for _ in 0..self.plan.nodes() {
            let node = self.walk.next_node(self.loaded);
            let at = self.address(node);
            let offset = at as usize - self.buffer.base();
            let word = self.buffer.word(offset);
            let counter = WRITE.then(|| self.buffer.word(offset + COUNTER as usize));
            seen.visit(at - self.base);
            let found = probe.around(|| {
                let found = word.load(Relaxed);
                counter.inspect(|counter| counter.store(counter.load(Relaxed) + 1, Relaxed));
                found
            });
            let expected = uniform_tag(node);
            if found != expected {
                return Err(self.damage(at, Wrong::Tag { found, expected }));
            }
            // Zero, in a way the compiler cannot see: the next choice waits for this load.
            self.loaded = std::hint::black_box(found) ^ expected;
        }
        Ok(())
    }

    /// Reads every counter back in address order.
    fn verify(&self) -> Result<(), Error> {
        let parameters = self.plan.parameters();
        if !parameters.write {
            return Ok(());
        }
        let nodes = self.plan.nodes();
        let mut scratch = None;
        if parameters.order == Order::Uniform {
            let fresh = Scratch::new(nodes as usize)
                .map_err(Error::system("scratch memory for the check"))?;
            let counts = scratch.insert(fresh).cells();
            let mut walk = UniformWalk::new(parameters.seed, self.thread as u64, nodes);
            (0..parameters.passes * nodes).for_each(|_| counts[walk.next_node(0) as usize] += 1);
        }
        let counts = scratch.as_mut().map(|scratch| &*scratch.cells());
        for node in 0..nodes {
            let expected = counts.map_or(parameters.passes, |c| u64::from(c[node as usize]));
            let at = self.address(node) + COUNTER;
            let found = self
                .buffer
                .word(at as usize - self.buffer.base())
                .load(Relaxed);
            if found != expected {
                return Err(self.damage(at, Wrong::Counter { found, expected }).into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access;
    use crate::plan::Parameters;

    fn plan(order: Order, write: bool, threads: u64) -> Plan {
        let (size, stride, passes, seed) = (64 << 10, 64, 3, 7);
        Plan::new(Parameters {
            size,
            stride,
            order,
            write,
            passes,
            threads,
            seed,
        })
        .unwrap()
    }

    fn chase(plan: &Plan, measure: Measure) -> Result<(u64, Vec<u64>, u64), Error> {
        let buffer = Buffer::anonymous(plan.total_bytes() as usize).unwrap();
        run(plan, measure, &buffer, |m| {
            (
                m.checksum,
                m.passes.iter().map(Histogram::count).collect(),
                m.total.count(),
            )
        })
    }

    /// The hash that the access stream predicts.
    fn predicted(plan: &Plan) -> u64 {
        let p = plan.parameters();
        let mut sum = 0_u64;
        for thread in 0..p.threads {
            let mut visits = access::visits(plan, thread);
            let mut hash = VisitHash::default();
            for _ in 0..p.passes {
                let mut seen = VisitHash::default();
                visits
                    .by_ref()
                    .take(plan.nodes() as usize)
                    .for_each(|n| seen.visit(n * p.stride));
                hash.visit(seen.0);
            }
            sum = sum.wrapping_add(hash.0);
        }
        sum
    }

    #[test]
    fn the_program_visits_what_its_stream_says() {
        for order in [Order::Sequential, Order::Cycle, Order::Uniform] {
            for (write, threads) in [(false, 1), (true, 1), (true, 3)] {
                let plan = plan(order, write, threads);
                for measure in [Measure::Accesses, Measure::Passes] {
                    let (checksum, _, _) = chase(&plan, measure).unwrap();
                    assert_eq!(checksum, predicted(&plan), "{order:?} {write} {threads}");
                }
            }
        }
    }

    #[test]
    fn every_access_is_measured_once() {
        let (_, passes, total) = chase(&plan(Order::Cycle, false, 2), Measure::Accesses).unwrap();
        assert_eq!(passes, [2048; 3]);
        assert_eq!(total, 3 * 2048);
        let (_, passes, _) = chase(&plan(Order::Cycle, false, 2), Measure::Passes).unwrap();
        assert_eq!(passes, [0; 3]);
    }

    fn part<'a>(plan: &'a Plan, buffer: &'a Buffer) -> Part<'a> {
        let crew = Crew {
            plan,
            measure: Measure::Passes,
            buffer,
            timer: Timer::calibrate(),
            barrier: Barrier::new(1),
        };
        Part::new(&crew, 0)
    }

    #[test]
    fn damage_is_found_and_placed() {
        for order in [Order::Sequential, Order::Cycle, Order::Uniform] {
            let plan = plan(order, true, 1);
            let buffer = Buffer::anonymous(plan.total_bytes() as usize).unwrap();
            let mut part = part(&plan, &buffer);
            part.build().unwrap();
            buffer.word(0).store(0, Relaxed);
            let lost =
                (0..20).try_for_each(|_| part.visit_all(&Untimed, &mut VisitHash::default()));
            let message = Error::from(lost.unwrap_err()).to_string();
            assert!(message.contains("thread 0"), "{message}");
        }
    }

    #[test]
    fn a_lost_store_is_found() {
        for order in [Order::Sequential, Order::Cycle, Order::Uniform] {
            let plan = plan(order, true, 1);
            let buffer = Buffer::anonymous(plan.total_bytes() as usize).unwrap();
            let mut part = part(&plan, &buffer);
            part.build().unwrap();
            (0..3).for_each(|_| part.visit_all(&Untimed, &mut VisitHash::default()).unwrap());
            part.verify().unwrap();
            let counter = buffer.word(64 * 100 + 8);
            counter.store(counter.load(Relaxed) + 1, Relaxed);
            let message = part.verify().unwrap_err().to_string();
            assert!(
                message.contains("0x1908") && message.contains("expected"),
                "{message}"
            );
        }
    }
}
