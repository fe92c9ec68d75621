//! What every placement of pages works with: host memory, the link, the device, and the counting.

use super::link::Link;
use super::versions::{LINES, Versions};
use super::watch::Watch;
use super::writes::HeldWrites;
use super::{Answer, Moved};
use crate::artifact::Artifact;
use crate::config::{HostConfig, HostDram, Migration};
use crate::port::Reply;
use crate::stats::MemoryStats;
use sluice_model::dram::Dram;
use sluice_model::{Completion, Device, Hint, Op, Parts, Request, ServedBy};
use sluice_units::{LINE_BYTES, Lpn, PAGE_BYTES, Ps, Rng};
use std::collections::VecDeque;
use std::ops::Range;

pub(super) struct Bus<A> {
    pub artifact: A,
    dram: HostMemory,
    /// Finding out whether host memory has a page, if that is asked at every access.
    lookup: Ps,
    link: Link,
    /// None if it is behind a port (see `outside`).
    pub device: Option<Device>,
    /// How far the device's time is ahead of the host's, for which it did not matter.
    ahead: Ps,
    pub stats: MemoryStats,
    moved: VecDeque<Moved>,
    /// Pages that have left the device's cache, if anybody asks.
    pub evicted: Option<Vec<u64>>,
    /// Which copy of a line is the newest, if the host is checked.
    pub versions: Versions,
}

/// Host memory: a time, or banks with what their controller adds.
enum HostMemory {
    Fixed(Ps),
    Banks(Box<Banks>),
}

struct Banks {
    dram: Dram,
    held: HeldWrites,
    overhead: Ps,
    /// What a write that is held back counts for: nobody waits for it, and nothing holds it up.
    idle: Ps,
}

impl HostMemory {
    fn new(config: &HostDram) -> HostMemory {
        match config {
            HostDram::Fixed(latency) => HostMemory::Fixed(*latency),
            HostDram::Banks(banks) => HostMemory::Banks(Box::new(Banks {
                dram: Dram::new(&banks.layout),
                held: HeldWrites::new(banks.write_buffer),
                overhead: banks.overhead,
                idle: config.idle_read(),
            })),
        }
    }

    /// How long an access took that was done at `done_at`.
    fn counted(&self, now: Ps, done_at: Ps, op: Op) -> Ps {
        match self {
            HostMemory::Banks(banks) if op == Op::Write && banks.held.is_on() => banks.idle,
            _ => done_at - now,
        }
    }

    /// When the line is read or written.
    fn access(&mut self, now: Ps, addr: u64, op: Op) -> Ps {
        match self {
            HostMemory::Fixed(latency) => now + *latency,
            HostMemory::Banks(banks) => banks.access(now, addr, op),
        }
    }
}

impl Banks {
    /// When DRAM has served an access; at once if its controller does.
    fn access(&mut self, now: Ps, addr: u64, op: Op) -> Ps {
        let served = match op {
            Op::Write if self.held.is_on() => {
                self.held.push(now, addr, &mut self.dram);
                now
            }
            Op::Read if self.held.has(addr) => now,
            _ => self.dram.access(now, addr, op).done_at,
        };
        served + self.overhead
    }
}

/// A read that the device has taken.
pub(super) struct FromDevice {
    pub answer: Answer,
    /// Whether the device had the line in its DRAM.
    pub hit: bool,
}

/// A write that the device has taken.
pub(super) struct ToDevice {
    /// When the device has acknowledged it.
    pub answer: Answer,
    /// Whether the device had the line in its DRAM.
    pub hit: bool,
    /// Whether its write log took it.
    pub logged: bool,
}

/// A whole page that comes from the device.
pub(super) struct Fetched {
    /// When its last line is with the host.
    pub ready_at: Ps,
    served_by: ServedBy,
    parts: Parts,
}

/// A host whose device is behind a port neither fills, copies nor counts it.
const HERE: &str = "the device is on this host's own link";

fn is_hit(served_by: ServedBy) -> bool {
    matches!(served_by, ServedBy::CacheHit | ServedBy::WriteLog)
}

impl<A: Artifact> Bus<A> {
    pub fn new(config: &HostConfig, artifact: A, device: Option<Device>) -> Bus<A> {
        Bus {
            artifact,
            dram: HostMemory::new(&config.dram),
            lookup: match config.migration {
                Migration::AstriFlash(given) => given.lookup,
                _ => Ps::ZERO,
            },
            link: Link::new(config.link.line),
            device,
            ahead: Ps::ZERO,
            stats: MemoryStats::default(),
            moved: VecDeque::new(),
            evicted: None,
            versions: Versions::new(config.is_checked),
        }
    }

