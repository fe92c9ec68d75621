//! Requesters that each wait for their access before they issue the next.

use crate::mmu::Mmu;
use sluice_events::Wheel;
use sluice_model::{BlockOp, BlockRequest, Completion, Device, Op, Request, ServedBy, Stats};
use sluice_stats::Histogram;
use sluice_units::{ClockEnd, Fnv, Lpn, Ps};

/// Accesses whose pages are kept, at most: what is asked about them numbers them.
const PAGES_MAX: usize = u32::MAX as usize - 1;

/// One load or store of a requester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Byte address on the device.
    pub addr: u64,
    /// A store, not a load.
    pub write: bool,
}

/// One request of a requester for whole pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockAccess {
    /// What it does with them.
    pub op: BlockOp,
    /// First page and number of each run of them, all asked for together.
    pub runs: Vec<(u64, u64)>,
}

/// What a requester asks for next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A load or a store.
    Access(Access),
    /// Pages, by the block door.
    Block(BlockAccess),
}

impl From<Access> for Asked {
    fn from(access: Access) -> Asked {
        Asked::Access(access)
    }
}

/// What the device sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Every access.
    All,
    /// Only accesses to pages that are not mapped: those that trap when a program runs live. The
    /// rest take `cache.hit_latency` and leave no trace in the device.
    Misses,
}

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What the device sees.
    pub visibility: Visibility,
    /// Accesses that are made before any is counted.
    pub warmup: u64,
    /// If not 0, counts are also kept for each stretch of this many accesses.
    pub interval: u64,
    /// Time a requester spends between an access and the next.
    pub think: Ps,
    /// Whether to keep the page of every access, for [`crate::optimum`].
    pub keep_pages: bool,
    /// Whether to keep the page of every trap, to compare with what a live run recorded.
    pub keep_traps: bool,
}

impl Default for Options {
    /// Every access visible, no intervals, no pause, nothing kept.
    fn default() -> Options {
        Options {
            visibility: Visibility::All,
            warmup: 0,
            interval: 0,
            think: Ps::ZERO,
            keep_pages: false,
            keep_traps: false,
        }
    }
}

/// Counts of one stretch of accesses, in the order in which they were issued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Accesses issued.
    pub accesses: u64,
    /// Accesses that did not go behind the cache: mapped pages, hits and merges.
    pub hits: u64,
    /// Accesses that went behind the cache.
    pub misses: u64,
}

/// What a run gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimResult {
    /// The device's counters when counting began.
    pub before: Stats,
    /// When counting began.
    pub began: Ps,
    /// When the last access was done.
    pub sim_time: Ps,
    /// Accesses of all requesters.
    pub accesses: u64,
    /// Accesses to mapped pages, which the device did not see.
    pub mapped_hits: u64,
    /// Accesses that went behind the cache.
    pub misses: u64,
    /// Accesses that a live run would trap on. With every access visible these are the misses and
    /// merges; with misses only, all that the device saw.
    pub trapped: u64,
    /// The LPN of each of them, in order, if [`Options::keep_traps`] asked for them.
    pub traps: Vec<u64>,
    /// The LPN of every access, in the order of issue, if [`Options::keep_pages`] asked for them:
    /// none of more than 2^32 - 2.
    pub pages: Vec<u32>,
    /// Latencies of all accesses.
    pub latency: Histogram,
    /// Latencies of the traps alone.
    pub trap_latency: Histogram,
    /// Latencies of the requests for whole pages, which are no accesses.
    pub block_latency: Histogram,
    /// Counts per stretch, if [`Options::interval`] asked for them. The last may be shorter.
    pub intervals: Vec<Interval>,
    /// FNV-1a, a word at a time, over the requester, end and place of every access, and over when
    /// counting began, if there was a warm-up: equal runs have equal hashes.
    pub hash: Fnv,
}

