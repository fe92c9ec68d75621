//! What a fabric counted.

use super::ids::RequesterId;
use super::parts::{PartSums, Parts};
use sluice_stats::Histogram;
use sluice_units::Ps;

/// A request that has come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// What its sender called it; for a requester's own, how many were issued before it.
    pub tag: u64,
    /// The requester that issued it.
    pub requester: RequesterId,
    /// When it came back.
    pub at: Ps,
    /// From its issue until then.
    pub latency: Ps,
    /// Whether it was a write.
    pub is_write: bool,
}

/// Requests of one requester.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequesterStats {
    /// Issued since the start.
    pub issued: u64,
    /// Completed since the counting began.
    pub completed: u64,
    /// The sum of their latencies.
    pub latency: u128,
}

/// Requests that went through the same number of switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopStats {
    /// How many requests were completed.
    pub count: u64,
    /// Their times, by part.
    pub parts: PartSums,
}

/// What was counted since the counting began, over all requesters.
#[derive(Clone, Debug, Default)]
pub struct FabricStats {
    /// When the counting began.
    pub from: Ps,
    /// When it ended.
    pub until: Ps,
    /// Reads that were completed.
    pub reads: u64,
    /// Writes that were completed.
    pub writes: u64,
    /// Their latencies, ns.
    pub latency: Histogram,
    /// By the number of switches on the way to the endpoint.
    pub hops: Vec<HopStats>,
    /// Events of the simulation's queue that were handled.
    pub events: u64,
    /// A hash of every completion: its time, its requester and its address.
    pub hash: u64,
}

impl FabricStats {
    /// Counts from `now` on.
    pub(super) fn from(now: Ps) -> FabricStats {
        FabricStats {
            from: now,
            until: now,
            ..FabricStats::default()
        }
    }

    /// Counts a request that has come back, with where its time went.
    #[inline]
    pub(super) fn complete(&mut self, completed: &Completed, addr: u64, parts: &Parts, hops: u16) {
        debug_assert_eq!(parts.total(), completed.latency);
        self.reads += u64::from(!completed.is_write);
        self.writes += u64::from(completed.is_write);
        self.latency.record(completed.latency);
        let hops = usize::from(hops);
        if self.hops.len() <= hops {
            self.hops.resize(hops + 1, HopStats::default());
        }
        self.hops[hops].count += 1;
        self.hops[hops].parts += *parts;
        let word = completed.at.0 ^ (u64::from(completed.requester.0) << 48) ^ addr;
        self.hash = (self.hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    /// Requests that were completed.
    pub fn completed(&self) -> u64 {
        self.reads + self.writes
    }

    /// Time that was counted.
    pub fn time(&self) -> Ps {
        self.until - self.from
    }

    /// The parts of all latencies.
    pub fn parts(&self) -> PartSums {
        let mut sum = PartSums::default();
        for hops in &self.hops {
            sum += hops.parts;
        }
        sum
    }
}
