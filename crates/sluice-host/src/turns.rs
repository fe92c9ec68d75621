//! Threads take turns on the cores.

use super::artifact::Artifact;
use super::sched::State;
use super::stream::Step;
use super::system::{Event, Host};
use sluice_units::Ps;

impl<A: Artifact> Host<'_, A> {
    /// The instruction at retirement had a long delay: another thread runs (SkyByte III-A).
    pub(super) fn switch(&mut self, number: usize) {
        let core = &mut self.cores[number];
        let Some(thread) = core.thread else {
            return;
        };
        let until = core.delayed_until();
        let head = core.squash(self.now, &mut self.write_backs);
        let state = &mut self.sched.threads[thread as usize];
        state.head = head;
        state.resumes_at = self.artifact.resumes_at(until);
        state.give_up(head);
        let work = state.spend_work(head);
        core.count_work(work);
        self.retired += u64::from(work);
        let at = self.now + self.l3_latency(number);
        while let Some(line) = self.write_backs.pop() {
            self.write_back(Some(line), at);
        }
        self.stop(number, thread);
        self.sched.make_ready(thread);
        if let Some(next) = self.sched.pick() {
            self.switch_to(number, next);
        }
    }

    /// A thread leaves its core.
    fn stop(&mut self, number: usize, thread: u32) {
        self.sched.stop(self.now, thread);
        self.cores[number].thread = None;
        self.spent[number].yields = false;
    }

    fn switch_to(&mut self, number: usize, thread: u32) {
        let switching = &self.config.switching;
        let cost = switching.cost + switching.mispredicts;
        if switching.flushes_l1 {
            self.cores[number].flush_l1();
        }
        self.switches += 1;
        self.spent[number].switching += cost;
        self.note(u64::from(thread));
        self.give(number, thread, self.now + cost);
    }

    /// A thread runs on a core from `at` on.
    pub(super) fn give(&mut self, number: usize, thread: u32, at: Ps) {
        let state = &mut self.sched.threads[thread as usize];
        state.since = at;
        let from = at.max(state.resumes_at);
        self.cores[number].start(thread, state.head, from);
        self.spent[number].since = at;
        self.events.push(from, Event::Run(number as u32));
    }

    /// All that a core's thread had issued has retired.
    pub(super) fn drained(&mut self, number: usize) {
        let Some(thread) = self.cores[number].thread else {
            return;
        };
        let yields = self.spent[number].yields;
        let head = self.cores[number].head();
        self.stop(number, thread);
        let state = &mut self.sched.threads[thread as usize];
        state.head = head;
        if yields {
            self.sched.make_ready(thread);
            if let Some(next) = self.sched.pick() {
                self.switch_to(number, next);
            }
            return;
        }
        self.program.drained(thread, self.now);
        match state.after() {
            Step::Mark(mark) => return self.pass_mark(number, thread, mark),
            Step::End => state.state = State::Ended,
            Step::Sleep(time) => {
                state.state = State::Asleep;
                self.events.push(self.now + time, Event::Wake(thread));
            }
            Step::Barrier | Step::More => self.sched.wait_at_barrier(thread),
        }
        self.note(u64::from(thread));
        self.release();
        self.ends();
        self.spent[number].since = self.now;
        self.fill_idle();
    }

    /// A thread is at a mark, and goes on where it is.
    fn pass_mark(&mut self, number: usize, thread: u32, mark: u32) {
        // Its core is not idle.
        self.spent[number].since = self.now;
        let figures = self.results();
        self.marks.push((mark, figures));
        self.note(u64::from(thread));
        self.sched.threads[thread as usize].go_on();
        self.give(number, thread, self.now);
    }

    /// A sleeper is asked whether it goes on.
    pub(super) fn wake_up(&mut self, thread: u32) {
        let state = &mut self.sched.threads[thread as usize];
        state.go_on();
        state.refill(self.program, thread);
        match self.sched.after_sleep(thread) {
            Step::Sleep(time) => self.events.push(self.now + time, Event::Wake(thread)),
            Step::End => {
                self.sched.threads[thread as usize].state = State::Ended;
                self.release();
                self.ends();
            }
            Step::More | Step::Barrier | Step::Mark(_) => self.sched.wake(self.now, thread),
        }
        self.fill_idle();
    }

    /// Notes it if the last thread has ended.
    fn ends(&mut self) {
        let mut threads = self.sched.threads.iter();
        if threads.all(|thread| thread.state == State::Ended) {
            self.ended = Some(self.now);
            let cores = self.cores.iter_mut().map(|core| &mut core.misses.waiting);
            let all = cores.chain([&mut self.l3.waiting]);
            all.for_each(|waiting| waiting.close(self.now));
        }
    }

    /// Lets the threads go if all are at the barrier.
    fn release(&mut self) {
        if self.sched.all_at_barrier() {
            self.end_phase();
            self.sched.release(self.now);
        }
    }

    /// Idle cores take threads that are ready: first the one that each ran last, which costs
    /// nothing, then those of others.
    fn fill_idle(&mut self) {
        for number in 0..self.cores.len() {
            let core = &self.cores[number];
            if let (None, Some(last)) = (core.thread, core.last)
                && self.sched.pick_this(last)
            {
                self.end_idle(number);
                self.give(number, last, self.now);
            }
        }
        for number in 0..self.cores.len() {
            if self.cores[number].thread.is_none()
                && let Some(next) = self.sched.pick()
            {
                self.end_idle(number);
                self.switch_to(number, next);
            }
        }
    }

    fn end_idle(&mut self, number: usize) {
        let spent = &mut self.spent[number];
        spent.idle += self.now.saturating_sub(spent.since);
    }
}