impl SimResult {
    /// Nothing has been counted since the device had these counters.
    pub(crate) fn from(before: Stats, began: Ps, hash: Fnv) -> SimResult {
        SimResult {
            before,
            began,
            sim_time: began,
            accesses: 0,
            mapped_hits: 0,
            misses: 0,
            trapped: 0,
            traps: Vec::new(),
            pages: Vec::new(),
            latency: Histogram::default(),
            trap_latency: Histogram::default(),
            block_latency: Histogram::default(),
            intervals: Vec::new(),
            hash,
        }
    }

    /// Counts an access from its place and its two ends.
    #[inline]
    pub(crate) fn count(&mut self, requester: usize, now: Ps, done_at: Ps, served_by: ServedBy) {
        self.accesses += 1;
        self.misses += u64::from(served_by == ServedBy::Flash);
        self.latency.record(done_at - now);
        self.sim_time = self.sim_time.max(done_at);
        for word in [requester as u64, done_at.0, served_by as u64] {
            self.hash.word(word);
        }
    }

    /// Counts a request for whole pages.
    pub(crate) fn count_block(&mut self, requester: usize, now: Ps, done_at: Ps) {
        self.block_latency.record(done_at - now);
        self.sim_time = self.sim_time.max(done_at);
        self.hash.word(requester as u64);
        self.hash.word(done_at.0);
    }

    /// Counts an access that a live run would trap on.
    #[inline]
    pub(crate) fn count_trap(&mut self, now: Ps, done_at: Ps) {
        self.trapped += 1;
        self.trap_latency.record(done_at - now);
    }

    /// Accesses that did not go behind the cache.
    pub fn hits(&self) -> u64 {
        self.accesses - self.misses
    }
}

/// Runs every stream to its end, each with one access outstanding, from time zero of a device
/// that nobody else uses. Requesters issue in order of time, then in order of their last issue.
///
/// A request for pages that the device refuses, and counts, is done at once.
///
/// # Errors
/// [`ClockEnd`].
///
/// # Panics
/// If an address is not on the device.
pub fn run<I>(device: &mut Device, streams: Vec<I>, options: Options) -> Result<SimResult, ClockEnd>
where
    I: Iterator<Item: Into<Asked>>,
{
    let mut state = Loop::new(device.pages(), options, streams.len());
    let mut streams = streams;
    let mut events = Wheel::with_capacity(streams.len());
    (0..streams.len()).for_each(|requester| events.push(Ps::ZERO, requester));
    while let Some((now, requester)) = events.pop() {
        state.arrive(device, requester);
        if let Some(asked) = streams[requester].next() {
            if now > Ps::LAST {
                return Err(ClockEnd);
            }
            state.begin_counting(device, now);
            let done_at = match asked.into() {
                Asked::Access(access) => state.issue(device, now, requester, access),
                Asked::Block(block) => state.block(device, now, requester, &block),
            };
            events.push(done_at + options.think, requester);
        }
    }
    if state.options.warmup > 0 {
        // The streams ended before: nothing is counted.
        state.forget(device, state.result.sim_time);
    }
    if state.result.sim_time > Ps::LAST {
        return Err(ClockEnd);
    }
    Ok(state.result)
}

struct Loop {
    options: Options,
    /// Accesses until counting begins.
    warmup: u64,
    /// The page table, if mapped pages are out of the device's sight.
    mmu: Option<Mmu>,
    /// Per requester: the trapped access that is mapped when it is done.
    pending: Vec<Option<Access>>,
    result: SimResult,
}

impl Loop {
    fn new(pages: u64, options: Options, requesters: usize) -> Loop {
        let mmu = (options.visibility == Visibility::Misses).then(|| Mmu::new(pages));
        let result = SimResult::from(Stats::default(), Ps::ZERO, Fnv::default());
        Loop {
            options,
            warmup: options.warmup,
            mmu,
            pending: vec![None; requesters],
            result,
        }
    }

