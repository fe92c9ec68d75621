//! The pointer chase: dependent loads through a buffer, each timed by itself.
//!
//! The measured loop allocates nothing, and its histograms are static: no page but those of
//! the buffer can disturb a device under the buffer.

mod part;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::error::Error;
use crate::hist::Histogram;
use crate::meeting::Meeting;
use crate::memory::Buffer;
use crate::timer::Timer;
use part::{Damage, Part, Timed, Untimed, Wrong};
use sluice_streams::order::ChaseOrder;
use sluice_streams::plan::{PASSES_MAX, Plan, THREADS_MAX};
use sluice_units::Fnv;

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
    /// Whole passes that are nothing but loads: see [`LOADS_A_PASS`].
    Loads,
    /// After every access one to the node of [`REVISIT`] accesses earlier, which alone is timed:
    /// what a hit takes where the access before it was a miss.
    Revisits,
}

/// How many accesses earlier a node was visited that [`Measure::Revisits`] comes back to.
pub const REVISIT: usize = 4096;

/// Loads of a pass of [`Measure::Loads`], at least: it goes round short chains several times, so
/// that reading the clock is nothing beside it.
pub const LOADS_A_PASS: u64 = 1 << 18;

impl Measure {
    /// How often a pass goes round the chain.
    #[must_use]
    pub fn laps(self, plan: &Plan) -> u64 {
        match self {
            Measure::Loads => LOADS_A_PASS.div_ceil(plan.nodes()),
            Measure::Accesses | Measure::Passes | Measure::Revisits => 1,
        }
    }
}

