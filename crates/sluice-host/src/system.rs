//! The event loop of a host.

use super::artifact::{Artifact, Before, NoArtifact};
use super::config::{HostConfig, Start};
use super::core::{Core, Pause, Sent};
use super::l3::{Found, SharedCache};
use super::length::RunLength;
use super::memory::Memory;
use super::phase::Phase;
use super::port::Port;
use super::sched::Scheduler;
use super::stats::{HostStats, Sample};
use super::stream::{Program, Step};
use super::tags::LINES_MAX;
use sluice_events::Wheel;
use sluice_model::{Device, Stats};
use sluice_units::{Bytes, Fnv, LINE_BYTES, PAGE_BYTES, Ps};

/// Most memory that a program can have.
pub const MEMORY_MAX: Bytes = Bytes(LINES_MAX * LINE_BYTES / PAGE_BYTES * PAGE_BYTES);
/// How far a core runs ahead of the common clock in what only it sees.
const AHEAD: Ps = Ps::from_us(1);
/// Events between two calls of the caller's watch.
const WATCH_EVERY: u64 = 1 << 14;

#[derive(Clone, Copy)]
pub(super) enum Event {
    /// A core goes on.
    Run(u32),
    /// A miss of a core has left its L2. Means nothing after a squash.
    Access { core: u32, miss: u32, epoch: u32 },
    /// The L3 may have an MSHR for a miss that holds one of its core.
    Again {
        core: u32,
        miss: u32,
        mshr: u16,
        epoch: u32,
    },
    /// The line of a core's miss has come.
    Line { core: u32, miss: u32 },
    /// A line that a program sends to memory has left a core's L2.
    Flush { core: u32, sent: Sent },
    /// It is the time of a core's access to a shared line. Means nothing after a squash.
    Reach { core: u32, place: u16, epoch: u32 },
    /// An MSHR is free for the first of a core's misses that wait for one.
    Retry { core: u32, epoch: u32 },
    /// An instruction with a long delay is at retirement.
    Delay(u32),
    /// A core has no more work before a barrier, a sleep, its thread's end or the end of its time
    /// slice.
    Drained(u32),
    /// A thread has slept.
    Wake(u32),
}

/// Time of a core that is not in its own counters.
#[derive(Clone, Copy, Default)]
pub(super) struct Spent {
    pub switching: Ps,
    pub idle: Ps,
    /// Since when its thread has run, or it has been idle; in a switch, when that is over.
    pub since: Ps,
    /// It stops as soon as it can, because its time slice is over.
    pub yields: bool,
}

/// A host at work.
///
/// [`simulate`] runs one with its device. One whose memory is elsewhere is driven by
/// [`Host::step`], [`Host::take_asks`] and [`Host::answer`].
pub struct Host<'a, A = NoArtifact> {
    pub(super) config: &'a HostConfig,
    pub(super) artifact: A,
    pub(super) program: &'a mut dyn Program,
    pub(super) now: Ps,
    pub(super) events: Wheel<Event>,
    pub(super) cores: Vec<Core<A>>,
    pub(super) spent: Vec<Spent>,
    pub(super) l3: SharedCache,
    pub(super) memory: Memory<A>,
    pub(super) sched: Scheduler,
    /// Instructions retired since the beginning.
    pub(super) retired: u64,
    /// When counting began.
    pub(super) began: Ps,
    /// When the last thread ended. What its stores still wait for makes no run longer.
    pub(super) ended: Option<Ps>,
    /// The device's counters then.
    pub(super) device_began: Stats,
    pub(super) switches: u64,
    pub(super) shootdowns: u64,
    pub(super) timeline: Vec<Sample>,
    pub(super) sampled: Sample,
    pub(super) hash: Fnv,
    pub(super) phase: Phase,
    /// What was counted up to each mark, by the mark's number.
    pub(super) marks: Vec<(u32, HostStats)>,
    /// Lines on their way from an L2 to the L3.
    pub(super) write_backs: Vec<u32>,
    /// Where its requests leave it, if its memory is elsewhere.
    pub(super) port: Option<Box<Port>>,
}

