//! Results of replays of pages, from Python.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Pages on a simulated device (`sluice.replay` in Python).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    /// Accesses issued.
    pub accesses: u64,
    /// Accesses that found their page in the cache.
    pub hits: u64,
    /// Accesses that went to flash.
    pub misses: u64,
    /// Wall time, s.
    pub seconds: f64,
}

/// Pages on an eviction policy alone (`sluice.policy_misses` in Python).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyMisses {
    /// Accesses whose page was not in the cache.
    pub misses: u64,
    /// Wall time, s.
    pub seconds: f64,
}
