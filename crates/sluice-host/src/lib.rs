//! A host in front of the device: cores, caches, threads, a scheduler, host memory.
//!
//! [`simulate`] runs a [`Program`] on it. What the model of a core leaves out: branch prediction
//! and wrong paths, instruction fetch, functional units and their latencies, hardware prefetchers,
//! coherence traffic between the cores of one host, and page walks that use the caches. What each
//! means for results stands in docs/limits.md.
#![forbid(unsafe_code)]

mod answers;
mod artifact;
mod caches;
mod check;
mod config;
mod core;
mod count;
mod fill;
mod flush;
mod l3;
mod leaving;
mod length;
mod memory;
mod miss;
mod mshrs;
mod outside;
mod params;
mod phase;
mod port;
mod rights;
mod sched;
mod sharing;
mod since;
mod stats;
mod stores;
mod stream;
mod system;
mod tags;
mod tlb;
mod turns;
mod waiting;
mod window;

pub use artifact::{Artifact, Before, MissNumber, NoArtifact};
pub use caches::{CacheSize, Caches};
pub use config::{
    Adaptive, AstriFlash, Cpu, HostBanks, HostConfig, HostDram, Level, Link, Messages, Migration,
    MigrationPolicy, Sampling, Scheduling, Start, Switching, Tlb, Tpp,
};
pub use length::RunLength;
pub use memory::{Answer, Memory, Moved};
pub use params::HOST_PARAMS;
pub use port::{Ask, AskFor, Reply};
pub use rights::{Peer, Performed};
pub use stats::{
    AccessTime, CoreTime, HostStats, LevelStats, MemoryStats, MigrationStats, PhaseStats, Requests,
    Sample,
};
pub use stream::{Instr, MemOp, Program, Step};
pub use system::{Host, MEMORY_MAX, simulate, simulate_artifact};
