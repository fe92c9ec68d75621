//! What a fabric counted.

use super::parts::Parts;
use sluice_stats::Histogram;
use sluice_units::Ps;

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
    /// How many.
    pub count: u64,
    /// Their times, by part.
    pub parts: Parts,
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
    /// Latencies.
    pub latency: Histogram,
    /// By the number of switches on the way to the endpoint.
    pub hops: Vec<HopStats>,
    /// Events handled.
    pub events: u64,
    /// A hash of every completion: its time, its requester and its address.
    pub hash: u64,
}

impl FabricStats {
    /// Requests that were completed.
    pub fn completed(&self) -> u64 {
        self.reads + self.writes
    }

    /// Time that was counted.
    pub fn time(&self) -> Ps {
        self.until - self.from
    }

    /// The parts of all latencies.
    pub fn parts(&self) -> Parts {
        let mut sum = Parts::default();
        for hops in &self.hops {
            sum += hops.parts;
        }
        sum
    }
}
