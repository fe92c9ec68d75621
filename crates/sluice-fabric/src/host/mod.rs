//! A host in front of the device: cores, caches, threads, a scheduler, host memory.

mod check;
mod config;
mod memory;
mod params;
mod stats;
mod stream;

pub use config::{
    Adaptive, AstriFlash, Cpu, HostConfig, Level, Link, Migration, RunLength, Scheduling,
    Switching, Tlb, Tpp,
};
pub use memory::{Answer, Memory, Moved};
pub use params::HOST_PARAMS;
pub use stats::{
    AccessTime, CoreTime, HostStats, LevelStats, MemoryStats, MigrationStats, Requests, Sample,
};
pub use stream::{Instr, MemOp, Program, Step};
