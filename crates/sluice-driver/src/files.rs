//! Data reached as a file: through the page cache of an operating system (mapped or read), through
//! a cache of blocks in host memory, or through neither. The device is an SSD then, asked for whole
//! pages by its block door; or it is memory that a file system copies from and to.
//!
//! Threads share cores. One that waits for a block request leaves its core to another; one that
//! waits for a load keeps it.

use crate::block_cache::BlockCache;
use crate::page_cache::{Advice, PageCache, Pages};
use crate::readahead::Limits;
use crate::traffic::TrafficResult;
use sluice_events::Wheel;
use sluice_model::{BlockOp, BlockRequest, Device, Op, Request, ServedBy};
use sluice_units::{ClockEnd, LINE_BYTES, Lpn, Ps, Rng, seed_of};
use std::collections::VecDeque;

/// What a disk takes by one request where nothing bounds it: Linux' `max_sectors_kb`.
const LARGEST_REQUEST: u64 = 4 << 20;

/// How threads reach their data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// A mapped file: loads, and a fault for each page that is not mapped.
    Mmap,
    /// Reads by system call, through the page cache.
    Read,
    /// Requests to the SSD, past every cache of the host.
    Direct,
    /// Requests to an SSD behind a cache of blocks in host memory, write-back.
    BlockCache,
    /// Requests that a file system serves from the device as memory, by loads and stores.
    File,
}

/// What threads do.
#[derive(Clone, Copy, Debug)]
pub struct FileTraffic {
    /// How they reach their data.
    pub door: Door,
    /// Threads, each with a part of the file.
    pub threads: u32,
    /// Bytes of a part: a multiple of `io`.
    pub size: u64,
    /// Bytes of a request. Of [`Door::Mmap`] a page.
    pub io: u64,
    /// Whether each request is at a place that no request of the pass had: a permutation.
    pub random: bool,
    /// Whether requests write.
    pub write: bool,
    /// Cores that the threads share.
    pub cores: u32,
    /// Times through the file. Only the last one is counted.
    pub passes: u64,
    /// What the host takes.
    pub host: HostCosts,
    /// [`Door::BlockCache`]: bytes of the cache.
    pub cache: u64,
    /// Seed of the permutations.
    pub seed: u64,
}

/// What the host's software and memory take.
#[derive(Clone, Copy, Debug)]
pub struct HostCosts {
    /// A request to the file system, or a fault that has to read: system call, submission, wake-up.
    pub request: Ps,
    /// A fault on a page that is in the page cache already.
    pub minor_fault: Ps,
    /// Looking up, and noting, one page in a cache of blocks.
    pub lookup: Ps,
    /// From one thread to another on a core.
    pub switch: Ps,
    /// A page of host memory read or copied.
    pub copy: Ps,
    /// Lines that a core has under way when it copies from or to the device.
    pub depth: u32,
    /// The most bytes that the page cache reads ahead; 0: it reads what is asked for alone.
    pub readahead: u64,
    /// The program's advice to the page cache on the order of requests.
    pub advice: Advice,
}

impl FileTraffic {
    /// Bytes of the file.
    pub fn footprint(&self) -> u64 {
        u64::from(self.threads) * self.size
    }
}

/// Runs the threads to their end. `stop` is asked now and then; once it says so there is no result.
///
/// # Errors
/// [`ClockEnd`].
///
/// # Panics
/// If the file is larger than the device, or the device is no SSD.
pub fn files(
    device: &mut Device,
    given: &FileTraffic,
    stop: impl Fn() -> bool,
) -> Result<Option<TrafficResult>, ClockEnd> {
    /// Requests between two questions.
    const ASK_EVERY: u64 = 1 << 12;
    let mut host = Host::new(device, given);
    let mut done = 0u64;
    for _ in 0..given.passes {
        host.begin();
        while let Some((now, core)) = host.events.pop() {
            if now > Ps::LAST {
                return Err(ClockEnd);
            }
            done += 1;
            if done.is_multiple_of(ASK_EVERY) && stop() {
                return Ok(None);
            }
            host.turn(now, core);
        }
    }
    match host.now > Ps::LAST {
        true => Err(ClockEnd),
        false => Ok(Some(host.result)),
    }
}

