//! What a published simulator does otherwise than processors and operating systems do.
//!
//! The results of a simulator with such departures can only be compared with a host that departs
//! likewise. The host asks an [`Artifact`] wherever one is known to differ. [`NoArtifact`] differs
//! nowhere. Its answers are constants, so that a host built with it contains no code for
//! departures.

use super::length::RunLength;
use sluice_model::Device;
use sluice_units::{Bytes, Lpn, Ps, Ratio};

/// Pages that DRAM holds before the first instruction, beside [`super::Start`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Before {
    /// Of a program whose pages are there, how many bytes at most.
    pub used: Bytes,
    /// Of other programs' pages, the share whose contents flash does not have.
    pub written: Ratio,
    /// Those in the device's cache are drawn from so many times as many as it has places for.
    pub spread: u64,
}

impl Default for Before {
    /// All of the program, or as many other pages as there are places, all of them written.
    fn default() -> Before {
        Before {
            used: Bytes(u64::MAX),
            written: Ratio::percent(100),
            spread: 1,
        }
    }
}

/// The number of a miss among those that a core remembers.
pub type MissNumber = u32;

/// A simulator's departures. Each method says what a real machine does unless it is replaced.
///
/// Every core, the memory behind them and the host itself have a clone each, so that what one keeps
/// is its own.
pub trait Artifact: Clone {
    /// What DRAM holds before the first instruction.
    fn before(&self) -> Before {
        Before::default()
    }

    /// After how many instructions of the warm-up the device gets the time to compact its write log
    /// and to work off its queues, which passes for nobody else. A real device never gets it.
    fn rests_after(&self, _length: &RunLength) -> Option<u64> {
        None
    }

    /// Whether the measurement begins with the compaction of what the device has logged.
    fn compacts_first(&self) -> bool {
        false
    }

    /// What an access to the L3 or to memory takes longer because of where its core stands.
    #[inline]
    fn distance(&self, _core: u32) -> Ps {
        Ps::ZERO
    }

    /// Whether a written line that leaves an L2 is lost, so that memory never gets it.
    #[inline]
    fn loses_l2_victims(&self) -> bool {
        false
    }

    /// Whether caches get the line of an access that was answered with a long delay.
    #[inline]
    fn fills_delayed(&self) -> bool {
        false
    }

    /// When a thread issues instructions again that has lost its core to a long delay. The data of
    /// its access can be there at `data_at`.
    #[inline]
    fn resumes_at(&self, _data_at: Ps) -> Ps {
        Ps::ZERO
    }

    /// Whether a store that misses the L2 writes its line to memory, instead of reading it and
    /// writing it in the L1.
    #[inline]
    fn writes_store_misses(&self) -> bool {
        false
    }

    /// A core has missed its L2, and the access `writes` its line to memory or reads it.
    #[inline]
    fn misses(&mut self, _miss: MissNumber, _writes: bool) {}

    /// Whether this miss writes its line to memory instead of reading it.
    #[inline]
    fn writes(&self, _miss: MissNumber) -> bool {
        false
    }

    /// Whether a store that finds its line in the L1 is part of the write of the last miss for
    /// that line.
    #[inline]
    fn joins_write(&self, _last: impl FnOnce() -> Option<MissNumber>) -> bool {
        false
    }

    /// The L1 has lost a line. `last` is the last miss for it, if that was answered.
    #[inline]
    fn leaves_l1(&mut self, _last: impl FnOnce() -> Option<MissNumber>) {}

    /// The L3 has the line of a miss. Says whether the miss was to write it, which it no longer is.
    #[inline]
    fn found_in_l3(&mut self, _miss: MissNumber) -> bool {
        false
    }

    /// Whether a store that the device's write log takes makes its page hotter.
    fn counts_logged_stores(&self) -> bool {
        true
    }

    /// Whether written pages that leave host memory are copied to the device, line by line. If not,
    /// [`Artifact::returns`] is called instead.
    fn copies_pages_back(&self) -> bool {
        true
    }

    /// Whether the device programs the pages too that leave its cache and were not written.
    #[inline]
    fn programs_clean(&self) -> bool {
        false
    }

    /// Whether the device answers a store to its write log before the log's index has the line.
    #[inline]
    fn indexes_behind(&self) -> bool {
        false
    }

    /// A written page leaves host memory without a copy.
    fn returns(&self, _device: &mut Device, _now: Ps, _page: Lpn) {}
}

/// A real machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoArtifact;

impl Artifact for NoArtifact {}
