//! A host in front of the device: cores, caches, threads, a scheduler, host memory.

mod config;
mod memory;
mod stats;
mod stream;

pub use config::{
    Adaptive, AstriFlash, Cpu, HostConfig, Level, Link, Migration, RunLength, Scheduling,
    Switching, Tlb, Tpp,
};
pub use memory::{Answer, Memory, Moved};
pub use stats::{
    AccessTime, CoreTime, HostStats, LevelStats, MemoryStats, MigrationStats, Requests, Sample,
};
pub use stream::{Instr, MemOp, Program, Step};
