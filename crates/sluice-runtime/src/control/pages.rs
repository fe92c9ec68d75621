//! Commands for ranges of pages: a few pages at a time, so that faults get in between.

use crate::clock::now_ns;
use crate::engine::Engine;
use crate::engine::state::Core;
use crate::engine::turn::{HOLD_NS, Unasked};
use crate::host::{MAPPED, OFF_DEVICE, PENDING, SAMPLED};
use crate::session::desk::Asked;
use core::cmp::Reverse;
use core::ops::Range;
use core::sync::atomic::Ordering::Release;
use sluice_abi::{CHANNELS, Completion, Counter, Operation, Reason, Status};
use sluice_model::{BlockOp, BlockRequest, Command, Done, Pattern, Refused};
use sluice_region::PAGE;
use sluice_units::{Lpn, Ps};
use std::collections::BinaryHeap;

/// Pages that may be on their way at once for all commands of a ring; they wait before they send
/// for more.
const ARRIVALS_MAX: usize = 1024;
/// A page that cannot be had yet is tried again after this.
const AGAIN_NS: u64 = 20_000;
/// The command is given up after so long without progress of any of its pages.
const PATIENCE_NS: u64 = 1_000_000_000;

/// Pages that commands of a ring sent for, by the time at which they will be there.
pub(super) struct Arrivals {
    /// Time, page and channel.
    pages: BinaryHeap<Reverse<(u64, u64, usize)>>,
    /// How many each channel's command waits for.
    of: [usize; CHANNELS],
}

impl Arrivals {
    pub fn new() -> Arrivals {
        Arrivals {
            pages: BinaryHeap::with_capacity(ARRIVALS_MAX),
            of: [0; CHANNELS],
        }
    }

    /// How many pages a channel's command waits for.
    pub fn of(&self, channel: usize) -> usize {
        self.of[channel]
    }

    fn next_ns(&self) -> Option<u64> {
        self.pages.peek().map(|Reverse((at_ns, _, _))| *at_ns)
    }

    fn is_full(&self) -> bool {
        self.pages.len() >= ARRIVALS_MAX
    }

    fn push(&mut self, at_ns: u64, lpn: u64, channel: usize) {
        self.of[channel] += 1;
        self.pages.push(Reverse((at_ns, lpn, channel)));
    }

    fn due(&mut self, now_ns: u64) -> Option<u64> {
        self.next_ns().filter(|at_ns| *at_ns <= now_ns)?;
        let Reverse((_, lpn, channel)) = self.pages.pop()?;
        self.of[channel] -= 1;
        Some(lpn)
    }
}

/// What became of one page.
enum Step {
    /// Something was done. With a time, the page is mapped then.
    Changed(Option<u64>),
    /// It was so already.
    Already,
    /// It was refused.
    Refused(Reason),
    /// It cannot be done before this time.
    NotBefore(u64),
}

/// A command on its way through its range.
pub(super) struct Job {
    operation: Operation,
    next: u64,
    end: u64,
    /// Pages that may be brought in before they would push each other out.
    room: u64,
    answer: Completion,
    /// Until when the next page cannot be had; 0 if it can.
    until_ns: u64,
    /// Since when no page got anywhere.
    stuck_ns: Option<u64>,
    /// All pages, of which a persistent store is asked at the end.
    all: Range<u64>,
    asked: Option<Asked>,
}

impl Job {
    /// A command for pages of the device. It is done when those that it brings in are there.
    pub fn new(engine: &Engine, operation: Operation, first: u64, pages: u64) -> Job {
        Job {
            operation,
            next: first,
            end: first + pages,
            room: engine.core().device.config().cache.pages.into(),
            answer: Completion {
                pages,
                ..Completion::new(0, Status::Done)
            },
            until_ns: 0,
            stuck_ns: None,
            all: first..first + pages,
            asked: None,
        }
    }

    /// Whether the store of a persistent device has what was flushed. Asked again and again.
    pub fn is_kept(&mut self, engine: &Engine) -> bool {
        let Some(desk) = engine.desk.filter(|_| self.operation == Operation::Flush) else {
            return true;
        };
        let asked = self.asked.get_or_insert_with(|| desk.ask(&self.all));
        match desk.look(asked) {
            None => false,
            Some(Ok(())) => true,
            Some(Err(_)) => {
                let a = &mut self.answer;
                (a.changed, a.already, a.refused) = (0, 0, a.pages);
                (a.reason, a.first_refused) = (Reason::Store, self.all.start * PAGE as u64);
                true
            }
        }
    }

