//! The flash array: channels, dies and planes, and what each is doing when.
//!
//! An operation is reserved in the chain of its die and, for its transfers, on its channel. In
//! FIFO order that is all: each waits for those that came before it. With reads first, only what
//! is waited for is reserved; the rest is posted, see `posted.rs`. What is asked for ahead of its
//! time comes when that time has come, see `ahead.rs`; only reads, which are answered at once,
//! are reserved then.

mod ahead;
mod array;
mod cells;
mod current;
mod divisor;
mod flash;
mod log_ends;
mod op;
mod outlook;
mod packed;
mod places;
mod posted;
mod queues;
mod spans;
mod timeline;

use crate::config::Settings;
use crate::layout::{Block, Die, Layout};
use crate::stats::Stats;
use ahead::{Ahead, Dated};
use array::Array;
use cells::Cells;
use divisor::Divisor;
pub(crate) use flash::Flash;
pub use flash::{BadBlock, Origin, ProgramEnd, Served};
use log_ends::LogEnds;
use op::{Op, Verb};
use packed::PostedOp;
use places::Places;
use posted::Posted;
use queues::Queues;
use sluice_units::{Ppn, Ps};

/// The flash array's timing state.
pub(crate) struct Nand {
    layout: Layout,
    cells: Cells,
    array: Array,
    /// What is not waited for, with reads first.
    posted: Option<Posted>,
    /// The dies' places, in the order of requests.
    places: Option<Places>,
    /// What is asked for ahead of its time.
    ahead: Ahead,
    /// Programs of the write log where the order is that of requests.
    log_ends: LogEnds,
    /// The latest program that a store waits for.
    stored: Option<Served>,
    /// Whether planes and pages within blocks matter.
    has_planes: bool,
    /// The time of every read of the host, if nothing else decides about it.
    plain_read: Option<Ps>,
    dies_by_page: Divisor,
}

impl Nand {
    pub fn new(settings: &Settings, seed: u64) -> Nand {
        let rules = settings.nand.read_first.as_ref();
        let layout = Layout::new(settings);
        let (cells, array) = (Cells::new(&settings.nand, seed), Array::new(&settings.nand));
        let plain = rules.is_none() && array.is_plain();
        let log = settings.write_log.as_ref();
        let log_programs = log.map_or(0, |log| log.coalescing_buffers);
        Nand {
            plain_read: cells.one_read().filter(|_| plain),
            dies_by_page: Divisor::new(layout.pages_per_plane() * layout.planes),
            layout,
            cells,
            array,
            places: rules.is_none().then(|| Places::new(&settings.nand)),
            posted: rules.map(|rules| Posted::new(&settings.nand, rules, log_programs)),
            ahead: Ahead::new(),
            log_ends: LogEnds::new(log_programs),
            stored: None,
            has_planes: settings.nand.planes > 1,
        }
    }

    /// Reads, programs and erases asked for from now on take the times of these settings.
    pub fn retime(&mut self, settings: &Settings) {
        self.cells.retime(&settings.nand);
        let watched = self.array.queues.is_some();
        let plain = !watched && self.posted.is_none() && self.array.is_plain();
        self.plain_read = self.cells.one_read().filter(|_| plain);
    }

    /// Nothing will be asked for before `now`.
    pub fn pass(&mut self, now: Ps) {
        self.release(now);
        self.array.pass(now);
    }

    /// Lets begin what was asked for ahead of a time that has come.
    #[inline]
    fn release(&mut self, now: Ps) {
        while let Some(dated) = self.ahead.take_first(now) {
            self.start(&dated);
        }
    }

    /// When every die has done what it has been asked for. Nothing may be asked for before that.
    pub fn at_rest(&mut self) -> Ps {
        self.release(Ps(u64::MAX));
        let idle = self.array.dies().map(|die| match &mut self.posted {
            None => self.array.free_at(die),
            Some(posted) => {
                posted.play(Ps::MAX, die, &mut self.array);
                posted.idle_at(die, &self.array)
            }
        });
        idle.max().unwrap_or_default()
    }

    /// Counts from now on what each channel has been asked for. Allocates.
    pub fn watch(&mut self) {
        self.plain_read = None;
        self.array.queues = Some(Queues::new(self.layout.channels));
    }

    /// Writes down what it has counted.
    pub fn count(&self, stats: &mut Stats) {
        if self.plain_read.is_some() {
            return;
        }
        stats.read_retries = self.cells.retries();
        if let Some(posted) = &self.posted {
            stats.suspensions = posted.suspensions;
            stats.forced_writes = posted.forced;
        }
    }

