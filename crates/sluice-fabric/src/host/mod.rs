//! A host in front of the device: cores, caches, threads, a scheduler, host memory.

mod config;
mod stats;
mod stream;

pub use config::{
    Adaptive, AstriFlash, Cpu, HostConfig, Level, Link, Migration, RunLength, Scheduling,
    Switching, Tlb, Tpp,
};
pub use stats::{AccessTime, CoreTime, HostStats, LevelStats, MigrationStats, Requests, Sample};
pub use stream::{Instr, MemOp, Program, Step};
