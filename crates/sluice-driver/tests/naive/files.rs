//! Files by every door: threads that share cores, step by step.

use crate::rig::{Due, device, one_of};
use sluice_driver::{
    Advice, Door, FileTraffic, HostCosts, Limits, PageCache, Pages, TrafficResult, files,
};
use sluice_model::{BlockOp, BlockRequest, Device, Op, Request, ServedBy};
use sluice_stats::Histogram;
use sluice_units::{Fnv, Lpn, Ps, Rng, seed_of};

const PAGE: u64 = 4096;

/// A thread in its part of the file.
struct Thread {
    order: Vec<u64>,
    next: usize,
    began: Ps,
    ready_at: Ps,
    /// Pages of its request that it has read so far.
    read: u64,
    cache: PageCache,
}

#[derive(Clone, Copy)]
enum Doing {
    Ask,
    Copy(u64),
}

/// A core, with the threads that do not run on it now, in the order of their turns.
struct Core {
    threads: Vec<usize>,
    running: Option<(usize, Doing)>,
    last: Option<usize>,
    retires: Vec<Ps>,
}

struct Twin<'a> {
    device: &'a mut Device,
    given: &'a FileTraffic,
    threads: Vec<Thread>,
    cores: Vec<Core>,
    due: Due<usize>,
    /// Pages in host memory, the one that was used last at the end; whether each was written.
    held: Vec<(u64, bool)>,
    end: Ps,
    latency: Histogram,
    hits: Histogram,
    misses: Histogram,
    hash: Fnv,
}

/// The places of a pass: in order, or as the seed shuffles them.
fn order(given: &FileTraffic, thread: usize) -> Vec<u64> {
    let count = given.size / given.io;
    let mut order: Vec<u64> = (0..count).collect();
    if given.random {
        let mut rng = Rng::stream(seed_of(given.seed, thread as u64), "files.order");
        for last in (1..count).rev() {
            order.swap(last as usize, rng.below(last + 1) as usize);
        }
    }
    order
}

