//! What coherence cost a fabric.

use sluice_cxl::coherence::{CacheCount, DcohCount};
use sluice_units::Ps;

/// Counts since the counting began, over all caches and agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoherenceStats {
    /// Of the caches.
    pub caches: CacheCount,
    /// Of the agents.
    pub agents: DcohCount,
    /// Requests that came to an agent and went on to memory or back.
    pub served: u64,
    /// Their time at the agent: the filter, waiting for turns, snoops and entries.
    pub waited: Ps,
    /// Requests that took longer than looking into the filter.
    pub delayed: u64,
}
