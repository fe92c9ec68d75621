//! Threads, and which of them runs next.

use super::config::Scheduling;
use super::stream::{Instr, Program, Step};
use sluice_units::{Ps, Rng};

/// Instructions behind a thread's position that are thrown away together.
const TRIM: usize = 1 << 14;

/// Long delays of one instruction in a row that end in context switches.
const PATIENCE: u32 = 64;

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    Running,
    AtBarrier,
    Asleep,
    Ended,
}

/// A thread of the program.
pub(super) struct Thread {
    pub state: State,
    /// Instructions that have not retired, and more.
    buffer: Vec<Instr>,
    /// The number of the first entry of `buffer`.
    base: u64,
    /// The number of the oldest entry that has not retired.
    pub head: u64,
    /// What comes after the last entry.
    after: Step,
    /// It issues nothing before this.
    pub resumes_at: Ps,
    /// Time it has had on cores, but for its present turn.
    ran: Ps,
    /// When its turn began, or begins.
    pub since: Ps,
    /// The entry that was given up last, and how often in a row.
    given_up: (u64, u32),
}

impl Thread {
    fn new() -> Thread {
        Thread {
            state: State::Ready,
            buffer: Vec::new(),
            base: 0,
            head: 0,
            after: Step::More,
            resumes_at: Ps::ZERO,
            ran: Ps::ZERO,
            since: Ps::ZERO,
            given_up: (u64::MAX, 0),
        }
    }

    /// Time it has had on cores.
    fn ran_by(&self, now: Ps) -> Ps {
        match self.state {
            State::Running => self.ran + (now - self.since),
            _ => self.ran,
        }
    }

    /// Its turn is over.
    fn stop(&mut self, now: Ps) {
        self.ran = self.ran_by(now);
    }

    /// The thread leaves its core because of this entry, and will come back to it.
    pub fn give_up(&mut self, number: u64) {
        let times = match self.given_up {
            (same, times) if same == number => times + 1,
            _ => 1,
        };
        self.given_up = (number, times);
    }

    /// Whether the entry was given up so often that the thread waits for it now: with less cache
    /// than threads, each page would leave before its thread is back.
    pub fn waits_for(&self, number: u64) -> bool {
        self.given_up.0 == number && self.given_up.1 >= PATIENCE
    }

    /// The entry with this number, if the program has given it out already.
    #[inline]
    pub fn entry(&self, number: u64) -> Option<Instr> {
        self.buffer.get((number - self.base) as usize).copied()
    }

    /// The instructions before an entry's own have retired: only that is left.
    pub fn spend_work(&mut self, number: u64) -> u16 {
        let entry = &mut self.buffer[(number - self.base) as usize];
        std::mem::take(&mut entry.work)
    }

    /// What comes after the entries that are there.
    pub fn after(&self) -> Step {
        self.after
    }

    /// The barrier, or the sleep, is behind it.
    pub fn go_on(&mut self) {
        self.after = Step::More;
    }

    /// Gets the next stretch of the program.
    pub fn refill(&mut self, program: &mut dyn Program, thread: u32) {
        let retired = (self.head - self.base) as usize;
        if retired >= TRIM {
            self.buffer.drain(..retired);
            self.base = self.head;
        }
        if self.after == Step::More {
            let before = self.buffer.len();
            self.after = program.fill(thread, &mut self.buffer);
            // Else the host would ask for ever.
            let gave = self.buffer.len() > before || self.after != Step::More;
            assert!(gave, "a stretch, or something else than more");
        }
    }
}

/// All threads, and those that are ready in the order in which they became so.
pub(super) struct Scheduler {
    pub threads: Vec<Thread>,
    ready: Vec<u32>,
    /// Those at the barrier, in the order in which they came.
    at_barrier: Vec<u32>,
    policy: Scheduling,
    rng: Rng,
    /// The least time on cores of those that could run, when one last left its core: what nobody
    /// gets back who wakes, as with Linux's `min_vruntime`.
    floor: Ps,
}