/// What a chase measured; histograms are handed to the reader of [`run`] while they are valid.
pub struct Measured<'a> {
    /// Wall time of each pass, in nanoseconds.
    pub pass_ns: Vec<u64>,
    /// How often a pass went round.
    pub laps: u64,
    /// Latencies of each pass: empty histograms when whole passes were measured.
    pub passes: &'a [Histogram],
    /// Latencies of all passes.
    pub total: &'a Histogram,
    /// Wall time of the pass that built the chain, in nanoseconds.
    pub build_ns: u64,
    /// Hash of all measured visits in order, over the threads.
    pub checksum: u64,
    /// What the accesses were timed by.
    pub timer: Timer,
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
        meeting: Meeting::new(plan.parameters().threads as usize),
    };
    let (build_ns, checksum) = crew.run()?;
    let passes = plan.parameters().passes as usize;
    PASSES[..passes].iter().for_each(|pass| TOTAL.merge(pass));
    Ok(read(&Measured {
        pass_ns: WALL_NS[..passes]
            .iter()
            .map(|ns| ns.load(Relaxed))
            .collect(),
        laps: measure.laps(plan),
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
    meeting: Meeting,
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
            // A thread may not be had: those before it end then, too.
            let _joined = self.meeting.join();
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
        let _joined = self.meeting.join();
        let mut part = Part::new(self.plan, self.buffer, thread);
        let started = Instant::now();
        let mut state = part.build();
        let build_ns = started.elapsed().as_nanos() as u64;
        let mut first = None;
        if self.measure == Measure::Loads && state.is_ok() {
            state = checked(&mut part, 0, &mut first).map_err(Error::from);
        }
        for pass in 0..self.plan.parameters().passes as usize {
            let started = self.meeting.wait();
            if state.is_ok() {
                state = self
                    .pass(&mut part, thread, pass, &mut first)
                    .map_err(Error::from);
            }
            let ended = self.meeting.wait();
            if thread == 0 {
                let wall = ended.duration_since(started);
                WALL_NS[pass].store(wall.as_nanos() as u64, Relaxed);
                let mine = &THREADS[..self.plan.parameters().threads as usize];
                mine.iter().for_each(|hist| {
                    PASSES[pass].merge(hist);
                    hist.clear();
                });
            }
        }
        state?;
        if self.measure == Measure::Loads {
            checked(
                &mut part,
                self.plan.parameters().passes as usize,
                &mut first,
            )?;
        }
        part.verify()?;
        Ok((build_ns, part.hash.value()))
    }

    fn pass(
        &self,
        part: &mut Part,
        thread: usize,
        pass: usize,
        first: &mut Option<Fnv>,
    ) -> Result<(), Damage> {
        if self.measure == Measure::Loads {
            part.follow_alone(self.measure.laps(self.plan))?;
            // The chain was checked, and is as it was.
            part.hash.word(first.unwrap_or_default().value());
            return Ok(());
        }
        let mut seen = Fnv::default();
        let timed = Timed {
            timer: self.timer,
            hist: &THREADS[thread],
        };
        match self.measure {
            Measure::Accesses => part.visit_all(&timed, &mut seen)?,
            Measure::Revisits => part.revisit(&timed, &mut seen)?,
            Measure::Passes | Measure::Loads => part.visit_all(&Untimed, &mut seen)?,
        }
        part.hash.word(seen.value());
        match self.plan.parameters().order {
            ChaseOrder::Uniform => Ok(()),
            ChaseOrder::Sequential | ChaseOrder::Cycle => same_way(part, pass, first, seen),
        }
    }
}

/// A pass that is not measured, in which each pointer is checked before it is followed.
fn checked(part: &mut Part, pass: usize, first: &mut Option<Fnv>) -> Result<(), Damage> {
    let mut seen = Fnv::default();
    part.visit_all(&Untimed, &mut seen)?;
    same_way(part, pass, first, seen)
}

/// Passes go the way of the first.
fn same_way(part: &Part, pass: usize, first: &mut Option<Fnv>, seen: Fnv) -> Result<(), Damage> {
    if *first.get_or_insert(seen) != seen {
        return Err(part.damage(0, Wrong::Pass { pass: pass + 1 }));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_streams::access;
    use sluice_streams::plan::Parameters;

    fn plan(order: ChaseOrder, write: bool, threads: u64) -> Plan {
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
            let mut hash = Fnv::default();
            for _ in 0..p.passes {
                let mut seen = Fnv::default();
                visits
                    .by_ref()
                    .take(plan.nodes() as usize)
                    .for_each(|n| seen.word(n * p.stride));
                hash.word(seen.value());
            }
            sum = sum.wrapping_add(hash.value());
        }
        sum
    }

    #[test]
    fn revisits_alone_are_timed() {
        let parameters = Parameters {
            size: 2 * 64 * REVISIT as u64,
            order: ChaseOrder::Cycle,
            passes: 2,
            ..Parameters::default()
        };
        let plan = Plan::new(parameters).unwrap();
        let (checksum, passes, all) = chase(&plan, Measure::Revisits).unwrap();
        assert_eq!(checksum, predicted(&plan));
        assert_eq!((passes, all), (vec![REVISIT as u64; 2], 2 * REVISIT as u64));
    }

    #[test]
    fn the_program_visits_what_its_stream_says() {
        for order in [
            ChaseOrder::Sequential,
            ChaseOrder::Cycle,
            ChaseOrder::Uniform,
        ] {
            for (write, threads) in [(false, 1), (true, 1), (true, 3), (false, 2)] {
                let plan = plan(order, write, threads);
                let loads = (order != ChaseOrder::Uniform && !write).then_some(Measure::Loads);
                for measure in [Measure::Accesses, Measure::Passes]
                    .into_iter()
                    .chain(loads)
                {
                    let (checksum, _, _) = chase(&plan, measure).unwrap();
                    assert_eq!(checksum, predicted(&plan), "{order:?} {write} {threads}");
                }
            }
        }
    }

    #[test]
    fn every_access_is_measured_once() {
        let (_, passes, total) =
            chase(&plan(ChaseOrder::Cycle, false, 2), Measure::Accesses).unwrap();
        assert_eq!(passes, [2048; 3]);
        assert_eq!(total, 3 * 2048);
        let (_, passes, _) = chase(&plan(ChaseOrder::Cycle, false, 2), Measure::Passes).unwrap();
        assert_eq!(passes, [0; 3]);
    }

    #[test]
    fn a_pass_that_goes_another_way_is_found() {
        let plan = plan(ChaseOrder::Sequential, false, 1);
        let buffer = Buffer::anonymous(plan.total_bytes() as usize).unwrap();
        let crew = Crew {
            plan: &plan,
            measure: Measure::Passes,
            buffer: &buffer,
            timer: Timer::calibrate(),
            meeting: Meeting::new(1),
        };
        let mut part = Part::new(&plan, &buffer, 0);
        part.build().unwrap();
        let mut first = None;
        crew.pass(&mut part, 0, 0, &mut first).unwrap();
        // 4, 5, 6, 7 become 4, 6, 5, 7: as many nodes, and back at the start.
        for (node, next) in [(4, 6), (6, 5), (5, 7)] {
            buffer
                .word(64 * node)
                .store((buffer.base() + 64 * next) as u64, Relaxed);
        }
        let alone = checked(&mut part, 1, &mut first).unwrap_err();
        let message = Error::from(crew.pass(&mut part, 0, 1, &mut first).unwrap_err()).to_string();
        assert!(
            message.contains("pass 2 visited other nodes than pass 1"),
            "{message}"
        );
        assert_eq!(Error::from(alone).to_string(), message);
    }
}