impl Twin<'_> {
    fn ask(&mut self, now: Ps, op: BlockOp, first: u64, count: u64) -> Ps {
        let request = BlockRequest::new(op, Lpn(first as u32), count);
        let done = self.device.block(now, request, &mut ());
        done.expect("pages of an SSD").done_at
    }

    fn op(&self) -> BlockOp {
        match self.given.write {
            true => BlockOp::Write,
            false => BlockOp::Read,
        }
    }

    /// The place of a thread's request in its part.
    fn place(&self, thread: usize) -> u64 {
        let it = &self.threads[thread];
        it.order[it.next]
    }

    fn first_page(&self, thread: usize) -> u64 {
        (thread as u64 * self.given.size + self.place(thread) * self.given.io) / PAGE
    }

    fn turn(&mut self, now: Ps, core: usize) {
        match self.cores[core].running.take() {
            Some((thread, Doing::Ask)) => return self.serve(now, core, thread),
            Some((thread, Doing::Copy(line))) => return self.copy(now, core, thread, line),
            None => {}
        }
        let ready = |thread: &usize| self.threads[*thread].ready_at;
        let waiting = &self.cores[core].threads;
        let Some(place) = waiting.iter().position(|thread| ready(thread) <= now) else {
            if let Some(first) = waiting.iter().map(ready).min() {
                self.due.add(first, core);
            }
            return;
        };
        let thread = self.cores[core].threads.remove(place);
        let mut from = now;
        if self.cores[core].last.is_some_and(|last| last != thread) {
            from += self.given.host.switch;
        }
        self.cores[core].last = Some(thread);
        self.begin(from, core, thread);
    }

    fn begin(&mut self, now: Ps, core: usize, thread: usize) {
        let (costs, door) = (self.given.host, self.given.door);
        let place = self.place(thread);
        let it = &mut self.threads[thread];
        let goes_on = it.read > 0;
        if !goes_on {
            it.began = now;
        }
        let mapped = door == Door::Mmap && it.cache.is_mapped(place);
        let software = match door {
            Door::Mmap if mapped => Ps::ZERO,
            Door::Mmap if it.cache.is_cached(place) => costs.minor_fault,
            Door::BlockCache => costs.request + costs.lookup * (self.given.io / PAGE),
            Door::Read if goes_on => Ps::ZERO,
            _ => costs.request,
        };
        let doing = match door {
            Door::File => Doing::Copy(0),
            _ => Doing::Ask,
        };
        self.cores[core].running = Some((thread, doing));
        self.due.add(now + software, core);
    }

    /// The core's part ends at the first time, the request at the second.
    fn serve(&mut self, now: Ps, core: usize, thread: usize) {
        let (first, count) = (self.first_page(thread), self.given.io / PAGE);
        let copy = self.given.host.copy;
        let (ready_at, copied) = match self.given.door {
            Door::Mmap => (self.fault(now, thread), copy),
            Door::Read => self.read(now, thread, first),
            Door::BlockCache => (self.cached(now, first, count), copy * count),
            _ => (self.ask(now, self.op(), first, count), Ps::ZERO),
        };
        // A thread that waits for the device leaves its core, and copies while others have it.
        let waits = match self.given.door {
            Door::Direct => true,
            Door::BlockCache => ready_at != now,
            _ => ready_at > now,
        };
        let done_at = ready_at.max(now) + copied;
        self.done(if waits { now } else { done_at }, done_at, core, thread);
    }

    fn fault(&mut self, now: Ps, thread: usize) -> Ps {
        let page = self.place(thread);
        let it = &mut self.threads[thread];
        if it.cache.is_mapped(page) {
            return now;
        }
        let reads = it.cache.fault(page, now);
        self.bring(now, thread, reads);
        let cache = &mut self.threads[thread].cache;
        let ready_at = cache.ready_at(page).max(now);
        cache.map(page, ready_at);
        ready_at
    }

    fn read(&mut self, now: Ps, thread: usize, first: u64) -> (Ps, Ps) {
        let base = thread as u64 * self.given.size / PAGE;
        let (begin, end) = (first - base, first - base + self.given.io / PAGE);
        let it = &mut self.threads[thread];
        let from = begin + it.read;
        let (reads, to) = it.cache.read(from, end, now);
        it.read = if to < end { to - begin } else { 0 };
        self.bring(now, thread, reads);
        let cache = &self.threads[thread].cache;
        let ready_at = (from..to).map(|page| cache.ready_at(page)).max();
        let copied = self.given.host.copy * (to - from);
        (ready_at.expect("a page at least"), copied)
    }

    fn bring(&mut self, now: Ps, thread: usize, reads: Vec<Pages>) {
        let base = thread as u64 * self.given.size / PAGE;
        for read in reads {
            let count = read.end - read.start;
            let at = self.ask(now, BlockOp::Read, base + read.start, count);
            self.threads[thread].cache.arrives(read, at);
        }
    }

    /// When the pages of a request are in the cache of blocks.
    fn cached(&mut self, now: Ps, first: u64, count: u64) -> Ps {
        let has = |held: &[(u64, bool)], page| held.iter().position(|it| it.0 == page);
        let is_hit = (first..first + count).all(|page| has(&self.held, page).is_some());
        let there = match is_hit || self.given.write {
            true => now,
            false => self.ask(now, BlockOp::Read, first, count),
        };
        for page in first..first + count {
            let before = has(&self.held, page);
            let was_written = before.is_some_and(|place| self.held.remove(place).1);
            self.held.push((page, was_written | self.given.write));
            if self.held.len() as u64 * PAGE > self.given.cache {
                let (oldest, written) = self.held.remove(0);
                if written {
                    self.ask(now, BlockOp::Write, oldest, 1);
                }
            }
        }
        there
    }

    fn copy(&mut self, now: Ps, core: usize, thread: usize, line: u64) {
        let addr = self.first_page(thread) * PAGE + line * 64;
        let op = if self.given.write {
            Op::Write
        } else {
            Op::Read
        };
        let done = self.device.access(now, Request { addr, op }, &mut ());
        let of = match done.served_by {
            ServedBy::Flash => &mut self.misses,
            _ => &mut self.hits,
        };
        of.record(done.done_at - now);
        let it = &mut self.cores[core];
        let before = it.retires.last().copied().unwrap_or(now);
        it.retires.push(before.max(done.done_at));
        if line + 1 == self.given.io / 64 {
            let end = it.retires[line as usize];
            it.retires.clear();
            return self.done(end, end, core, thread);
        }
        // The line after the next `depth` begins when this one has retired.
        let oldest = (line + 1).checked_sub(self.given.host.depth.into());
        let next_at = oldest.map_or(now, |oldest| now.max(it.retires[oldest as usize]));
        it.running = Some((thread, Doing::Copy(line + 1)));
        self.due.add(next_at, core);
    }

    fn done(&mut self, free_at: Ps, done_at: Ps, core: usize, thread: usize) {
        let it = &mut self.threads[thread];
        it.ready_at = done_at;
        let goes_on = it.read > 0;
        if !goes_on {
            it.next += 1;
            self.latency.record(done_at - it.began);
            [thread as u64, done_at.0]
                .into_iter()
                .for_each(|word| self.hash.word(word));
            self.end = self.end.max(done_at);
        }
        let threads = &mut self.cores[core].threads;
        if goes_on {
            threads.insert(0, thread);
        } else if it.next < it.order.len() {
            let place = if done_at > free_at { threads.len() } else { 0 };
            threads.insert(place, thread);
        }
        self.due.add(free_at, core);
    }

    fn pass(&mut self) -> TrafficResult {
        let (before, began) = (*self.device.stats(), self.end);
        for (number, thread) in self.threads.iter_mut().enumerate() {
            (thread.order, thread.next) = (order(self.given, number), 0);
            thread.ready_at = began;
        }
        let count = self.given.cores.min(self.given.threads) as usize;
        let core = |number: usize| Core {
            threads: (0..self.given.threads as usize)
                .filter(|thread| thread % count == number)
                .collect(),
            running: None,
            last: None,
            retires: Vec::new(),
        };
        self.cores = (0..count).map(core).collect();
        (0..count).for_each(|core| self.due.add(began, core));
        (self.latency, self.hash) = (Histogram::default(), Fnv::default());
        (self.hits, self.misses) = (Histogram::default(), Histogram::default());
        while let Some((now, core)) = self.due.take() {
            self.turn(now, core);
        }
        TrafficResult {
            before,
            began,
            time: self.end - began,
            accesses: u64::from(self.given.threads) * self.given.size / 64,
            latency: self.latency.clone(),
            hits: self.hits.clone(),
            misses: self.misses.clone(),
            chase: Histogram::default(),
            hash: self.hash,
        }
    }
}

