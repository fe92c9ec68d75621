//! How threads share out the work of a phase, and how results are compared.

use super::Recorder;
use crate::{Kernel, KernelOptions, Mismatch};
use sluice_host::{Instr, Program, Step};
use sluice_units::Bytes;
use std::ops::Range;

/// A phase of items `0..items`: a thread that has nothing left takes the next chunk, and works on
/// it piece by piece, until there is no chunk and all threads are at the barrier.
#[derive(Debug)]
pub struct Share {
    mine: Vec<Range<u64>>,
    arrived: usize,
    next: u64,
    items: u64,
    chunk: u64,
    /// No phase follows.
    pub ended: bool,
}

impl Share {
    /// The first phase.
    pub fn new(threads: u32, items: u64, chunk: u64) -> Share {
        Share {
            mine: vec![0..0; threads as usize],
            arrived: 0,
            next: 0,
            items,
            chunk,
            ended: false,
        }
    }

    /// The next phase.
    pub fn begin(&mut self, items: u64, chunk: u64) {
        debug_assert!(self.mine.iter().all(Range::is_empty));
        (self.arrived, self.next) = (0, 0);
        (self.items, self.chunk) = (items, chunk);
    }

    /// The next phase, in which each thread has items of its own.
    pub fn begin_own(&mut self, own: impl Fn(u64) -> Range<u64>) {
        self.begin(0, 0);
        self.mine = (0..self.mine.len() as u64).map(own).collect();
    }

    /// The thread's next items, `most` at most; none when the phase has no more for it.
    pub fn piece(&mut self, thread: u32, most: u64) -> Option<Range<u64>> {
        let mine = &mut self.mine[thread as usize];
        if mine.is_empty() {
            let start = self.next;
            self.next = self.items.min(start + self.chunk);
            *mine = start..self.next;
        }
        let start = mine.start;
        mine.start = mine.end.min(start + most);
        (start < mine.start).then_some(start..mine.start)
    }

    /// Leaves out the first items of a phase.
    pub fn skip(&mut self, items: u64) {
        self.next = self.items.min(items);
    }

    /// Leaves out all of a phase, whose work was done otherwise.
    pub fn skip_all(&mut self) {
        self.mine.fill(0..0);
        self.next = self.items;
    }

    /// A thread that found nothing is at the barrier; whether it is the last one.
    pub fn arrive(&mut self) -> bool {
        self.arrived += 1;
        self.arrived == self.mine.len()
    }
}

/// What every kernel of phases has.
#[derive(Debug)]
pub struct Frame {
    /// How it was made.
    pub options: KernelOptions,
    /// The present phase.
    pub share: Share,
    /// Rounds finished by all threads.
    pub rounds: u64,
}

impl Frame {
    /// Before the first phase, of so many items in chunks of this size.
    pub fn new(options: &KernelOptions, items: u64, chunk: u64) -> Frame {
        Frame {
            options: options.clone(),
            share: Share::new(options.threads, items, chunk),
            rounds: 0,
        }
    }

    /// A round is over; says whether it was the last.
    pub fn end_round(&mut self) -> bool {
        self.rounds += 1;
        self.share.ended = self.rounds == self.options.rounds;
        self.share.ended
    }
}

/// A kernel whose threads share out the items of each phase, and wait for each other at its end.
/// [`Shared`] makes a program of it.
pub trait Phased: Send {
    /// What it has as every kernel of phases.
    fn frame(&self) -> &Frame;

    /// What it has as every kernel of phases, to be changed.
    fn frame_mut(&mut self) -> &mut Frame;

    /// See [`Program::footprint`].
    fn footprint(&self) -> Bytes;

    /// See [`Program::local`].
    fn local(&self) -> Bytes {
        Bytes(0)
    }

    /// See [`Program::rewrites`].
    fn rewrites(&self, _addr: u64) -> bool {
        true
    }

    /// See [`Program::phases`].
    fn phases(&self) -> &'static [&'static str] {
        &[]
    }

    /// See [`Program::phase`].
    fn phase(&self) -> usize {
        0
    }

    /// Items of a thread's stretch at most.
    fn stretch(&self) -> u64;

    /// What a thread does with some items.
    fn work(&mut self, thread: u32, items: Range<u64>, to: &mut Recorder);

    /// All threads are at the barrier.
    fn advance(&mut self);

    /// See [`Kernel::check`].
    ///
    /// # Errors
    /// [`Mismatch`].
    fn check(&self) -> Result<(), Mismatch>;
}

/// A kernel of phases as a program.
pub struct Shared<P>(pub P);

impl<P: Phased> Program for Shared<P> {
    fn footprint(&self) -> Bytes {
        self.0.footprint()
    }

    fn threads(&self) -> u32 {
        self.0.frame().options.threads
    }

    fn local(&self) -> Bytes {
        self.0.local()
    }

    fn rewrites(&self, addr: u64) -> bool {
        self.0.rewrites(addr)
    }

    fn phases(&self) -> &'static [&'static str] {
        self.0.phases()
    }

    fn phase(&self) -> usize {
        self.0.phase()
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        let most = self.0.stretch();
        let share = &mut self.0.frame_mut().share;
        if share.ended {
            return Step::End;
        }
        let Some(items) = share.piece(thread, most) else {
            if share.arrive() {
                self.0.advance();
            }
            return Step::Barrier;
        };
        self.0.work(thread, items, &mut Recorder::new(out));
        Step::More
    }
}

impl<P: Phased> Kernel for Shared<P> {
    fn rounds(&self) -> u64 {
        self.0.frame().rounds
    }

    fn check(&self) -> Result<(), Mismatch> {
        self.0.check()
    }
}

/// A digest of a round's results, kept while the next round overwrites them.
pub fn digest(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0xcbf2_9ce4_8422_2325, |hash, value| {
        let mixed = (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 32)
    })
}

/// Compares a round's digest with that of a sequential computation.
///
/// # Errors
/// They differ.
pub fn compare(what: &str, rounds: u64, ours: u64, plain: u64) -> Result<(), Mismatch> {
    if ours == plain {
        return Ok(());
    }
    Err(Mismatch::new(
        format!("the digest of {what} after round {rounds}"),
        format!("{ours:016x}"),
        format!("{plain:016x}, that of a computation in one sequence"),
    ))
}