    /// When a program of the write log ends: asked right after the program was, and again at the
    /// moment that an earlier answer named.
    pub fn program_end(&mut self, now: Ps, ppn: Ppn) -> ProgramEnd {
        let die = self.layout.die_of(ppn);
        match &mut self.posted {
            Some(posted) => posted.ask(ppn),
            None => self.log_ends.ask(ppn),
        }
        while let Some(dated) = self.ahead.take_of_die(now, die) {
            self.start(&dated);
        }
        if let Some(Dated { asked, .. }) = self.ahead.program_of(ppn) {
            return ProgramEnd::NotBefore(asked.ready_at + asked.op.time);
        }
        if let Some(posted) = &mut self.posted {
            return posted.program_end(now, die, ppn, &mut self.array);
        }
        let end = self.log_ends.take(ppn);
        ProgramEnd::At(end.expect("the log asks until it knows the end"))
    }

    #[inline]
    fn op(&self, verb: Verb, origin: Origin, die: Die, ppn: Ppn, time: Ps) -> Op {
        let (plane, offset) = match self.has_planes {
            true => (
                self.layout.plane_of(ppn).0 % self.layout.planes,
                ppn.0 % self.layout.pages_per_block,
            ),
            false => (0, 0),
        };
        Op {
            verb,
            origin,
            channel: self.layout.channel_of_die(die),
            die,
            plane,
            offset,
            time,
        }
    }

    /// Has something done that nobody waits for, at `at` or later. `programs`: the page, if it is a
    /// program; `held`: the controller has its data.
    fn post(&mut self, at: Ps, op: Op, programs: Option<Ppn>, held: bool) {
        let asked = PostedOp {
            op,
            ready_at: at,
            held: programs.filter(|_| held),
        };
        self.ask(Dated {
            asked,
            die: op.die,
            programs,
            source: None,
        });
    }

    fn ask(&mut self, dated: Dated) {
        self.ahead.insert(dated);
        self.release(self.array.horizon());
        if self.ahead.is_over_full()
            && let Some(first) = self.ahead.take_first(Ps(u64::MAX))
        {
            self.start(&first);
        }
    }

    /// Lets an operation come to its die, now that its time has come.
    fn start(&mut self, dated: &Dated) {
        let Dated { asked, .. } = *dated;
        let at = asked.ready_at;
        if let Some(source) = dated.source {
            let read = self.read_fully(at, source, asked.op.origin);
            return self.ahead.insert(Dated {
                asked: PostedOp {
                    ready_at: read.map_or(at, |read| read.done_at),
                    ..asked
                },
                die: asked.op.die,
                source: None,
                ..*dated
            });
        }
        if let Some(posted) = &mut self.posted {
            posted.play(at, asked.op.die, &mut self.array);
            return posted.post(at, &asked, &mut self.array);
        }
        let (start, run) = self.array.append(at, at, &asked.op);
        if let Some(places) = &mut self.places {
            places.take(&asked.op, start, run.end);
        }
        match (dated.programs, asked.op.origin) {
            (Some(ppn), Origin::Log) => self.log_ends.begin(ppn, run.end),
            (Some(_), Origin::Store) => {
                self.stored = Some(self.waited(at, start, run.end, &asked.op))
            }
            _ => {}
        }
    }

    /// What an operation's time went into that was asked for at `at`, began at `start` and was done
    /// at `done_at`.
    fn waited(&self, at: Ps, start: Ps, done_at: Ps, op: &Op) -> Served {
        let gc = self.array.gc_within(at, start, op.die);
        // One that joins another takes less than one alone.
        let service = self.array.service(op).min(done_at - at - gc);
        Served {
            done_at,
            queue: done_at - at - gc - service,
            gc,
            service,
        }
    }

    /// What the program of a page takes that a store asked for at `at`, and waits for. Only where
    /// operations are served in the order in which they come.
    pub fn await_program(&mut self, at: Ps, ppn: Ppn) -> Served {
        let die = self.layout.die_of(ppn);
        while let Some(dated) = self.ahead.take_of_die(at, die) {
            self.start(&dated);
        }
        self.stored.take().expect("the program of a store")
    }

    /// When the die of a page that was just programmed, at `at`, has a place for it.
    pub fn held_at(&mut self, at: Ps, ppn: Ppn) -> Ps {
        let die = self.layout.die_of(ppn);
        while let Some(dated) = self.ahead.take_of_die(at, die) {
            self.start(&dated);
        }
        match (&self.places, &self.posted) {
            (Some(places), _) => places.held_at(at, die),
            (None, Some(posted)) => posted.held_at(at, die),
            (None, None) => at,
        }
    }

