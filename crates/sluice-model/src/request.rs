//! What goes into the device and what comes out.

use sluice_units::{Lpn, Ps};

/// Load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// A load, which waits for its data.
    Read,
    /// A store. It is appended to the write log if there is one. If not, a page that is not in the
    /// cache is fetched first, then written there.
    Write,
}

/// What makes something happen in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A load or a store.
    Demand,
    /// The prefetcher, which saw a load or a store.
    Prefetch,
    /// The host, which asked for it beside its loads and stores: by a hint of the program such as
    /// `madvise`, a command, a block request, or a page that it gives back.
    Command,
}

/// One access to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Byte address on the device, below its capacity.
    pub addr: u64,
    /// Load or store.
    pub op: Op,
}

/// Where an access found its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedBy {
    /// In the DRAM cache.
    CacheHit,
    /// On its way into the cache, for an earlier miss or a prefetch.
    MshrMerge,
    /// Behind the cache.
    Flash,
    /// In the write log, or appended to it.
    WriteLog,
}

impl ServedBy {
    /// Whether the page was not there: a miss, or one on its way.
    #[inline]
    pub fn is_trap(self) -> bool {
        matches!(self, ServedBy::Flash | ServedBy::MshrMerge)
    }
}

/// What the device says of a wait before it is over: the long-delay message of SkyByte III-A,
/// a No Data Response of CXL.mem before the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Nothing: wait for the data.
    None,
    /// The wait is longer than `device.hint_threshold`: doing something else may pay.
    LongDelay,
}

/// The device's answer to an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// When the host has its data.
    pub done_at: Ps,
    /// Where the page was found.
    pub served_by: ServedBy,
    /// Whether the wait is a long one.
    pub hint: Hint,
    /// Whether this is the first access to a page that a prefetch brought in.
    pub was_prefetched: bool,
}

/// What the device asks of the host while it serves an access.
pub trait Effects {
    /// The page leaves the cache now: the host must unmap it, and answers whether it saw the page
    /// written since it was mapped.
    ///
    /// A page that was written stays after all if worn flash refuses it, unless the host maps
    /// pages.
    ///
    /// The host may be late in mapping what the model already counts as filled, so `lpn` can be
    /// a page that the host has not mapped yet. It must then not be mapped any more.
    fn unmap(&mut self, lpn: Lpn) -> bool;

    /// The page stays in the cache, but the device wants to see the next access to it: a host that
    /// maps pages unmaps it, unless it cannot. Says whether it saw the page written since it was
    /// mapped. See `cache.inactive`.
    fn set_aside(&mut self, _lpn: Lpn) -> bool {
        false
    }

    /// The page is in the cache from now on, or on its way there. Nothing has to be done.
    #[inline]
    fn cached(&mut self, _lpn: Lpn) {}

    /// Whether this host maps pages, so that later accesses to them are not seen.
    const MAPS: bool = false;

    /// Whether a page is programmed when it leaves the cache although nothing was written to it.
    ///
    /// A device that knows which pages were written does not. A published simulator's may, and a
    /// run that repeats its results asks for that here.
    #[inline]
    fn programs_clean(&self) -> bool {
        false
    }

    /// Whether a store to the write log is answered when the log's memory has its line, before the
    /// log's index has it. As [`Effects::programs_clean`], for a run that repeats a simulator's
    /// results.
    #[inline]
    fn indexes_behind(&self) -> bool {
        false
    }

    /// A prefetched page has arrived: a host that maps pages maps it, unless it cannot. Says
    /// whether it does. See [`Device::map_arrived`](crate::Device::map_arrived).
    fn map(&mut self, _lpn: Lpn) -> bool {
        false
    }
}

/// A host that maps nothing: every access goes to the device.
impl Effects for () {
    fn unmap(&mut self, _lpn: Lpn) -> bool {
        false
    }
}
