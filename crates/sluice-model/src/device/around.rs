//! Accesses that pass the cache by, and stores that wait for their programs.

use super::observer::Observer;
use super::pipeline::Pipeline;
use crate::nand::Origin;
use crate::parts::Parts;
use crate::request::{Op, Request};
use sluice_units::{Lpn, Ps, Slot};

impl<O: Observer> Pipeline<O> {
    /// Writes a store through that waits for the program. Its page is there at `ready_at`.
    pub fn await_store(
        &mut self,
        ready_at: Ps,
        slot: Slot,
        lpn: Lpn,
        req: Request,
        parts: &mut Parts,
    ) {
        let store = req.op == Op::Write;
        if !(self.awaits_programs && store && self.storage.cache.writes_through()) {
            return;
        }
        let now = self.storage.now();
        let at = ready_at.max(now + parts.total());
        parts.merge += at - (now + parts.total());
        if let Some(served) = self.storage.write_through(at, slot, lpn) {
            parts.wait_for(&served);
        }
    }

    /// Serves an access outside the cache: reads the page, and changes and programs it for a store.
    pub fn pass_by(&mut self, at: Ps, lpn: Lpn, op: Op) -> Parts {
        let parts = self.around(at, lpn);
        match op {
            Op::Write => self.program_around(lpn, parts),
            Op::Read => {
                self.storage.stats.read_arounds += 1;
                parts
            }
        }
    }

    /// Programs the page that a store brings, outside the cache.
    pub fn write_whole(&mut self, lpn: Lpn) -> Parts {
        let mut parts = self.front.parts_with_log();
        parts.dram = self.storage.dram.latency();
        self.program_around(lpn, parts)
    }

    fn program_around(&mut self, lpn: Lpn, mut parts: Parts) -> Parts {
        self.storage.stats.write_arounds += 1;
        let at = self.storage.now() + parts.total();
        if let Some(served) = self.storage.write_for_store(at, lpn) {
            parts.wait_for(&served);
        }
        parts
    }

    /// Reads the page for one access without a place in the cache. Returns where its time goes.
    fn around(&mut self, at: Ps, lpn: Lpn) -> Parts {
        let start = self.front.miss_starts(at);
        let stats = &mut self.storage.stats;
        stats.mshr_stalls += u64::from(start > at);
        let served = self.storage.back.read(start, lpn, Origin::Host, stats);
        self.storage.back.observer().bypassed();
        let mut parts = self.front.parts_with_log();
        parts.stall = start - at;
        parts.dram = self.storage.dram.latency();
        parts.wait_for(&served);
        let done_at = served.done_at + parts.dram;
        self.front.take_entry(start, done_at);
        self.front.take_request(start, done_at);
        parts
    }
}
