//! Threads that keep accesses under way: a list of all that each has begun.

use crate::rig::{Due, device, one_of};
use sluice_driver::{Start, Store, Traffic, TrafficResult, Walk, traffic};
use sluice_model::{Completion, Device, Op, Request, ServedBy, Stats};
use sluice_stats::Histogram;
use sluice_units::{Fnv, LINE_BYTES, Ps, Rng, seed_of};

#[derive(Clone, Copy)]
enum What {
    Core(usize),
    Leaves(u64),
    Helper(usize),
    Chase,
}

/// A thread with all that it has done.
struct Thread {
    began: Vec<Ps>,
    retired: Vec<Ps>,
    place: u64,
    rng: Rng,
    /// What its accesses have left over of their shares of loads, in percent.
    share: u32,
    /// Its helper: the page to load next, and whether it waits for its thread.
    ahead: u64,
    waits: bool,
}

/// A core with its threads, the running one first, and when their turn ends.
struct Core {
    threads: Vec<usize>,
    until: Ps,
}

struct Twin<'a> {
    device: &'a mut Device,
    given: &'a Traffic,
    start: Ps,
    threads: Vec<Thread>,
    cores: Vec<Core>,
    due: Due<What>,
    chase: Rng,
    latency: Histogram,
    hits: Histogram,
    misses: Histogram,
    chased: Histogram,
    hash: Fnv,
    end: Ps,
    ended: bool,
}

const PAGE: u64 = 4096;

impl Twin<'_> {
    fn access(&mut self, now: Ps, addr: u64, op: Op) -> Completion {
        self.device.access(now, Request { addr, op }, &mut ())
    }

    fn hash(&mut self, words: &[u64]) {
        words.iter().for_each(|word| self.hash.word(*word));
    }

    fn core(&mut self, now: Ps, number: usize) {
        let given = *self.given;
        let core = &mut self.cores[number];
        if now >= core.until && core.threads.len() > 1 {
            core.threads.rotate_left(1);
            core.until = now + given.slice;
        }
        let Some(&thread) = core.threads.first() else {
            return;
        };
        let it = &mut self.threads[thread];
        let index = it.began.len();
        let mut ready = self.start;
        if index > 0 {
            ready = ready.max(it.began[index - 1] + given.pace);
        }
        if let Some(before) = index.checked_sub(given.depth as usize) {
            ready = ready.max(it.retired[before]);
        }
        if ready > now {
            return self.due.add(ready, What::Core(number));
        }
        let places = given.size / given.stride;
        it.place = given.stride
            * match given.walk {
                Walk::InOrder => index as u64 % places,
                Walk::Random => it.rng.below(places),
            };
        // As `sluice-workload traffic` deals loads out.
        it.share += given.reads;
        let is_store = it.share < 100;
        if !is_store {
            it.share -= 100;
        }
        let addr = thread as u64 * given.size + it.place;
        let is_past = is_store && given.store == Store::NonTemporal;
        let op = if is_past { Op::Write } else { Op::Read };
        let done = self.access(now, addr, op);
        if is_store && !is_past {
            self.due.add(done.done_at, What::Leaves(addr));
        }
        let latency = done.done_at - now;
        self.latency.record(latency);
        match done.served_by {
            ServedBy::Flash => self.misses.record(latency),
            ServedBy::CacheHit => self.hits.record(latency),
            ServedBy::MshrMerge | ServedBy::WriteLog => {}
        }
        self.hash(&[thread as u64, done.done_at.0, done.served_by as u64]);
        let it = &mut self.threads[thread];
        let before = it.retired.last().copied().unwrap_or(Ps::ZERO);
        it.began.push(now);
        it.retired.push(before.max(done.done_at));
        if given.ahead > 0 && addr.is_multiple_of(PAGE) && std::mem::take(&mut it.waits) {
            self.due.add(now, What::Helper(thread));
        }
        let it = &self.threads[thread];
        if it.began.len() as u64 == given.accesses() {
            self.end = self.end.max(before.max(done.done_at));
            let core = &mut self.cores[number];
            core.threads.remove(0);
            core.until = now + given.slice;
            self.ended = self.cores.iter().all(|core| core.threads.is_empty());
        }
        self.due.add(now, What::Core(number));
    }

    /// The page after the thread's, or the one after the last, if it is near enough.
    fn help(&mut self, now: Ps, thread: usize) {
        let given = self.given;
        let it = &mut self.threads[thread];
        let here = it.place / PAGE * PAGE;
        let may_be = here + PAGE..=here + PAGE + given.ahead;
        if !may_be.contains(&it.ahead) {
            it.ahead = here + PAGE;
        }
        if it.ahead > it.place + given.ahead || it.ahead >= given.size {
            it.waits = true;
            return;
        }
        let addr = thread as u64 * given.size + it.ahead;
        it.ahead += PAGE;
        let done = self.access(now, addr, Op::Read);
        self.due.add(done.done_at, What::Helper(thread));
    }

    fn chase(&mut self, now: Ps) {
        let lines = self.given.chase / LINE_BYTES;
        let base = u64::from(self.given.threads) * self.given.size;
        let addr = base + self.chase.below(lines) * LINE_BYTES;
        let done = self.access(now, addr, Op::Read).done_at;
        self.chased.record(done - now);
        self.hash(&[done.0]);
        let is_last = self.chased.count() == self.given.passes * lines;
        if self.given.threads == 0 && is_last {
            (self.end, self.ended) = (done, true);
            return;
        }
        self.due.add(done, What::Chase);
    }
}

