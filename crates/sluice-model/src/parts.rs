//! Where the time of an access goes.

use sluice_units::Ps;
use std::ops::{AddAssign, Sub};

/// The time of one access, or of many, by cause. The parts add up to the whole, exactly.
///
/// Counted from the moment at which the device takes the request. SkyByte's Figure 17 has the
/// same rows, with everything from `stall` on in its row "Flash".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// On the link: CXL.mem there and back.
    pub protocol: Ps,
    /// Finding out where the page or line is.
    pub indexing: Ps,
    /// In the device's DRAM.
    pub dram: Ps,
    /// Waiting to be taken in: for an MSHR entry, for a page of the set that can leave, for a free
    /// buffer of the write log, or in a memory expander for its turn.
    pub stall: Ps,
    /// Waiting for a page that was on its way for an earlier access or a prefetch.
    pub merge: Ps,
    /// Waiting for a die or channel behind other work.
    pub flash_queue: Ps,
    /// Waiting for a die or channel behind garbage collection.
    pub flash_gc: Ps,
    /// Sensing and transfer in the flash array.
    pub flash_service: Ps,
}

/// When a read is done and what its time went into: `queue + gc + service` is `done_at` less the
/// time at which it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// When the page is out of the channel.
    pub done_at: Ps,
    /// Waiting for the die behind other work than collection, and for the channel.
    pub queue: Ps,
    /// Waiting for the die behind garbage collection.
    pub gc: Ps,
    /// Sensing and transfer.
    pub service: Ps,
}

impl Served {
    /// A read that needs no flash.
    pub fn at_once(now: Ps) -> Served {
        Served {
            done_at: now,
            queue: Ps::ZERO,
            gc: Ps::ZERO,
            service: Ps::ZERO,
        }
    }
}

impl Parts {
    /// The parts by name, in the order in which an access meets them.
    pub fn named(&self) -> [(&'static str, Ps); 8] {
        [
            ("protocol", self.protocol),
            ("indexing", self.indexing),
            ("dram", self.dram),
            ("stall", self.stall),
            ("merge", self.merge),
            ("flash_queue", self.flash_queue),
            ("flash_gc", self.flash_gc),
            ("flash_service", self.flash_service),
        ]
    }

    /// Adds what a read of flash took.
    #[inline]
    pub(crate) fn wait_for(&mut self, served: &Served) {
        self.flash_queue += served.queue;
        self.flash_gc += served.gc;
        self.flash_service += served.service;
    }

    /// The time of all parts together.
    #[inline]
    pub fn total(&self) -> Ps {
        let front = self.protocol + self.indexing + self.dram + self.stall + self.merge;
        front + self.flash_queue + self.flash_gc + self.flash_service
    }
}

impl AddAssign for Parts {
    fn add_assign(&mut self, other: Parts) {
        self.protocol += other.protocol;
        self.indexing += other.indexing;
        self.dram += other.dram;
        self.stall += other.stall;
        self.merge += other.merge;
        self.flash_queue += other.flash_queue;
        self.flash_gc += other.flash_gc;
        self.flash_service += other.flash_service;
    }
}

impl Sub for Parts {
    type Output = Parts;

    /// What was added between two readings of the same counters.
    fn sub(self, other: Parts) -> Parts {
        Parts {
            protocol: self.protocol - other.protocol,
            indexing: self.indexing - other.indexing,
            dram: self.dram - other.dram,
            stall: self.stall - other.stall,
            merge: self.merge - other.merge,
            flash_queue: self.flash_queue - other.flash_queue,
            flash_gc: self.flash_gc - other.flash_gc,
            flash_service: self.flash_service - other.flash_service,
        }
    }
}
