//! A device that is asked by arrays of accesses, and keeps its time between them.

use crate::closed_loop::SimResult;
use sluice_model::{BlockOp, BlockRequest, Device, Op, Refused, Request, Stats};
use sluice_units::{Fnv, LINE_BYTES, Lpn, Ps};

/// Accesses between two questions whether to stop: some milliseconds.
const STRETCH: usize = 1 << 16;

/// Loads and stores by their place; the arrays have the same length.
#[derive(Clone, Copy, Debug)]
pub struct Accesses<'a> {
    /// Byte addresses on the device.
    pub addresses: &'a [u64],
    /// Whether each is a store. `None`: all are loads.
    pub writes: Option<&'a [bool]>,
    /// Bytes of each, at least 1. `None`: each is within a line.
    pub sizes: Option<&'a [u64]>,
    /// When each is made, none before the one before it. `None`: when the one before is done.
    pub at: Option<&'a [Ps]>,
}

impl Accesses<'_> {
    /// The addresses of the lines of an access, in order.
    fn lines(&self, index: usize) -> impl Iterator<Item = u64> {
        let first = self.addresses[index];
        let bytes = self.sizes.map_or(1, |sizes| sizes[index]);
        let end = first + bytes;
        let rest = (first / LINE_BYTES + 1) * LINE_BYTES;
        std::iter::once(first).chain((rest..end).step_by(LINE_BYTES as usize))
    }
}

/// Requests of the block door, one kind at a time; the arrays have the same length.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<'a> {
    /// What each does with its pages.
    pub op: BlockOp,
    /// The first page of each.
    pub pages: &'a [u64],
    /// How many pages each is about, at least 1. `None`: one.
    pub counts: Option<&'a [u64]>,
    /// When each is made, none before the one before it. `None`: when the one before is done.
    pub at: Option<&'a [Ps]>,
}

/// A device with its requester: the accesses of all arrays are counted together.
pub struct Bulk {
    device: Device,
    /// When the last access was made.
    made: Ps,
    counted: SimResult,
}

impl Bulk {
    /// A device that nobody has used.
    pub fn new(device: Device) -> Bulk {
        Bulk {
            device,
            made: Ps::ZERO,
            counted: SimResult::from(Stats::default(), Ps::ZERO, Fnv::default()),
        }
    }

    /// Makes each access, and says how long it took: until the last of its lines, which are asked
    /// for together, is there. `stop` is asked now and then, with the accesses made, whether to
    /// give up: then the times end.
    ///
    /// # Panics
    /// If a line is not on the device.
    pub fn access(&mut self, given: Accesses<'_>, mut stop: impl FnMut(u64) -> bool) -> Vec<Ps> {
        let count = given.addresses.len();
        let mut times = Vec::with_capacity(count);
        let mut now = self.now();
        for first in (0..count).step_by(STRETCH) {
            if stop(first as u64) {
                break;
            }
            for index in first..count.min(first + STRETCH) {
                now = given.at.map_or(now, |at| at[index]);
                let done_at = self.access_one(now, &given, index);
                times.push(done_at - now);
                self.made = now;
                now = done_at;
            }
        }
        times
    }

    fn access_one(&mut self, now: Ps, given: &Accesses<'_>, index: usize) -> Ps {
        let is_store = given.writes.is_some_and(|writes| writes[index]);
        let op = if is_store { Op::Write } else { Op::Read };
        let mut last = now;
        for addr in given.lines(index) {
            let completion = self.device.access(now, Request { addr, op }, &mut ());
            let done_at = completion.done_at;
            if completion.served_by.is_trap() {
                self.counted.count_trap(now, done_at);
            }
            self.counted.count(0, now, done_at, completion.served_by);
            last = last.max(done_at);
        }
        last
    }

    /// Makes each request of the block door, and says how long it took. `stop` is asked as by
    /// [`Bulk::access`].
    ///
    /// # Errors
    /// Why the device refused a request. Those before it were made.
    ///
    /// # Panics
    /// If a page is not on the device.
    pub fn block(
        &mut self,
        given: Blocks<'_>,
        mut stop: impl FnMut(u64) -> bool,
    ) -> Result<Vec<Ps>, Refused> {
        let mut times = Vec::with_capacity(given.pages.len());
        let mut now = self.now();
        for (index, page) in given.pages.iter().enumerate() {
            if index % STRETCH == 0 && stop(index as u64) {
                break;
            }
            now = given.at.map_or(now, |at| at[index]);
            let count = given.counts.map_or(1, |counts| counts[index]);
            let request = BlockRequest::new(given.op, Lpn::of(*page), count);
            let done_at = self.device.block(now, request, &mut ())?.done_at;
            times.push(done_at - now);
            self.made = now;
            self.counted.count_block(0, now, done_at);
            now = done_at;
        }
        Ok(times)
    }

    /// When all that was asked for is done.
    pub fn now(&self) -> Ps {
        self.counted.sim_time
    }

    /// When the last access was made: the next one is not before it.
    pub fn made(&self) -> Ps {
        self.made
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What was counted since the device was made: an access for each line.
    pub fn counted(&self) -> &SimResult {
        &self.counted
    }
}