    /// The device, which is not behind a port.
    pub fn device(&self) -> &Device {
        self.device.as_ref().expect(HERE)
    }

    fn device_mut(&mut self) -> &mut Device {
        self.device.as_mut().expect(HERE)
    }

    /// Takes the device out, with how far its time is ahead of the host's.
    pub fn take_device(&mut self) -> (Device, Ps) {
        (
            self.device.take().expect(HERE),
            std::mem::take(&mut self.ahead),
        )
    }

    /// Counts a request that was answered through a port. Of a right to write without the line, no
    /// memory was asked for anything.
    pub fn answered(&mut self, asked_at: Ps, now: Ps, is_write: bool, reply: &Reply) {
        match reply.served_by {
            _ if is_write => {
                self.stats.requests.device_writes += 1;
                self.stats.link_bytes[0] += LINE_BYTES;
            }
            Some(served_by) => _ = self.count_read(served_by, reply.parts),
            None => return,
        }
        if reply.delayed {
            self.stats.long_delays += 1;
            return;
        }
        self.stats.link_bytes[1] += if is_write { 0 } else { LINE_BYTES };
        self.count_device(asked_at, now, reply.parts);
    }

    /// Fills the device's cache with the last of these pages, or with as many drawn from the last
    /// `spread` times as many: written, if they are said to be and stores do not go to a log.
    pub fn fill(&mut self, pages: Range<u64>, spread: u64, is_written: &dyn Fn(u64) -> bool) {
        let config = self.device().config();
        let (room, logs) = (u64::from(config.cache.pages), config.write_log.is_some());
        let first = pages.start.max(pages.end.saturating_sub(room * spread));
        // Drawn without the seed, as these pages have nothing to do with the program.
        let mut rng = Rng::stream(0, "others");
        let mut wanted = room.min(pages.end - first);
        let mut at = Ps::ZERO;
        let mut watch = Watch {
            evicted: &mut None,
            artifact: &self.artifact,
        };
        for page in first..pages.end {
            if rng.below(pages.end - page) >= wanted {
                continue;
            }
            wanted -= 1;
            let addr = page * PAGE_BYTES;
            let op = match is_written(page) && !logs {
                true => Op::Write,
                false => Op::Read,
            };
            let device = self.device.as_mut().expect(HERE);
            at = device.access(at, Request { addr, op }, &mut watch).done_at;
        }
        self.ahead = self.device_mut().settle(at);
    }

    /// Notes which pages leave the device's cache for those that have arrived by `at`, a time of
    /// the device's. Says when the next one arrives.
    fn land(&mut self, at: Ps) -> Option<Ps> {
        let device = self.device.as_mut().expect(HERE);
        if !device.config().cache.evicts_at_fill {
            return None;
        }
        let mut watch = Watch {
            evicted: &mut self.evicted,
            artifact: &self.artifact,
        };
        device.land(at, &mut watch)
    }

    /// Lets the device begin to compact its log.
    pub fn compact_log(&mut self, now: Ps) {
        let at = now + self.ahead;
        self.land(at);
        self.device_mut().compact_log(at);
    }

    /// Lets the device come to rest, in time that passes for nobody else.
    pub fn settle(&mut self, now: Ps) {
        let begun = now + self.ahead;
        let mut at = begun;
        while let Some(next) = self.land(at) {
            at = next;
        }
        let settled = self.device_mut().settle(at);
        self.ahead += settled - begun;
    }

    /// Reads a line of host memory. `away` is what the way to its node adds, or a wait for it.
    pub fn host_read(&mut self, now: Ps, addr: u64, away: Ps) -> Answer {
        self.stats.requests.host_reads += 1;
        let before = self.stats.access_time.host_dram;
        let answer = self.host_access(now, addr, Op::Read, away);
        self.count_demand(before);
        answer
    }

    /// Writes a line of host memory.
    pub fn host_write(&mut self, now: Ps, addr: u64, away: Ps) -> Answer {
        self.stats.requests.host_writes += 1;
        self.host_access(now, addr, Op::Write, away)
    }

    /// An access of host memory that somebody asked for; `before` is what all took until then.
    pub fn count_demand(&mut self, before: Ps) {
        let time = &mut self.stats.access_time;
        time.host_demand += time.host_dram - before;
        time.host_demands += 1;
    }