/// When the device is as it is at the start.
fn warm(device: &mut Device, given: &Traffic) -> Ps {
    let pages = match given.start {
        Start::Cold => 0,
        Start::Warm => given.footprint().div_ceil(PAGE),
    };
    (0..pages).fold(Ps::ZERO, |now, page| {
        let request = Request {
            addr: page * PAGE,
            op: Op::Read,
        };
        device.access(now, request, &mut ()).done_at
    })
}

fn naive(device: &mut Device, given: &Traffic) -> TrafficResult {
    let start = warm(device, given);
    let before: Stats = *device.stats();
    let thread = |number: u32| Thread {
        began: Vec::new(),
        retired: Vec::new(),
        place: 0,
        rng: Rng::stream(seed_of(given.seed, u64::from(number)), "traffic.thread"),
        share: 0,
        ahead: 0,
        waits: true,
    };
    let count = match given.cores {
        0 => given.threads,
        cores => cores.min(given.threads),
    };
    let core = |number: u32| Core {
        threads: (0..given.threads as usize)
            .filter(|thread| *thread as u32 % count == number)
            .collect(),
        until: start + given.slice,
    };
    let mut twin = Twin {
        device,
        given,
        start,
        threads: (0..given.threads).map(thread).collect(),
        cores: (0..count).map(core).collect(),
        due: Due::new(),
        chase: Rng::stream(given.seed, "traffic.chase"),
        latency: Histogram::default(),
        hits: Histogram::default(),
        misses: Histogram::default(),
        chased: Histogram::default(),
        hash: Fnv::default(),
        end: start,
        ended: false,
    };
    (0..count as usize).for_each(|core| twin.due.add(start, What::Core(core)));
    if given.chase > 0 {
        twin.due.add(start, What::Chase);
    }
    while !twin.ended {
        let (now, what) = twin.due.take().expect("somebody works");
        match what {
            What::Core(core) => twin.core(now, core),
            What::Leaves(addr) => _ = twin.access(now, addr, Op::Write),
            What::Helper(thread) => twin.help(now, thread),
            What::Chase => twin.chase(now),
        }
    }
    TrafficResult {
        before,
        began: start,
        time: twin.end - start,
        accesses: twin.latency.count(),
        latency: twin.latency,
        hits: twin.hits,
        misses: twin.misses,
        chase: twin.chased,
        hash: twin.hash,
    }
}

/// What can be compared of a result.
fn all_of(result: &TrafficResult) -> impl PartialEq + std::fmt::Debug {
    (
        result.before,
        [result.began, result.time],
        result.accesses,
        [
            result.latency.clone(),
            result.hits.clone(),
            result.misses.clone(),
            result.chase.clone(),
        ],
        result.hash,
    )
}

#[test]
fn threads_are_lists_of_what_they_began() {
    for seed in 0..120 {
        let mut rng = Rng::stream(seed, "traffic");
        let threads = one_of(&mut rng, &[0, 1, 2, 3, 5]);
        let given = Traffic {
            threads,
            size: one_of(&mut rng, &[PAGE, 5 * PAGE, 24 * PAGE]),
            stride: one_of(&mut rng, &[64, 256, 4096]),
            walk: one_of(&mut rng, &[Walk::InOrder, Walk::Random]),
            reads: one_of(&mut rng, &[0, 50, 99, 100]),
            store: one_of(&mut rng, &[Store::Cached, Store::NonTemporal]),
            depth: one_of(&mut rng, &[1, 2, 8]),
            pace: one_of(&mut rng, &[Ps::ZERO, Ps::from_ns(77)]),
            cores: one_of(&mut rng, &[0, 1, 2]),
            slice: one_of(&mut rng, &[Ps::from_ns(900), Ps::from_us(40)]),
            ahead: one_of(&mut rng, &[0, PAGE, 4 * PAGE]),
            chase: if threads == 0 {
                3 * PAGE
            } else {
                one_of(&mut rng, &[0, 2 * PAGE])
            },
            passes: one_of(&mut rng, &[1, 2]),
            start: one_of(&mut rng, &[Start::Cold, Start::Warm]),
            seed,
        };
        let settings = [
            ("device.capacity", "4MiB"),
            (
                "cache.capacity",
                one_of(&mut rng, &["16KiB", "64KiB", "2MiB"]),
            ),
            ("cache.policy", "lru"),
            ("device.link_bandwidth", one_of(&mut rng, &["500", "8000"])),
            ("nand.pages_per_block", "16"),
        ];
        let (mut ours, mut twins) = (device(&settings), device(&settings));
        let result = traffic(&mut ours, &given, || false)
            .unwrap()
            .expect("nobody stops it");
        let expected = naive(&mut twins, &given);
        assert_eq!(
            all_of(&result),
            all_of(&expected),
            "{seed}: {given:?} {settings:?}"
        );
        assert_eq!(ours.stats(), twins.stats(), "{seed}");
        let accesses = u64::from(threads) * given.passes * (given.size / given.stride);
        assert_eq!(result.accesses, accesses);
    }
}
