//! A memory expander: no cache, no flash, every access is served from memory.

use super::Device;
use crate::config::Settings;
use crate::dram::Dram;
use crate::parts::Parts;
use crate::request::{Completion, Op, Request, ServedBy};
use sluice_units::{LINE_BYTES, Lpn, Ps};

/// The memory, and for how long it is taken.
pub(super) struct Memory {
    /// By the request's `Op`.
    times: [Ps; 2],
    transfer: Ps,
    free_at: Ps,
    dram: Option<Dram>,
}

impl Memory {
    /// The memory of an expander, or `None` if the device is not one.
    pub fn new(settings: &Settings) -> Option<Memory> {
        let given = settings.memory?;
        Some(Memory {
            times: [given.read, given.write],
            transfer: given.transfer,
            free_at: Ps::ZERO,
            dram: settings.dram.as_ref().map(Dram::new),
        })
    }

    /// When an access that is there at `at` begins, and how long it takes from then on.
    fn access(&mut self, at: Ps, req: Request) -> (Ps, Ps) {
        let start = at.max(self.free_at);
        self.free_at = start + self.transfer;
        let time = match &mut self.dram {
            Some(dram) => dram.access(start, req.addr, req.op).done_at - start,
            None => self.times[req.op as usize],
        };
        (start, time)
    }
}

impl Device {
    /// Serves an access to a memory expander, or says that the device is none. Counts as a hit.
    ///
    /// Its cache stays empty, so that accesses come here by way of a miss, and those that hit in
    /// other devices are not held up by the question.
    pub(super) fn memory_access(&mut self, req: Request) -> Option<Completion> {
        let memory = self.memory.as_mut()?;
        let at = self.now + self.config.protocol_latency;
        let (start, time) = memory.access(at, req);
        let parts = Parts {
            protocol: self.config.protocol_latency,
            stall: start - at,
            dram: time,
            ..Parts::default()
        };
        self.stats.hits += 1;
        self.count_latency(parts, start + time);
        Some(self.completion(start + time, ServedBy::CacheHit, false))
    }

    /// Writes every line of the page to the memory of an expander. Says when the last is done.
    pub(super) fn give_memory(&mut self, lpn: Lpn) -> Ps {
        let at = self.now + self.config.protocol_latency;
        let lines = self.config.page_bytes() / LINE_BYTES;
        let first = lpn.0 << self.config.page_shift;
        let Some(memory) = &mut self.memory else {
            return at;
        };
        let ends = (0..lines).map(|line| {
            let addr = first + line * LINE_BYTES;
            let (start, time) = memory.access(
                at,
                Request {
                    addr,
                    op: Op::Write,
                },
            );
            start + time
        });
        ends.fold(at, Ps::max)
    }
}