fn naive(device: &mut Device, given: &FileTraffic) -> TrafficResult {
    let limits = Limits {
        window: given.host.readahead / PAGE,
        request: 1024,
        large_folios: true,
    };
    let is_by_call = given.door == Door::Read;
    let thread = |_| Thread {
        order: Vec::new(),
        next: 0,
        began: Ps::ZERO,
        ready_at: Ps::ZERO,
        read: 0,
        cache: PageCache::new(given.size / PAGE, is_by_call, given.host.advice, limits),
    };
    let mut twin = Twin {
        device,
        given,
        threads: (0..given.threads).map(thread).collect(),
        cores: Vec::new(),
        due: Due::new(),
        held: Vec::new(),
        end: Ps::ZERO,
        latency: Histogram::default(),
        hits: Histogram::default(),
        misses: Histogram::default(),
        hash: Fnv::default(),
    };
    let passes: Vec<_> = (0..given.passes).map(|_| twin.pass()).collect();
    passes.into_iter().last().expect("a pass")
}

/// Threads of every kind.
fn drawn(rng: &mut Rng, seed: u64) -> FileTraffic {
    let doors = [
        Door::Mmap,
        Door::Read,
        Door::Direct,
        Door::BlockCache,
        Door::File,
    ];
    let door = one_of(rng, &doors);
    let io = match door {
        Door::Mmap => PAGE,
        _ => one_of(rng, &[PAGE, 3 * PAGE, 16 * PAGE]),
    };
    let writes = !matches!(door, Door::Mmap | Door::Read);
    FileTraffic {
        door,
        threads: one_of(rng, &[1, 1, 2, 3, 5]),
        size: io * one_of(rng, &[1, 7, 40]),
        io,
        random: rng.below(2) == 0,
        write: writes && rng.below(2) == 0,
        cores: one_of(rng, &[1, 2, 8]),
        passes: one_of(rng, &[1, 1, 2, 3]),
        host: HostCosts {
            request: Ps::from_us(5),
            minor_fault: Ps::from_ns(500),
            lookup: Ps::from_ns(300),
            switch: Ps::from_us(2),
            copy: Ps::from_ns(400),
            depth: one_of(rng, &[1, 3, 16]),
            readahead: one_of(rng, &[0, 4 * PAGE, 32 * PAGE]),
            advice: one_of(rng, &[Advice::Normal, Advice::Sequential, Advice::Random]),
        },
        cache: PAGE * one_of(rng, &[1, 5, 64, 1024]),
        seed,
    }
}

#[test]
fn files_are_lists_of_their_requests() {
    for seed in 0..250 {
        let mut rng = Rng::stream(seed, "files");
        let given = drawn(&mut rng, seed);
        // Few dies, so that it matters which pages are asked for.
        let settings = [
            ("device.capacity", "32MiB"),
            ("cache.capacity", one_of(&mut rng, &["64KiB", "1MiB"])),
            ("cache.policy", "lru"),
            ("nand.channels", "1"),
            ("nand.dies", one_of(&mut rng, &["2", "3"])),
            ("nand.pages_per_block", "16"),
            ("ftl.precondition", "sequential"),
        ];
        let (mut ours, mut twins) = (device(&settings), device(&settings));
        let result = files(&mut ours, &given, || false)
            .unwrap()
            .expect("nobody stops it");
        let expected = naive(&mut twins, &given);
        let all_of = |it: &TrafficResult| {
            (
                it.before,
                [it.began, it.time],
                it.accesses,
                [it.latency.clone(), it.hits.clone(), it.misses.clone()],
                it.hash,
            )
        };
        assert_eq!(all_of(&result), all_of(&expected), "{seed}: {given:?}");
        assert_eq!(ours.stats(), twins.stats(), "{seed}");
    }
}
