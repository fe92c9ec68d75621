//! What every placement of pages works with: host memory, the link, the device, and the counting.

use super::link::Link;
use super::{Answer, Moved};
use crate::host::config::HostConfig;
use crate::host::stats::MemoryStats;
use sluice_model::dram::Dram;
use sluice_model::{Completion, Device, Hint, Op, Parts, Request, ServedBy};
use sluice_units::{LINE_BYTES, Ps};
use std::collections::VecDeque;

pub(super) struct Bus {
    dram: Dram,
    overhead: Ps,
    pub link: Link,
    pub device: Device,
    pub stats: MemoryStats,
    moved: VecDeque<Moved>,
}

impl Bus {
    pub fn new(config: &HostConfig, device: Device) -> Bus {
        Bus {
            dram: Dram::new(&config.dram),
            overhead: config.dram_overhead,
            link: Link::new(config.link.line),
            device,
            stats: MemoryStats::default(),
            moved: VecDeque::new(),
        }
    }

    /// Reads a line of host memory. `away` is what finding it and its node add.
    pub fn host_read(&mut self, now: Ps, addr: u64, away: Ps) -> Answer {
        self.stats.requests.host_reads += 1;
        self.host_access(now, addr, Op::Read, away)
    }

    /// Writes a line of host memory.
    pub fn host_write(&mut self, now: Ps, addr: u64, away: Ps) {
        self.stats.requests.host_writes += 1;
        self.host_access(now, addr, Op::Write, away);
    }

    fn host_access(&mut self, now: Ps, addr: u64, op: Op, away: Ps) -> Answer {
        let done_at = self.dram.access(now, addr, op).done_at + self.overhead + away;
        let time = &mut self.stats.access_time;
        time.accesses += 1;
        time.host_dram += done_at - now;
        self.stats.latency.record(done_at - now);
        Answer {
            done_at,
            delayed: false,
        }
    }

    /// Reads a line of the device. With `may_delay` a long wait is answered without data.
    pub fn device_read(&mut self, now: Ps, addr: u64, may_delay: bool) -> Answer {
        let at = self.link.request(now);
        let (completion, parts) = self.device_access(at, addr, Op::Read);
        let served_by = completion.served_by;
        let requests = &mut self.stats.requests;
        match served_by {
            ServedBy::CacheHit | ServedBy::WriteLog => requests.device_read_hits += 1,
            ServedBy::MshrMerge | ServedBy::Flash => requests.device_read_misses += 1,
        }
        if served_by == ServedBy::Flash {
            let nand = parts.flash_queue + parts.flash_gc + parts.flash_service;
            self.stats.flash_read.record(nand);
        }
        let delayed = may_delay && completion.hint == Hint::LongDelay;
        let done_at = if delayed {
            self.stats.long_delays += 1;
            let begun = completion.done_at - parts.total();
            let message = begun + parts.protocol + parts.indexing;
            self.link.from_device.peek(now, message)
        } else {
            let done_at = self.line_arrives(now, completion.done_at);
            self.count_device(now, done_at, parts);
            done_at
        };
        Answer { done_at, delayed }
    }

    /// Writes a line of the device. Nobody waits for it.
    pub fn device_write(&mut self, now: Ps, addr: u64) {
        let at = self.link.write(now);
        self.stats.link_bytes[0] += LINE_BYTES;
        let (completion, parts) = self.device_access(at, addr, Op::Write);
        self.stats.requests.device_writes += 1;
        self.count_device(now, completion.done_at, parts);
    }

    fn device_access(&mut self, at: Ps, addr: u64, op: Op) -> (Completion, Parts) {
        let before = self.device.stats().parts;
        let completion = self.device.access(at, Request { addr, op }, &mut ());
        (completion, self.device.stats().parts - before)
    }

    /// What the device does not account for is time on the link.
    fn count_device(&mut self, now: Ps, done_at: Ps, parts: Parts) {
        let behind = parts.total() - (parts.protocol + parts.indexing + parts.dram);
        let time = &mut self.stats.access_time;
        time.accesses += 1;
        time.indexing += parts.indexing;
        time.device_dram += parts.dram;
        time.flash += behind;
        time.protocol += (done_at - now) - (parts.indexing + parts.dram + behind);
        self.stats.latency.record(done_at - now);
    }

    /// When a line that leaves the device for `at` is with the host.
    pub fn line_arrives(&mut self, now: Ps, at: Ps) -> Ps {
        self.stats.link_bytes[1] += LINE_BYTES;
        self.link.from_device.take(now, at)
    }

    pub fn take_moved(&mut self) -> Option<Moved> {
        self.moved.pop_front()
    }
}