    /// When there is something to do for it.
    pub fn next_ns(&self, arrivals: &Arrivals) -> u64 {
        let until_ns = if self.next < self.end {
            self.until_ns
        } else {
            u64::MAX
        };
        arrivals.next_ns().unwrap_or(u64::MAX).min(until_ns)
    }

    /// Whether all its pages have been dealt with, and those that it waits for are there.
    pub fn is_done(&self, waits_for: usize) -> bool {
        self.next == self.end && waits_for == 0
    }

    /// Whether it has waited for too long for its next page.
    fn is_out_of_patience(&mut self, now_ns: u64) -> bool {
        now_ns > *self.stuck_ns.get_or_insert(now_ns) + PATIENCE_NS
    }

    /// Goes on with its pages for a moment. The channel is the one that sent the command.
    pub fn some_pages(&mut self, engine: &Engine, arrivals: &mut Arrivals, channel: usize) {
        let mut core = Unasked::new(engine);
        let began_ns = now_ns();
        self.until_ns = 0;
        loop {
            let now = now_ns();
            if now > began_ns + HOLD_NS {
                break;
            }
            if let Some(lpn) = arrivals.due(now) {
                core.arrive(lpn, engine.device_time(now));
                continue;
            }
            if self.next == self.end {
                break;
            }
            let mut step = self.step(engine, arrivals, &mut core, now);
            if let Step::NotBefore(at_ns) = step {
                if !self.is_out_of_patience(now) {
                    self.until_ns = at_ns;
                    break;
                }
                step = Step::Refused(Reason::NoRoom);
            }
            if let Step::Changed(Some(at_ns)) = step {
                arrivals.push(at_ns, self.next, channel);
            }
            core.show(self.next);
            self.count(&step);
        }
        core.publish();
        core.give_way();
    }

    fn step(&mut self, engine: &Engine, arrivals: &Arrivals, core: &mut Core, now_ns: u64) -> Step {
        let brings_in = matches!(self.operation, Operation::Pin | Operation::Prefetch);
        let lpn = self.next;
        if brings_in && core.host.state[lpn as usize] & OFF_DEVICE != 0 {
            return Step::Refused(Reason::OffDevice);
        }
        if brings_in && arrivals.is_full() {
            return Step::NotBefore(arrivals.next_ns().unwrap_or(now_ns));
        }
        if let Some(pattern) = pattern_of(self.operation) {
            return core.take_advice(engine, lpn, pattern);
        }
        let now = engine.device_time(now_ns);
        if let Some(op) = block_of(self.operation) {
            let outcome = core.block(now, op, lpn);
            return self.block_step(engine, outcome, now_ns);
        }
        core.send_back(now, lpn);
        let step = match self.operation {
            Operation::Pin => core.obey(now, Command::Pin(Lpn::of(lpn))),
            Operation::Unpin if !core.device.is_pinned(Lpn::of(lpn)) => return Step::Already,
            Operation::Unpin => core.obey(now, Command::Unpin(Lpn::of(lpn))),
            Operation::Prefetch => core.prefetch(now, lpn, self),
            _ if !core.device.is_cached(Lpn::of(lpn)) => return Step::Already,
            Operation::Cold => core.obey(now, Command::Cold(Lpn::of(lpn))),
            // A thread is about to get the page.
            _ if core.host.state[lpn as usize] & PENDING != 0 => Outcome::NotBefore(now),
            Operation::Evict => core.evict(now, lpn),
            _ => core.flush(now, lpn),
        };
        let wall = |at: Ps| engine.wall_ns(at);
        match step {
            Outcome::Done(done) if !done.changed => Step::Already,
            Outcome::Done(done) => Step::Changed(brings_in.then(|| wall(done.at))),
            Outcome::Refused(reason) => Step::Refused(reason),
            Outcome::NotBefore(at) => Step::NotBefore(wall(at).max(now_ns + AGAIN_NS)),
        }
    }