/// Runs a program on a host with a device that nobody has used.
///
/// Now and then `watch` gets the number of instructions that have retired, and returns whether to
/// go on. The returned device has its own counters, which cover the warm-up too; those of the
/// measured part are in the statistics. A run whose [`HostStats::until`] is after [`Ps::LAST`]
/// stopped there.
///
/// # Panics
/// If the program's memory is larger than the device, or it has not as many threads as the host.
pub fn simulate(
    config: &HostConfig,
    device: Device,
    program: &mut dyn Program,
    length: RunLength,
    watch: &mut dyn FnMut(u64) -> bool,
) -> (HostStats, Device) {
    simulate_artifact(config, NoArtifact, device, program, length, watch)
}

/// Runs a program as [`simulate`] does, on a host that departs from a real one as an artifact does.
///
/// # Panics
/// As [`simulate`].
pub fn simulate_artifact<A: Artifact>(
    config: &HostConfig,
    artifact: A,
    device: Device,
    program: &mut dyn Program,
    length: RunLength,
    watch: &mut dyn FnMut(u64) -> bool,
) -> (HostStats, Device) {
    let footprint = program.footprint().0;
    let before = artifact.before();
    let others = config.pages_of_others(device.config().cache.pages, &before);
    assert!(footprint + others * PAGE_BYTES <= device.config().capacity().0);
    assert!(footprint <= MEMORY_MAX.0);
    assert_eq!(program.threads(), config.threads);
    let memory = Memory::with_artifact(config, artifact.clone(), device);
    let mut host = Host::new(config, artifact, memory, program);
    host.memory.scan(footprint.div_ceil(PAGE_BYTES));
    host.fill(others, &before);
    host.start();
    if let Some(instructions) = host.artifact.rests_after(&length) {
        host.run(instructions, Ps::ZERO, watch);
        host.memory.settle();
    }
    host.run(length.warmup, Ps::ZERO, watch);
    host.reset();
    host.run(length.end(host.retired), length.sample_every, watch);
    let stats = host.finish();
    (stats, host.memory.into_device())
}