impl Scheduler {
    pub fn new(threads: u32, policy: Scheduling, seed: u64) -> Scheduler {
        Scheduler {
            threads: (0..threads).map(|_| Thread::new()).collect(),
            ready: (0..threads).collect(),
            at_barrier: Vec::new(),
            policy,
            rng: Rng::stream(seed, "scheduler"),
            floor: Ps::ZERO,
        }
    }

    /// The least time on cores of those that can run.
    fn least(&self, now: Ps) -> Option<Ps> {
        let threads = self.threads.iter();
        let can_run = threads.filter(|it| matches!(it.state, State::Ready | State::Running));
        can_run.map(|thread| thread.ran_by(now)).min()
    }

    /// A running thread's turn is over.
    pub fn stop(&mut self, now: Ps, thread: u32) {
        self.floor = self.floor_at(now);
        self.threads[thread as usize].stop(now);
    }

    /// A running or waiting thread can run.
    pub fn make_ready(&mut self, thread: u32) {
        self.threads[thread as usize].state = State::Ready;
        self.ready.push(thread);
    }

    /// A thread has waited: it does not get the time back that others had meanwhile, whether one
    /// of them can run now or not.
    pub fn wake(&mut self, now: Ps, thread: u32) {
        let floor = self.floor_at(now);
        self.wake_from(floor, thread);
    }

    fn floor_at(&self, now: Ps) -> Ps {
        self.floor.max(self.least(now).unwrap_or(Ps::ZERO))
    }

    fn wake_from(&mut self, floor: Ps, thread: u32) {
        let sleeper = &mut self.threads[thread as usize];
        sleeper.ran = sleeper.ran.max(floor);
        self.make_ready(thread);
    }

    /// A thread is at the barrier.
    pub fn wait_at_barrier(&mut self, thread: u32) {
        self.threads[thread as usize].state = State::AtBarrier;
        self.at_barrier.push(thread);
    }

    /// Lets all go on that are at the barrier: who came first is the first to be ready, as with a
    /// futex. None of them was running when another woke.
    pub fn release(&mut self, now: Ps) {
        let floor = self.floor_at(now);
        for thread in std::mem::take(&mut self.at_barrier) {
            self.threads[thread as usize].go_on();
            self.wake_from(floor, thread);
        }
    }

    /// Whether somebody waits for a core.
    pub fn waiting(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Takes this thread, if it is ready.
    pub fn pick_this(&mut self, thread: u32) -> bool {
        let place = self.ready.iter().position(|ready| *ready == thread);
        place.map(|place| self.run(place)).is_some()
    }

    /// Takes this thread, if it is ready, off to sleep.
    pub fn put_to_sleep(&mut self, thread: u32) -> bool {
        let taken = self.pick_this(thread);
        if taken {
            self.threads[thread as usize].state = State::Asleep;
        }
        taken
    }

    /// Takes the thread that the policy names.
    pub fn pick(&mut self) -> Option<u32> {
        let count = self.ready.len();
        if count == 0 {
            return None;
        }
        let place = match self.policy {
            Scheduling::RoundRobin => 0,
            Scheduling::Random => self.rng.below(count as u64) as usize,
            Scheduling::Fair => {
                let key = |place: &usize| self.threads[self.ready[*place] as usize].ran;
                (0..count).min_by_key(key).unwrap_or(0)
            }
        };
        Some(self.run(place))
    }

    fn run(&mut self, place: usize) -> u32 {
        let thread = self.ready.remove(place);
        self.threads[thread as usize].state = State::Running;
        thread
    }

    /// What a thread does that has slept.
    pub fn after_sleep(&self, thread: u32) -> Step {
        let state = &self.threads[thread as usize];
        match state.entry(state.head) {
            Some(_) => Step::More,
            None => state.after(),
        }
    }

    /// Whether every thread that has not ended is at the barrier, and somebody is.
    pub fn all_at_barrier(&self) -> bool {
        let mut states = self.threads.iter().map(|thread| thread.state);
        !self.at_barrier.is_empty()
            && states.all(|state| matches!(state, State::AtBarrier | State::Ended))
    }
}