    /// What became of a page of the block door: the command is done with its last page.
    fn block_step(&mut self, engine: &Engine, outcome: Outcome, now_ns: u64) -> Step {
        match outcome {
            Outcome::Done(done) => {
                let done_ns = engine.wall_ns(done.at).saturating_sub(engine.started_ns);
                self.answer.done_ns = self.answer.done_ns.max(done_ns);
                Step::Changed(None)
            }
            Outcome::Refused(reason) => Step::Refused(reason),
            Outcome::NotBefore(_) => Step::NotBefore(now_ns + AGAIN_NS),
        }
    }

    fn count(&mut self, step: &Step) {
        let counted = match step {
            Step::Changed(_) => &mut self.answer.changed,
            Step::Already => &mut self.answer.already,
            Step::Refused(_) => &mut self.answer.refused,
            Step::NotBefore(_) => return,
        };
        *counted += 1;
        if let Step::Refused(reason) = step
            && self.answer.refused == 1
        {
            self.answer.reason = *reason;
            self.answer.first_refused = self.next * PAGE as u64;
        }
        self.next += 1;
        self.stuck_ns = None;
    }

    pub fn finish(mut self) -> Completion {
        let a = &mut self.answer;
        a.status = match (a.changed, a.already, a.refused) {
            (0, _, 0) => Status::Nothing,
            (_, _, 0) => Status::Done,
            (0, 0, _) => Status::Refused,
            _ => Status::Partly,
        };
        self.answer
    }
}

/// What the model said to a command.
enum Outcome {
    Done(Done),
    Refused(Reason),
    NotBefore(Ps),
}

/// What an operation says of accesses to come.
fn pattern_of(operation: Operation) -> Option<Pattern> {
    Some(match operation {
        Operation::Normal => Pattern::Normal,
        Operation::Random => Pattern::Random,
        Operation::Sequential => Pattern::Sequential,
        _ => return None,
    })
}

/// What an operation asks of the block door.
fn block_of(operation: Operation) -> Option<BlockOp> {
    Some(match operation {
        Operation::BlockRead => BlockOp::Read,
        Operation::BlockWrite => BlockOp::Write,
        Operation::BlockTrim => BlockOp::Trim,
        _ => return None,
    })
}

impl Core {
    /// A page through the block door. The client has written its contents before.
    fn block(&mut self, now: Ps, op: BlockOp, lpn: u64) -> Outcome {
        let is_read = op == BlockOp::Read;
        // A thread is about to get the page.
        if !is_read && self.host.state[lpn as usize] & PENDING != 0 {
            return Outcome::NotBefore(now);
        }
        let request = BlockRequest::new(op, Lpn::of(lpn), 1);
        let answer = self.device.block(now, request, &mut self.host);
        self.carry_out(now);
        match answer {
            Ok(done) => {
                if !is_read {
                    self.host.programmed(lpn);
                }
                let (at, changed) = (done.done_at, true);
                Outcome::Done(Done { at, changed })
            }
            Err(Refused::ReadOnly) => Outcome::Refused(Reason::ReadOnly),
            Err(_) => Outcome::Refused(Reason::NoCache),
        }
    }

    fn take_advice(&mut self, engine: &Engine, lpn: u64, pattern: Pattern) -> Step {
        if self.device.advice(Lpn::of(lpn)) == pattern {
            return Step::Already;
        }
        engine.said.is_hinted.store(true, Release);
        self.device.advise(Lpn::of(lpn), 1, pattern);
        Step::Changed(None)
    }

    fn obey(&mut self, now: Ps, command: Command) -> Outcome {
        let answer = self.device.command(now, command, &mut self.host);
        self.carry_out(now);
        let reason = match answer {
            Ok(done) => return Outcome::Done(done),
            Err(Refused::InFlight(_, at)) => return Outcome::NotBefore(at),
            Err(Refused::NoRoom(_)) => return Outcome::NotBefore(now),
            Err(Refused::SetPinned { .. }) => Reason::SetPinned,
            Err(Refused::Pinned(_)) => Reason::Pinned,
            Err(Refused::IsMemory) => Reason::NoCache,
            Err(_) => Reason::NoRoom,
        };
        Outcome::Refused(reason)
    }