impl<'a, A: Artifact> Host<'a, A> {
    pub(super) fn new(
        config: &'a HostConfig,
        artifact: A,
        mut memory: Memory<A>,
        program: &'a mut dyn Program,
    ) -> Host<'a, A> {
        let cores = 0..config.cpu.cores;
        if config.local_in_host {
            memory.keep(program.local());
        }
        let phase = Phase::new(program);
        Host {
            config,
            artifact: artifact.clone(),
            program,
            now: Ps::ZERO,
            events: Wheel::with_capacity(4096),
            spent: vec![Spent::default(); config.cpu.cores as usize],
            cores: cores
                .map(|_| Core::new(&config.cpu, config.coordinated, artifact.clone()))
                .collect(),
            l3: SharedCache::new(&config.cpu),
            memory,
            sched: Scheduler::new(config.threads, config.scheduling, config.seed),
            retired: 0,
            began: Ps::ZERO,
            ended: None,
            device_began: Stats::default(),
            switches: 0,
            shootdowns: 0,
            timeline: Vec::new(),
            sampled: Sample::default(),
            hash: Fnv::default(),
            phase,
            marks: Vec::new(),
            write_backs: Vec::new(),
            port: None,
        }
    }

    pub(super) fn start(&mut self) {
        for thread in 0..self.config.threads {
            if let Some(time) = self.program.sleeps_first(thread)
                && self.sched.put_to_sleep(thread)
            {
                self.events.push(time, Event::Wake(thread));
            }
        }
        for core in 0..self.cores.len() {
            if let Some(thread) = self.sched.pick() {
                self.give(core, thread, Ps::ZERO);
            }
        }
    }

    /// Until so many instructions have retired, or the program or the clock has ended.
    fn run(&mut self, end: u64, sample_every: Ps, watch: &mut dyn FnMut(u64) -> bool) {
        let mut count = 0u64;
        while self.retired < end && self.now <= Ps::LAST {
            if !self.step() {
                break;
            }
            if sample_every > Ps::ZERO {
                self.sample(sample_every);
            }
            count += 1;
            if count.is_multiple_of(WATCH_EVERY) && !watch(self.retired) {
                break;
            }
        }
    }

    /// Fills host memory and the device's cache with what they have at the start.
    pub(super) fn fill(&mut self, others: u64, before: &Before) {
        match self.config.start {
            Start::Empty => {}
            Start::Full => self.memory.fill(self.program, before.used),
            Start::Others => self.memory.fill_with_others(others, before),
        }
    }

    /// Handles the next event; false if there is none.
    #[inline]
    pub fn step(&mut self) -> bool {
        let Some((at, event)) = self.events.pop() else {
            return false;
        };
        self.run_memory(at);
        self.now = at;
        self.handle(event);
        true
    }

    /// What memory does on its own up to this time.
    fn run_memory(&mut self, until: Ps) {
        while let Some(at) = self.memory.next_event().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.memory.run(at);
            self.shoot_down();
        }
    }

    /// Cores lose the translations that have changed, and time.
    fn shoot_down(&mut self) {
        while let Some(moved) = self.memory.take_moved() {
            let cost = match moved.shootdown {
                true => self.config.cpu.tlb.shootdown,
                false => Ps::ZERO,
            };
            self.shootdowns += u64::from(moved.shootdown);
            for core in &mut self.cores {
                core.shoot_down(moved.first, moved.pages, cost);
            }
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Run(core) => self.advance(core as usize),
            Event::Access { core, miss, epoch } => {
                if self.cores[core as usize].epoch == epoch {
                    self.access(core as usize, miss);
                }
            }
            Event::Again {
                core,
                miss,
                mshr,
                epoch,
            } => self.look_up_again(core as usize, miss, usize::from(mshr), epoch),
            Event::Line { core, miss } => self.line_is_there(core as usize, miss),
            Event::Flush { core, sent } => self.flush(core as usize, sent),
            Event::Retry { core, epoch } => {
                if self.cores[core as usize].epoch == epoch {
                    self.retry(core as usize);
                }
            }
            Event::Reach { core, place, epoch } => {
                if self.cores[core as usize].epoch == epoch {
                    self.reach(core as usize, place);
                }
            }
            Event::Delay(core) => self.switch(core as usize),
            Event::Drained(core) => self.drained(core as usize),
            Event::Wake(thread) => self.wake_up(thread),
        }
    }

    pub(super) fn note(&mut self, what: u64) {
        for word in [self.now.0, what] {
            self.hash.word(word);
        }
    }

    /// A core runs on as far as it can.
    fn advance(&mut self, number: usize) {
        let Some(thread) = self.cores[number].thread else {
            return;
        };
        self.preempt(number);
        let before = self.cores[number].stats.instructions;
        let limit = self.now + AHEAD;
        let pause = loop {
            let core = &mut self.cores[number];
            let pause = match self.spent[number].yields {
                true => core.drain(),
                false => {
                    let thread = &self.sched.threads[thread as usize];
                    core.run(self.now, limit, thread, &mut self.memory)
                }
            };
            if pause != Pause::Starved {
                break pause;
            }
            let state = &mut self.sched.threads[thread as usize];
            if state.after() != Step::More {
                break core.drain();
            }
            state.head = core.head();
            state.refill(self.program, thread);
        };
        self.retired += self.cores[number].stats.instructions - before;
        self.let_go(number);
        let core = number as u32;
        match pause {
            Pause::Later(at) => self.events.push(at.max(self.now), Event::Run(core)),
            Pause::Delayed(at) => self.events.push(at.max(self.now), Event::Delay(core)),
            Pause::Drained(at) => self.events.push(at.max(self.now), Event::Drained(core)),
            Pause::Blocked | Pause::Starved => {}
        }
    }

    /// A thread that has had its slice makes room for one that waits.
    fn preempt(&mut self, number: usize) {
        let over = self.now.saturating_sub(self.spent[number].since) > self.config.slice;
        if over && self.sched.waiting() {
            self.spent[number].yields = true;
        }
    }

    /// Misses that have left the L2 become events.
    pub(super) fn let_go(&mut self, number: usize) {
        let core = &mut self.cores[number];
        if core.left.is_empty() && core.sent.is_empty() && core.passed.is_empty() {
            if !core.later.is_empty() {
                self.let_go_later(number);
            }
            return;
        }
        let epoch = core.epoch;
        for (at, miss) in core.left.drain(..) {
            let core = number as u32;
            self.events
                .push(at.max(self.now), Event::Access { core, miss, epoch });
        }
        for (at, sent) in core.sent.drain(..) {
            let core = number as u32;
            self.events
                .push(at.max(self.now), Event::Flush { core, sent });
        }
        while let Some(line) = self.cores[number].passed.pop() {
            self.write_back(Some(line), self.now + self.l3_latency(number));
        }
        self.let_go_later(number);
    }

    /// A miss is at the L3.
    pub(super) fn look_up(&mut self, number: usize, miss: u32, mshr: usize) {
        let line = self.cores[number].misses.get(miss).line;
        if self.joins(number, miss, mshr) {
            return;
        }
        let at = self.now + self.l3_latency(number);
        match self.l3.find(self.now, line, at) {
            Found::Busy(until) => {
                let (core, epoch) = (number as u32, self.keep_mshr(number, mshr));
                let mshr = mshr as u16;
                let again = Event::Again {
                    core,
                    miss,
                    mshr,
                    epoch,
                };
                self.events.push(until, again);
            }
            Found::Line(_) if self.lacks_right(number, miss) => self.ask(number, miss, mshr, at),
            Found::Line(ready) => {
                self.cores[number].misses.take_mshr(mshr, ready);
                let core = &mut self.cores[number];
                if core.artifact.found_in_l3(miss)
                    && (!core.written(line) || self.artifact.loses_l2_victims())
                {
                    self.put(line, at);
                }
                self.get_line(number, miss, ready, at);
            }
            Found::Full => self.wait_for_answer(number, miss, mshr),
            Found::Nothing => self.fetch(number, miss, mshr, at),
        }
    }

    /// A line comes from outside the processor, or a message that it will not come soon.
    fn fetch(&mut self, number: usize, miss: u32, mshr: usize, at: Ps) {
        let core = &self.cores[number];
        let (line, writes) = (core.misses.get(miss).line, core.artifact.writes(miss));
        let can_delay = self.config.coordinated && !self.is_patient(number);
        let addr = u64::from(line) * 64;
        if self.is_outside(addr) {
            return self.ask(number, miss, mshr, at);
        }
        // What is due before is nobody's.
        self.memory.run(at);
        self.memory.by(Some(number as u64));
        let answer = match writes {
            true => self.memory.store(at, addr, can_delay),
            false => self.memory.read(at, addr, can_delay),
        };
        self.l3.take_mshr(answer.done_at);
        self.cores[number].misses.take_mshr(mshr, answer.done_at);
        self.note(answer.done_at.0);
        self.shoot_down();
        if !answer.delayed || self.artifact.fills_delayed() {
            let victim = self.l3.fill(self.now, line, answer.done_at);
            self.displaced(victim, at);
        }
        if !answer.delayed {
            return self.get_line(number, miss, answer.done_at, at);
        }
        let write_back = self.cores[number].misses.get(miss).write_back;
        self.cores[number].delay(miss, answer.done_at, answer.data_at);
        self.write_back(write_back, at);
        self.wake(number);
    }

    /// Whether a core's thread waits for its oldest instruction whatever comes.
    pub(super) fn is_patient(&self, number: usize) -> bool {
        let core = &self.cores[number];
        let thread = core
            .thread
            .map(|thread| &self.sched.threads[thread as usize]);
        thread.is_some_and(|thread| thread.waits_for(core.head()))
    }

    /// A core gets its line.
    pub(super) fn get_line(&mut self, number: usize, miss: u32, ready: Ps, at: Ps) {
        if self.memory.shared.is_some() {
            self.perform(number, miss);
        }
        let core = &mut self.cores[number];
        let write_back = core.misses.get(miss).write_back;
        let goes_on = core.expect(self.now, miss, ready, &mut self.memory);
        if ready > self.now {
            core.misses.ask(miss);
            let core = number as u32;
            self.events.push(ready, Event::Line { core, miss });
        }
        self.write_back(write_back, at);
        if ready <= self.now {
            self.line_is_there(number, miss);
        } else if goes_on {
            self.let_go(number);
            self.wake(number);
        }
    }

    pub(super) fn line_is_there(&mut self, number: usize, miss: u32) {
        self.cores[number].resolve(self.now, miss, &mut self.memory);
        self.let_go(number);
        self.wake(number);
    }

    /// From the miss of a core's L2 to the data in the L3, if it is there.
    pub(super) fn l3_latency(&self, core: usize) -> Ps {
        self.l3.latency() + self.artifact.distance(core as u32)
    }

    pub(super) fn wake(&mut self, number: usize) {
        if self.cores[number].blocked {
            self.advance(number);
        }
    }
}