    fn host_access(&mut self, now: Ps, addr: u64, op: Op, away: Ps) -> Answer {
        let served = self.dram.access(now, addr, op);
        let done_at = served + self.lookup + away;
        let counted = self.dram.counted(now, served, op) + self.lookup + away;
        let time = &mut self.stats.access_time;
        time.accesses += 1;
        time.host_dram += counted;
        self.stats.latency.record(counted);
        Answer::data(done_at)
    }

    /// Reads a line of the device. With `may_delay` a long wait is answered without data.
    pub fn device_read(&mut self, now: Ps, addr: u64, may_delay: bool) -> FromDevice {
        self.versions.device_read(addr);
        let at = self.link.request(now + self.lookup);
        let (completion, parts) = self.device_access(at, addr, Op::Read);
        let hit = self.count_read(completion.served_by, parts);
        let answer = if may_delay && completion.hint == Hint::LongDelay {
            self.long_delay(now, completion.done_at, parts)
        } else {
            let done_at = self.line_arrives(now, completion.done_at);
            self.count_device(now, done_at, parts);
            Answer::data(done_at)
        };
        FromDevice { answer, hit }
    }

    /// The device's message about an access that it will be done with at `done_at`.
    fn long_delay(&mut self, now: Ps, done_at: Ps, parts: Parts) -> Answer {
        let begun = done_at - parts.total();
        let message = begun + parts.protocol + parts.indexing;
        let arrives = self.link.from_device.peek(now, message);
        self.delayed(arrives, done_at)
    }

    /// Answers with a long delay: the data could be there at `data_at`.
    pub fn delayed(&mut self, done_at: Ps, data_at: Ps) -> Answer {
        self.stats.long_delays += 1;
        Answer {
            done_at,
            delayed: true,
            data_at,
        }
    }

    /// Says whether it was a hit.
    fn count_read(&mut self, served_by: ServedBy, parts: Parts) -> bool {
        let hit = is_hit(served_by);
        self.stats.requests.device_read_hits += u64::from(hit);
        self.stats.requests.device_read_misses += u64::from(!hit);
        if served_by == ServedBy::Flash {
            let nand = parts.flash_queue + parts.flash_gc + parts.flash_service;
            self.stats.flash_read.record(nand);
        }
        hit
    }

    /// Writes a line of the device. With `may_delay` a long wait is answered before it is over.
    pub fn device_write(&mut self, now: Ps, addr: u64, may_delay: bool) -> ToDevice {
        self.versions.device_write(addr);
        let at = self.link.write(now + self.lookup);
        self.stats.link_bytes[0] += LINE_BYTES;
        let (completion, parts) = self.device_access(at, addr, Op::Write);
        self.stats.requests.device_writes += 1;
        let answer = if may_delay && completion.hint == Hint::LongDelay {
            self.long_delay(now, completion.done_at, parts)
        } else {
            self.count_device(now, completion.done_at, parts);
            Answer::data(completion.done_at)
        };
        ToDevice {
            answer,
            hit: is_hit(completion.served_by),
            logged: completion.served_by == ServedBy::WriteLog,
        }
    }

    /// Fetches the page of a line whole, for a cache of pages in host memory.
    pub fn fetch_page(&mut self, now: Ps, addr: u64) -> Fetched {
        let at = self.link.request(now + self.lookup);
        let (completion, parts) = self.device_access(at, addr, Op::Read);
        let arrivals = (0..LINES).map(|_| self.line_arrives(now, completion.done_at));
        Fetched {
            ready_at: arrivals.last().unwrap_or(completion.done_at),
            served_by: completion.served_by,
            parts,
        }
    }

    /// Answers a read for which a page was fetched.
    pub fn fetched_for_read(&mut self, now: Ps, page: &Fetched, may_delay: bool) -> Answer {
        self.count_read(page.served_by, page.parts);
        if may_delay {
            return self.delayed(now + self.lookup, page.ready_at);
        }
        self.count_device(now, page.ready_at, page.parts);
        Answer::data(page.ready_at)
    }

    /// Answers a write for which a page was fetched.
    pub fn fetched_for_write(&mut self, now: Ps, page: &Fetched, may_delay: bool) -> Answer {
        self.stats.requests.device_writes += 1;
        if may_delay {
            return self.delayed(now + self.lookup, page.ready_at);
        }
        self.count_device(now, page.ready_at, page.parts);
        Answer::data(page.ready_at)
    }