    fn prefetch(&mut self, now: Ps, lpn: u64, job: &Job) -> Outcome {
        if self.device.is_cached(Lpn::of(lpn)) {
            let (at, changed) = (now, false);
            return Outcome::Done(Done { at, changed });
        }
        if job.answer.changed + job.answer.already >= job.room {
            return Outcome::Refused(Reason::NoRoom);
        }
        let free_at = self.device.can_fill_at(now);
        if free_at > now {
            return Outcome::NotBefore(free_at);
        }
        let outcome = self.obey(now, Command::Prefetch(Lpn::of(lpn)));
        if let Outcome::Done(Done { changed: true, .. }) = outcome {
            self.live.change().add(Counter::CommandPrefetches, 1);
        }
        outcome
    }

    fn evict(&mut self, now: Ps, lpn: u64) -> Outcome {
        let outcome = self.obey(now, Command::Evict(Lpn::of(lpn)));
        let is_held = self.host.state[lpn as usize] & MAPPED != 0;
        match outcome {
            Outcome::Done(_) if is_held => Outcome::Refused(Reason::Held),
            outcome => outcome,
        }
    }

    /// Has the model program a page, if it was written. It stays cached.
    pub(crate) fn program(&mut self, now: Ps, lpn: u64) {
        // A page that cannot be had just now is written by nobody.
        let _ = self.flush(now, lpn);
    }

    /// The model has the page unmapped to learn whether it was written; the program gets it back.
    fn flush(&mut self, now: Ps, lpn: u64) -> Outcome {
        let was_mapped = self.host.state[lpn as usize] & MAPPED != 0;
        let outcome = self.obey(now, Command::Flush(Lpn::of(lpn)));
        self.host.adopt(lpn);
        let is_mapped = self.host.state[lpn as usize] & MAPPED != 0;
        if was_mapped && !is_mapped && self.host.map_unasked(lpn) {
            self.host.arrived(lpn);
        }
        outcome
    }

    /// A page that a command sent for is there: from now on its accesses are not seen.
    fn arrive(&mut self, lpn: u64, now: Ps) {
        let is_there = self
            .device
            .cached_at(Lpn::of(lpn))
            .is_some_and(|at| at <= now);
        let busy = MAPPED | PENDING | OFF_DEVICE | SAMPLED;
        let is_open = !self.host.closed.has(lpn as usize);
        if is_there
            && is_open
            && self.host.state[lpn as usize] & busy == 0
            && self.host.map_unasked(lpn)
        {
            self.host.adopt(lpn);
            self.host.arrived(lpn);
            self.device.expose(Lpn::of(lpn));
        }
        self.show(lpn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig;

    /// A fault would wait for the whole of it.
    #[test]
    fn a_long_command_is_done_piece_by_piece() {
        let engine = rig::engine(&[("device.capacity", "4GiB")]);
        let (mut arrivals, pages) = (Arrivals::new(), 1 << 20);
        let mut job = Job::new(engine, Operation::Evict, 0, pages);
        let mut before = 0;
        for _ in 0..3 {
            job.some_pages(engine, &mut arrivals, 0);
            assert!(job.next > before, "no page got anywhere");
            assert!(job.next < pages, "a million pages in {HOLD_NS} ns");
            before = job.next;
        }
        assert_eq!(job.answer.already, before);
    }

    /// What the program has it keeps, and it gets nothing for which it did not ask: its next access
    /// would not be seen.
    #[test]
    fn a_flush_leaves_mapped_what_was_mapped() {
        let engine = rig::engine(&[]);
        for lpn in 0..2 {
            rig::touch(engine, 1 + lpn, lpn, true);
            rig::store(engine, lpn, 7 + lpn);
        }
        assert!(engine.core().host.set_aside(1));
        for lpn in 0..2 {
            let now = engine.device_time(engine.started_ns + 1_000_000_000);
            let done = engine.core().flush(now, lpn);
            let is_flushed = matches!(done, Outcome::Done(Done { changed: true, .. }));
            assert!(is_flushed, "page {lpn}");
            assert_eq!(rig::is_there(engine, lpn), lpn == 0, "page {lpn}");
            assert_eq!(engine.core().host.mapped(), 1);
        }
        assert_eq!(rig::load(engine, 0), 7);
    }
}
