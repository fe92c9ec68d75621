//! What coherence cost a fabric.

use super::Coherence;
use crate::engine::Fabric;
use sluice_cxl::dcoh::{AgentCount, CacheCount};
use sluice_units::Ps;

/// Counts since the counting began, over all caches and agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoherenceStats {
    /// Of the caches.
    pub caches: CacheCount,
    /// Of the agents.
    pub agents: AgentCount,
    /// Requests that came to an agent and went on to memory or back.
    pub served: u64,
    /// Their time at the agent: the filter, waiting for turns, snoops and entries.
    pub waited: Ps,
    /// Of them, those that took longer than looking into the filter.
    pub delayed: u64,
}

impl Fabric {
    /// What coherence cost, if there is any.
    pub fn coherence_stats(&self) -> Option<CoherenceStats> {
        self.coherence.as_ref().map(|coherence| coherence.stats())
    }
}

impl Coherence {
    /// How long each agent was short of trackers or entries since the counting began.
    pub fn shortages(&self, until: Ps) -> impl Iterator<Item = Ps> {
        let short = self.short.iter();
        short.map(move |(sum, since)| *sum + since.map_or(Ps::ZERO, |since| until - since))
    }

    pub fn begin(&mut self, now: Ps) {
        for (sum, since) in &mut self.short {
            *sum = Ps::ZERO;
            *since = since.map(|_| now);
        }
        self.stats = CoherenceStats::default();
        self.agents.iter_mut().for_each(|agent| agent.reset_count());
        let caches = self.hosts.iter_mut().filter_map(|host| host.cache.as_mut());
        caches.for_each(|cache| cache.reset_count());
    }

    fn stats(&self) -> CoherenceStats {
        let mut stats = self.stats;
        for cache in self.hosts.iter().filter_map(|host| host.cache.as_ref()) {
            stats.caches += *cache.count();
        }
        for agent in &self.agents {
            stats.agents += *agent.count();
        }
        stats
    }
}