/// A thread in its part of the file.
struct Reader {
    /// Requests in the order of the pass.
    order: Vec<u32>,
    next: usize,
    /// When it began the request that it is at.
    began: Ps,
    /// When what it waits for is there.
    ready_at: Ps,
    /// [`Door::Read`]: pages of the request that it has.
    read: u64,
    pages: PageCache,
}

/// Where a thread is in its request.
#[derive(Clone, Copy)]
enum Step {
    /// The software has done its part: the device is asked.
    Ask,
    /// The copy of so many lines has ended.
    Copy(u64),
}

struct HostCore {
    /// Its threads, the next to run first.
    threads: VecDeque<usize>,
    /// The one in the midst of a request that does not wait.
    running: Option<(usize, Step)>,
    /// The one that ran last.
    last: Option<usize>,
    /// When the lines of a copy retire that are under way, the oldest first.
    under_way: VecDeque<Ps>,
}

struct Host<'a> {
    device: &'a mut Device,
    given: &'a FileTraffic,
    page: u64,
    readers: Vec<Reader>,
    cores: Vec<HostCore>,
    events: Wheel<usize>,
    blocks: BlockCache,
    /// The end of the last request.
    now: Ps,
    result: TrafficResult,
}

impl<'a> Host<'a> {
    fn new(device: &'a mut Device, given: &'a FileTraffic) -> Host<'a> {
        let page = device.config().page_bytes();
        let part = given.size / page;
        let limits = Limits {
            window: given.host.readahead / page,
            request: LARGEST_REQUEST / page,
            large_folios: true,
        };
        let readers = (0..given.threads).map(|_| Reader {
            order: Vec::new(),
            next: 0,
            began: Ps::ZERO,
            ready_at: Ps::ZERO,
            read: 0,
            pages: PageCache::new(part, given.door == Door::Read, given.host.advice, limits),
        });
        Host {
            page,
            readers: readers.collect(),
            cores: Vec::new(),
            events: Wheel::with_capacity(given.cores as usize),
            blocks: BlockCache::new(given.footprint() / page, given.cache / page),
            now: Ps::ZERO,
            result: TrafficResult::new(*device.stats()),
            device,
            given,
        }
    }

    /// A pass begins on an idle machine; what earlier ones left in caches is there.
    fn begin(&mut self) {
        let requests = (self.given.size / self.given.io) as u32;
        for (number, reader) in self.readers.iter_mut().enumerate() {
            reader.order = (0..requests).collect();
            if self.given.random {
                // FIO's order does not change from pass to pass.
                let seed = seed_of(self.given.seed, number as u64);
                let mut rng = Rng::stream(seed, "files.order");
                for last in (1..requests as usize).rev() {
                    reader.order.swap(last, rng.below(last as u64 + 1) as usize);
                }
            }
            reader.next = 0;
            reader.ready_at = self.now;
        }
        let cores = self.given.cores.min(self.given.threads);
        let of_core = |core: u32| (core..self.given.threads).step_by(cores as usize);
        let core = |core| HostCore {
            threads: of_core(core).map(|number| number as usize).collect(),
            running: None,
            last: None,
            under_way: VecDeque::with_capacity(self.given.host.depth as usize),
        };
        self.cores = (0..cores).map(core).collect();
        self.result = TrafficResult {
            began: self.now,
            ..TrafficResult::new(*self.device.stats())
        };
        (0..cores as usize).for_each(|core| self.events.push(self.now, core));
    }

    /// A core goes on with its thread's request, or begins one of the next thread that can run.
    fn turn(&mut self, now: Ps, core: usize) {
        if let Some((number, step)) = self.cores[core].running.take() {
            match step {
                Step::Ask => self.ask_for(now, core, number),
                Step::Copy(lines) => self.copy(now, core, number, lines),
            }
            return;
        }
        let (readers, threads) = (&self.readers, &self.cores[core].threads);
        let able = threads
            .iter()
            .position(|number| readers[*number].ready_at <= now);
        let Some(at) = able else {
            let wakes = threads.iter().map(|number| readers[*number].ready_at);
            if let Some(first) = wakes.min() {
                self.events.push(first, core);
            }
            return;
        };
        let number = self.cores[core].threads.remove(at).expect("just found");
        let last = self.cores[core].last.replace(number);
        let is_switched = last.is_some_and(|last| last != number);
        let from = now + self.given.host.switch * u64::from(is_switched);
        self.start(from, core, number);
    }

    /// A thread begins its next request: the software takes its time.
    fn start(&mut self, now: Ps, core: usize, number: usize) {
        let costs = &self.given.host;
        let reader = &mut self.readers[number];
        if reader.read == 0 {
            reader.began = now;
        }
        let page = u64::from(reader.order[reader.next]);
        let software = match self.given.door {
            Door::Mmap if reader.pages.is_mapped(page) => Ps::ZERO,
            Door::Mmap if reader.pages.is_cached(page) => costs.minor_fault,
            Door::Mmap => costs.request,
            // It goes on in the kernel.
            Door::Read if reader.read > 0 => Ps::ZERO,
            Door::Read => costs.request,
            Door::BlockCache => costs.request + costs.lookup * (self.given.io / self.page),
            Door::Direct | Door::File => costs.request,
        };
        let step = match self.given.door {
            Door::File => Step::Copy(0),
            _ => Step::Ask,
        };
        self.cores[core].running = Some((number, step));
        self.events.push(now + software, core);
    }

    /// The first page of the request that a thread is at, and how many there are.
    fn pages_of(&self, number: usize) -> (u64, u64) {
        let reader = &self.readers[number];
        let place = u64::from(reader.order[reader.next]);
        let first = (number as u64 * self.given.size + place * self.given.io) / self.page;
        (first, self.given.io / self.page)
    }

    /// The device is asked. A thread that waits leaves its core.
    fn ask_for(&mut self, now: Ps, core: usize, number: usize) {
        let (first, count) = self.pages_of(number);
        let done_at = match self.given.door {
            Door::Mmap => self.load(now, number),
            Door::Read => self.read(now, number),
            Door::BlockCache => self.cached(now, first, count),
            Door::Direct | Door::File => {
                let op = match self.given.write {
                    true => BlockOp::Write,
                    false => BlockOp::Read,
                };
                Done::Later(self.ask(now, op, first, count))
            }
        };
        match done_at {
            // What takes no wait, takes the core's time.
            Done::Here(done_at) => self.end(done_at, done_at, core, number),
            Done::Later(done_at) => self.end(now, done_at, core, number),
        }
    }

    /// The request is done at `done_at`, its core free from `free_at` on.
    fn end(&mut self, free_at: Ps, done_at: Ps, core: usize, number: usize) {
        let reader = &mut self.readers[number];
        reader.ready_at = done_at;
        if reader.read > 0 {
            self.cores[core].threads.push_front(number);
            return self.events.push(free_at, core);
        }
        reader.next += 1;
        let result = &mut self.result;
        result.accesses += self.given.io / LINE_BYTES;
        result.latency.record(done_at - reader.began);
        result.hash.word(number as u64);
        result.hash.word(done_at.0);
        self.now = self.now.max(done_at);
        result.time = self.now - result.began;
        if reader.next < reader.order.len() {
            match done_at > free_at {
                true => self.cores[core].threads.push_back(number),
                false => self.cores[core].threads.push_front(number),
            }
        }
        self.events.push(free_at, core);
    }

    /// A request to the SSD. Says when it is done.
    fn ask(&mut self, at: Ps, op: BlockOp, first: u64, count: u64) -> Ps {
        let request = BlockRequest::new(op, Lpn(first as u32), count);
        let done = self.device.block(at, request, &mut ());
        done.expect("pages of an SSD").done_at
    }

    /// A load of a mapped page: it may have to be read, and pages around it with it.
    fn load(&mut self, now: Ps, number: usize) -> Done {
        let base = number as u64 * (self.given.size / self.page);
        let copy = self.given.host.copy;
        let reader = &mut self.readers[number];
        let page = u64::from(reader.order[reader.next]);
        if reader.pages.is_mapped(page) {
            return Done::Here(now + copy);
        }
        let reads = reader.pages.fault(page, now);
        self.fetch(now, base, number, reads);
        let pages = &mut self.readers[number].pages;
        let ready_at = pages.ready_at(page).max(now);
        pages.map(page, ready_at);
        match ready_at <= now {
            true => Done::Here(now + copy),
            false => Done::Later(ready_at + copy),
        }
    }

    /// A read by system call goes on, as far as pages are there or were asked for.
    fn read(&mut self, now: Ps, number: usize) -> Done {
        let base = number as u64 * (self.given.size / self.page);
        let (first, count) = self.pages_of(number);
        let reader = &mut self.readers[number];
        let (start, end) = (first - base + reader.read, first - base + count);
        let (reads, to) = reader.pages.read(start, end, now);
        reader.read = if to == end { 0 } else { to - (first - base) };
        self.fetch(now, base, number, reads);
        let pages = &self.readers[number].pages;
        let ready_at = (start..to).map(|page| pages.ready_at(page)).max();
        let copied = self.given.host.copy * (to - start);
        match ready_at.expect("a page at least") {
            at if at <= now => Done::Here(now + copied),
            at => Done::Later(at + copied),
        }
    }

    /// The page cache of a thread has pages read.
    fn fetch(&mut self, now: Ps, base: u64, number: usize, reads: Vec<Pages>) {
        for read in reads {
            let at = self.ask(now, BlockOp::Read, base + read.start, read.count());
            self.readers[number].pages.arrives(read, at);
        }
    }

    /// A request to the cache of blocks, whose index was asked already.
    fn cached(&mut self, now: Ps, first: u64, count: u64) -> Done {
        let copied = self.given.host.copy * count;
        let pages = first..first + count;
        let is_hit = pages.clone().all(|page| self.blocks.has(page));
        let done = match is_hit || self.given.write {
            true => Done::Here(now + copied),
            false => Done::Later(self.ask(now, BlockOp::Read, first, count) + copied),
        };
        for page in pages {
            if let Some(dirty) = self.blocks.use_page(page, self.given.write) {
                // Written back behind the request, page by page.
                self.ask(now, BlockOp::Write, dirty, 1);
            }
        }
        done
    }

    /// The next line of a copy from or to the device as memory, by a core that waits for it.
    fn copy(&mut self, now: Ps, core: usize, number: usize, line: u64) {
        let (first, count) = self.pages_of(number);
        let (addr, lines) = (
            first * self.page + line * LINE_BYTES,
            count * self.page / LINE_BYTES,
        );
        let op = match self.given.write {
            true => Op::Write,
            false => Op::Read,
        };
        let completion = self.device.access(now, Request { addr, op }, &mut ());
        let latency = completion.done_at - now;
        match completion.served_by {
            ServedBy::Flash => self.result.misses.record(latency),
            _ => self.result.hits.record(latency),
        }
        let HostCore {
            under_way, running, ..
        } = &mut self.cores[core];
        let before = under_way.back().copied().unwrap_or(now);
        let retires_at = completion.done_at.max(before);
        under_way.push_back(retires_at);
        if line + 1 == lines {
            under_way.clear();
            self.end(retires_at, retires_at, core, number);
            return;
        }
        let next_at = match under_way.len() < self.given.host.depth as usize {
            true => now,
            false => under_way.pop_front().map_or(now, |oldest| now.max(oldest)),
        };
        *running = Some((number, Step::Copy(line + 1)));
        self.events.push(next_at, core);
    }
}

/// When a request is done.
#[derive(Clone, Copy)]
enum Done {
    /// Its core works until then.
    Here(Ps),
    /// Its core is free meanwhile.
    Later(Ps),
}
