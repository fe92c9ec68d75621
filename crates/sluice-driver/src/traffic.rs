//! Threads that keep loads and stores under way, and one that follows pointers beside them: the
//! bandwidth of a device and its latency, at once.
//!
//! A thread goes through a region of its own. It retires its accesses in order and has a bounded
//! number of them under way, as a core with its prefetcher has: access `i` begins when access `i -
//! depth` has retired, and `pace` after the access before it at the earliest. A thread that waits
//! keeps its core, for the core does not learn that its load will take long.

use crate::threads::{Core, Helper, Thread};
use crate::work::{Start, Store, Traffic};
use sluice_events::Wheel;
use sluice_model::{Completion, Device, Op, Request, ServedBy, Stats};
use sluice_stats::Histogram;
use sluice_units::{ClockEnd, Fnv, LINE_BYTES, Ps, Rng};

/// What came of it.
#[derive(Clone, Debug)]
pub struct TrafficResult {
    /// The device's counters when measuring began.
    pub before: Stats,
    /// When measuring began.
    pub began: Ps,
    /// From then to the end of the last thread's last access.
    pub time: Ps,
    /// Accesses of the threads.
    pub accesses: u64,
    /// Latencies of all of them.
    pub latency: Histogram,
    /// Latencies of those that found their page in the cache.
    pub hits: Histogram,
    /// Latencies of those that brought their page in.
    pub misses: Histogram,
    /// Latencies of the dependent loads.
    pub chase: Histogram,
    /// A hash of every access: equal runs have equal hashes.
    pub hash: Fnv,
}

impl TrafficResult {
    /// Nothing was counted since the device had these counters.
    pub(crate) fn new(before: Stats) -> TrafficResult {
        TrafficResult {
            before,
            began: Ps::ZERO,
            time: Ps::ZERO,
            accesses: 0,
            latency: Histogram::default(),
            hits: Histogram::default(),
            misses: Histogram::default(),
            chase: Histogram::default(),
            hash: Fnv::default(),
        }
    }
}

/// The core or thread whose turn comes next.
#[derive(Clone, Copy)]
enum Event {
    Core(usize),
    /// A line that was stored to leaves the host's caches.
    WriteBack(u64),
    Helper(usize),
    Chase,
}

/// Runs every thread to its end on a device that nobody has used. `stop` is asked now and then;
/// once it says so there is no result.
///
/// # Errors
/// [`ClockEnd`].
///
/// # Panics
/// If the footprint is not on the device.
pub fn traffic(
    device: &mut Device,
    traffic: &Traffic,
    stop: impl Fn() -> bool,
) -> Result<Option<TrafficResult>, ClockEnd> {
    /// Events between two questions.
    const ASK_EVERY: u64 = 1 << 16;
    let mut run = Run::new(device, traffic);
    let mut events = 0u64;
    while run.working > 0
        && let Some((now, event)) = run.events.pop()
    {
        events += 1;
        if now > Ps::LAST {
            return Err(ClockEnd);
        }
        if events.is_multiple_of(ASK_EVERY) && stop() {
            return Ok(None);
        }
        match event {
            Event::Core(core) => run.core(now, core),
            Event::WriteBack(addr) => {
                run.access(now, None, addr, Op::Write);
            }
            Event::Helper(thread) => run.help(now, thread),
            Event::Chase => run.chase(now),
        }
    }
    // Threads begin their last accesses before these retire.
    if run.result.began + run.result.time > Ps::LAST {
        return Err(ClockEnd);
    }
    Ok(Some(run.result))
}

struct Run<'a> {
    device: &'a mut Device,
    given: &'a Traffic,
    page: u64,
    threads: Vec<Thread>,
    cores: Vec<Core>,
    helpers: Vec<Helper>,
    events: Wheel<Event>,
    /// Threads that are not at their end; the one that follows pointers counts if it is alone.
    working: u64,
    chased: u64,
    chase_rng: Rng,
    result: TrafficResult,
}