    /// Ends a requester's trap: the page is mapped, if it has not left the cache meanwhile.
    fn arrive(&mut self, device: &Device, requester: usize) {
        if let (Some(mmu), Some(access)) = (&mut self.mmu, self.pending[requester].take()) {
            let lpn = device.config().lpn_of(access.addr);
            if device.is_cached(lpn) {
                mmu.map(lpn, access.write);
            }
        }
    }

    fn block(&mut self, device: &mut Device, now: Ps, requester: usize, block: &BlockAccess) -> Ps {
        let mut done_at = now;
        device.by(Some(requester as u64));
        for (page, count) in &block.runs {
            let request = BlockRequest::new(block.op, Lpn::of(*page), *count);
            let done = match &mut self.mmu {
                Some(mmu) => device.block(now, request, mmu),
                None => device.block(now, request, &mut ()),
            };
            done_at = done_at.max(done.map_or(now, |done| done.done_at));
        }
        self.result.count_block(requester, now, done_at);
        done_at
    }

    fn issue(&mut self, device: &mut Device, now: Ps, requester: usize, access: Access) -> Ps {
        let lpn = device.config().lpn_of(access.addr);
        if self.options.keep_pages {
            self.keep(lpn);
        }
        let op = if access.write { Op::Write } else { Op::Read };
        let req = Request {
            addr: access.addr,
            op,
        };
        let Some(mmu) = &mut self.mmu else {
            device.by(Some(requester as u64));
            let completion = device.access(now, req, &mut ());
            let trapped = completion.served_by.is_trap();
            return self.served(now, requester, lpn, completion, trapped);
        };
        device.map_arrived(now, mmu);
        if mmu.touch(lpn, access.write) {
            self.result.mapped_hits += 1;
            let done_at = now + device.config().hit_time(op);
            self.count(requester, now, done_at, ServedBy::CacheHit);
            return done_at;
        }
        self.pending[requester] = Some(access);
        device.by(Some(requester as u64));
        let completion = device.access(now, req, mmu);
        self.served(now, requester, lpn, completion, true)
    }

    /// Keeps the page of an access, up to as many as can be numbered.
    fn keep(&mut self, lpn: Lpn) {
        if self.result.pages.len() < PAGES_MAX {
            self.result.pages.push(lpn.0);
        } else {
            self.options.keep_pages = false;
            self.result.pages = Vec::new();
        }
    }

    /// Forgets what was counted so far, if the accesses that warm the device are over.
    fn begin_counting(&mut self, device: &Device, now: Ps) {
        if self.options.warmup == 0 || self.warmup > 0 {
            self.warmup = self.warmup.saturating_sub(1);
            return;
        }
        self.forget(device, now);
    }

    /// Counts from zero. The hash of all accesses has where counting began.
    fn forget(&mut self, device: &Device, now: Ps) {
        self.options.warmup = 0;
        self.result.hash.word(now.0);
        self.result = SimResult::from(*device.stats(), now, self.result.hash);
    }

    fn served(
        &mut self,
        now: Ps,
        requester: usize,
        lpn: Lpn,
        completion: Completion,
        trapped: bool,
    ) -> Ps {
        let Completion {
            done_at, served_by, ..
        } = completion;
        if trapped {
            if self.options.keep_traps {
                self.result.traps.push(lpn.into());
            }
            self.result.count_trap(now, done_at);
        }
        self.count(requester, now, done_at, served_by);
        done_at
    }

    fn count(&mut self, requester: usize, now: Ps, done_at: Ps, served_by: ServedBy) {
        let miss = served_by == ServedBy::Flash;
        let result = &mut self.result;
        let every = self.options.interval;
        if every > 0 {
            if result.accesses.is_multiple_of(every) {
                result.intervals.push(Interval::default());
            }
            if let Some(last) = result.intervals.last_mut() {
                last.accesses += 1;
                last.misses += u64::from(miss);
                last.hits += u64::from(!miss);
            }
        }
        result.count(requester, now, done_at, served_by);
    }
}