    /// Answers a read of a page that is on its way.
    pub fn merged(&mut self, now: Ps, ready_at: Ps, may_delay: bool) -> Answer {
        self.stats.requests.device_read_misses += 1;
        if may_delay {
            return self.delayed(now + self.lookup, ready_at);
        }
        let time = &mut self.stats.access_time;
        time.accesses += 1;
        time.host_dram += self.lookup;
        time.flash += ready_at - now - self.lookup;
        self.stats.latency.record(ready_at - now);
        Answer::data(ready_at)
    }

    /// When the device can send the lines of a page. If its cache does not have it, the host's
    /// first read brings it in.
    pub fn page_ready(&mut self, now: Ps, page: u64) -> Ps {
        match self.device().cached_at(Lpn::of(page)) {
            Some(at) => at.saturating_sub(self.ahead).max(now),
            None => {
                let at = self.link.request(now);
                self.device_access(at, page * PAGE_BYTES, Op::Read)
                    .0
                    .done_at
            }
        }
    }

    fn device_access(&mut self, at: Ps, addr: u64, op: Op) -> (Completion, Parts) {
        let device = self.device.as_mut().expect(HERE);
        let before = device.stats().parts;
        let mut watch = Watch {
            evicted: &mut self.evicted,
            artifact: &self.artifact,
        };
        let request = Request { addr, op };
        let mut completion = device.access(at + self.ahead, request, &mut watch);
        completion.done_at = completion.done_at - self.ahead;
        (completion, device.stats().parts - before)
    }

    /// What the device does not account for is time on the link.
    fn count_device(&mut self, now: Ps, done_at: Ps, parts: Parts) {
        let behind = parts.total() - (parts.protocol + parts.indexing + parts.dram);
        let elsewhere = self.lookup + parts.indexing + parts.dram + behind;
        let time = &mut self.stats.access_time;
        time.accesses += 1;
        time.host_dram += self.lookup;
        time.indexing += parts.indexing;
        time.device_dram += parts.dram;
        time.flash += behind;
        time.protocol += (done_at - now) - elsewhere;
        self.stats.latency.record(done_at - now);
    }

    /// When a line that leaves the device for `at` is with the host.
    pub fn line_arrives(&mut self, now: Ps, at: Ps) -> Ps {
        self.stats.link_bytes[1] += LINE_BYTES;
        self.link.from_device.take(now, at)
    }

    /// Sends a line of a page that goes back to the device at `at`.
    pub fn line_returns(&mut self, now: Ps, at: Ps) -> Ps {
        self.stats.link_bytes[0] += LINE_BYTES;
        self.link.page_line(now, at)
    }

    /// Moves the lines of a page of host memory: they are there, or go, at `now`.
    pub fn host_page(&mut self, now: Ps, frame_page: u64, op: Op) {
        if let HostMemory::Banks(banks) = &mut self.dram {
            for line in 0..LINES {
                let addr = frame_page * PAGE_BYTES + line * LINE_BYTES;
                banks.dram.access(now, addr, op);
            }
        }
    }

    /// Notes that the translation of pages has changed.
    pub fn moves(&mut self, moved: Moved) {
        self.stats.migration.shootdowns += u64::from(moved.shootdown);
        self.moved.push_back(moved);
    }

    pub fn take_moved(&mut self) -> Option<Moved> {
        self.moved.pop_front()
    }

    /// Takes the contents of a page from the device. Says whether flash does not have them.
    pub fn promote(&mut self, now: Ps, page: u64) -> bool {
        let at = now + self.ahead;
        self.land(at);
        let dirty = self.device_mut().promote(at, Lpn::of(page)).dirty;
        self.versions.taken(page, dirty);
        dirty
    }

    /// Gives the contents of a page back to the device.
    pub fn demote(&mut self, now: Ps, page: u64, frame_page: u64) {
        let mut watch = Watch {
            evicted: &mut self.evicted,
            artifact: &self.artifact,
        };
        let at = now + self.ahead;
        let device = self.device.as_mut().expect(HERE);
        device.demote(at, Lpn::of(page), &mut watch);
        self.versions.given(page, frame_page);
    }

    /// Gives the contents of a page back as an artifact does, without a word on the link.
    pub fn return_page(&mut self, now: Ps, page: u64, frame_page: u64) {
        self.land(now + self.ahead);
        let device = self.device.as_mut().expect(HERE);
        self.artifact
            .returns(device, now + self.ahead, Lpn::of(page));
        self.versions.given(page, frame_page);
    }
}