    /// When all is programmed that the host wrote before `at`: exactly where dies work in the order
    /// of requests, else about.
    pub fn programmed_at(&mut self, at: Ps) -> Ps {
        self.release(at);
        let ends = self.array.dies().map(|die| {
            let end = match (&self.places, &mut self.posted) {
                (Some(places), _) => places.programmed_at(die),
                (None, Some(posted)) => {
                    posted.play(at, die, &mut self.array);
                    posted.programmed_at(die, &self.array)
                }
                (None, None) => at,
            };
            self.ahead.programmed_at(die, end)
        });
        ends.fold(at, Ps::max)
    }

    /// About when the die of a page has done all that it was asked for.
    pub fn idle_of(&self, ppn: Ppn) -> Ps {
        self.idle_at(self.layout.block_of(ppn))
    }

    /// Lets begin what a read of a page waits for.
    fn start_before_read(&mut self, now: Ps, ppn: Ppn) {
        let die = self.layout.die_of(ppn);
        while let Some(dated) = self.ahead.take_before_read(now, die, ppn) {
            self.start(&dated);
        }
    }

    fn read_fully(&mut self, now: Ps, ppn: Ppn, origin: Origin) -> Option<Served> {
        let die = self.layout.die_of(ppn);
        if let Some(posted) = &mut self.posted {
            posted.play(now, die, &mut self.array);
            if posted.holds(now, die, ppn) {
                return None;
            }
        }
        let time = self.cells.read(ppn);
        let op = self.op(Verb::Read, origin, die, ppn, time);
        let (start, run, mut gc) = match &mut self.posted {
            None => {
                let (start, run) = self.array.append(now, now, &op);
                (start, run, Ps::ZERO)
            }
            Some(posted) => posted.read(now, &op, &mut self.array),
        };
        gc += self.array.gc_within(now, start, op.die);
        let service = self.array.service(&op);
        Some(Served {
            done_at: run.done_at,
            queue: run.done_at - now - gc - service,
            gc,
            service,
        })
    }
}

impl Flash for Nand {
    #[inline]
    fn read(&mut self, now: Ps, ppn: Ppn, origin: Origin) -> Option<Served> {
        if !self.ahead.is_empty() {
            self.start_before_read(now, ppn);
        }
        match self.plain_read {
            Some(time) if origin != Origin::Gc => {
                let die = Die(self.dies_by_page.divide(ppn.0));
                Some(self.array.read_plainly(now, die, time))
            }
            _ => self.read_fully(now, ppn, origin),
        }
    }

    fn program(&mut self, now: Ps, ppn: Ppn, origin: Origin) -> Result<(), BadBlock> {
        let (time, result) = self.cells.program(ppn);
        let op = self.op(Verb::Program, origin, self.layout.die_of(ppn), ppn, time);
        self.post(now, op, Some(ppn), true);
        result
    }

    fn copy(&mut self, now: Ps, from: Ppn, to: Ppn, origin: Origin) -> Result<(), BadBlock> {
        let (time, result) = self.cells.program(to);
        let program = self.op(Verb::Program, origin, self.layout.die_of(to), to, time);
        let die = self.layout.die_of(from);
        if self.ahead.program_of(from).is_some() {
            self.start_before_read(now, from);
        }
        if die == program.die {
            let time = self.cells.read(from);
            let read = self.op(Verb::Read, origin, die, from, time);
            self.post(now, read, None, false);
            self.post(now, program, Some(to), false);
        } else {
            let asked = PostedOp {
                op: program,
                ready_at: now,
                held: None,
            };
            self.ask(Dated {
                asked,
                die,
                programs: Some(to),
                source: Some(from),
            });
        }
        result
    }

    fn erase(&mut self, now: Ps, block: Block, origin: Origin) -> Result<(), BadBlock> {
        let (time, result) = self.cells.erase(block);
        let ppn = self.layout.first_page_of(block);
        let die = self.layout.die_of_block(block);
        let op = self.op(Verb::Erase, origin, die, ppn, time);
        self.post(now, op, None, false);
        result
    }

    fn idle_at(&self, block: Block) -> Ps {
        let die = self.layout.die_of_block(block);
        let idle_at = match &self.posted {
            None => self.array.free_at(die),
            Some(posted) => posted.idle_at(die, &self.array),
        };
        self.ahead.idle_at(die, idle_at)
    }
}

#[cfg(test)]
mod tests;