impl<'a> Run<'a> {
    fn new(device: &'a mut Device, given: &'a Traffic) -> Run<'a> {
        let page = device.config().page_bytes();
        let began = match given.start {
            Start::Cold => Ps::ZERO,
            Start::Warm => warm(device, given, page),
        };
        let threads: Vec<Thread> = (0..given.threads)
            .map(|number| Thread::new(given, number, began))
            .collect();
        let cores = match given.cores {
            0 => given.threads,
            cores => cores.min(given.threads),
        };
        let helpers = match given.ahead {
            0 => Vec::new(),
            _ => threads.iter().map(|_| Helper::default()).collect(),
        };
        let mut run = Run {
            page,
            cores: Core::share(given.threads, cores, began + given.slice),
            helpers,
            events: Wheel::with_capacity(threads.len()),
            working: u64::from(given.threads.max(1)),
            chased: 0,
            chase_rng: Rng::stream(given.seed, "traffic.chase"),
            result: TrafficResult {
                began,
                ..TrafficResult::new(*device.stats())
            },
            threads,
            device,
            given,
        };
        (0..run.cores.len()).for_each(|core| run.events.push(began, Event::Core(core)));
        if given.chase > 0 {
            run.events.push(began, Event::Chase);
        }
        run
    }

    /// The thread on a core does its next access, or another has its turn.
    fn core(&mut self, now: Ps, core: usize) {
        let Some(number) = self.cores[core].turn(now, self.given.slice) else {
            return;
        };
        let ready_at = self.threads[number].ready_at();
        if ready_at > now {
            self.events.push(ready_at, Event::Core(core));
            return;
        }
        let (addr, store) = self.threads[number].next(self.given);
        let op = match store && self.given.store == Store::NonTemporal {
            true => Op::Write,
            false => Op::Read,
        };
        let completion = self.access(now, Some(number), addr, op);
        if store && op == Op::Read {
            self.events.push(completion.done_at, Event::WriteBack(addr));
        }
        self.count(now, number, completion);
        self.threads[number].issued(now, completion.done_at, self.given.pace);
        if !self.helpers.is_empty() && addr.is_multiple_of(self.page) {
            self.rouse(now, number);
        }
        if self.threads[number].is_done() {
            self.working -= 1;
            let ended = self.threads[number].retired_at();
            self.result.time = self.result.time.max(ended - self.result.began);
            self.cores[core].leave(now, self.given.slice);
        }
        self.events.push(now, Event::Core(core));
    }

    fn count(&mut self, now: Ps, number: usize, completion: Completion) {
        let result = &mut self.result;
        let latency = completion.done_at - now;
        result.accesses += 1;
        result.latency.record(latency);
        match completion.served_by {
            ServedBy::Flash => result.misses.record(latency),
            ServedBy::CacheHit => result.hits.record(latency),
            ServedBy::MshrMerge | ServedBy::WriteLog => {}
        }
        let served_by = completion.served_by as u64;
        for word in [number as u64, completion.done_at.0, served_by] {
            result.hash.word(word);
        }
    }

    /// A thread has come to another page: its helper may go on.
    fn rouse(&mut self, now: Ps, number: usize) {
        if self.helpers[number].rouse() {
            self.events.push(now, Event::Helper(number));
        }
    }

    /// A helper loads a line of its next page, if that is not too far ahead.
    fn help(&mut self, now: Ps, number: usize) {
        let at = self.threads[number].place();
        let page = self.page;
        let Some(offset) = self.helpers[number].next(at, self.given, page) else {
            return;
        };
        let addr = number as u64 * self.given.size + offset;
        let done_at = self.access(now, None, addr, Op::Read).done_at;
        self.events.push(done_at, Event::Helper(number));
    }

    /// The next of the dependent loads.
    fn chase(&mut self, now: Ps) {
        let base = u64::from(self.given.threads) * self.given.size;
        let line = self.chase_rng.below(self.given.chase / LINE_BYTES);
        let addr = base + line * LINE_BYTES;
        let done_at = self.access(now, None, addr, Op::Read).done_at;
        self.result.chase.record(done_at - now);
        self.result.hash.word(done_at.0);
        self.chased += 1;
        if self.given.threads == 0 && self.chased == self.given.accesses() {
            self.working = 0;
            self.result.time = done_at - self.result.began;
            return;
        }
        self.events.push(done_at, Event::Chase);
    }

    /// An access of a thread's, or of what runs beside them.
    fn access(&mut self, now: Ps, thread: Option<usize>, addr: u64, op: Op) -> Completion {
        self.device.by(thread.map(|number| number as u64));
        self.device.access(now, Request { addr, op }, &mut ())
    }
}

/// Loads each page of the footprint once, each when the one before is there. Says when that is
/// over.
fn warm(device: &mut Device, given: &Traffic, page: u64) -> Ps {
    let op = Op::Read;
    let pages = (0..given.footprint()).step_by(page as usize);
    pages.fold(Ps::ZERO, |now, addr| {
        device.access(now, Request { addr, op }, &mut ()).done_at
    })
}
