//! Programs that really compute, and write down the instructions that they execute.
//!
//! The seven workloads of SkyByte's Table I, those that CXL-SSD-Sim measures memories with, and
//! those that ESF replays traces of, with two that stand in for programs of SPEC CPU2017. Each
//! holds its data in ordinary memory, and computes with it. It gives the loads, stores and
//! computation of every step, with addresses in a memory of its own that begins at 0. A workload's
//! file says what it leaves out of the program that it is named after.
#![forbid(unsafe_code)]

mod arena;
pub mod bc;
pub mod bfs;
mod btree;
mod chase;
mod compiler;
mod dlrm;
pub mod drive;
mod kronecker;
mod linear;
mod network_simplex;
pub mod radix;
mod record;
mod redis;
mod series;
pub mod share;
mod silo;
mod spec;
pub mod srad;
mod store;
mod stream;
pub mod tpcc;
mod viper;
mod xsbench;
mod ycsb;

pub use arena::{Arena, Array};
pub use record::{Loaded, Recorder};
pub use spec::{KernelSpec, WorkloadError, parse_kernel, parse_stream};

use sluice_host::Program;
use sluice_params::{Param, RawConfig};
use std::fmt::Display;

/// What a program computed otherwise than a plain computation: the first difference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is {found}, expected {expected}")]
pub struct Mismatch {
    /// A value that the program computed.
    pub what: String,
    /// What it computed.
    pub found: String,
    /// What it must be.
    pub expected: String,
}

impl Mismatch {
    /// A value, what it is and what it must be.
    pub fn new(what: impl Into<String>, found: impl Display, expected: impl Display) -> Mismatch {
        Mismatch {
            what: what.into(),
            found: found.to_string(),
            expected: expected.to_string(),
        }
    }
}

/// A program that can check whether what it computed is right.
pub trait Kernel: Program + Send {
    /// Rounds finished by all threads: a search, a sort, an epoch, some thousand transactions.
    fn rounds(&self) -> u64;

    /// Compares the results of the last finished round with those of a plain sequential
    /// computation.
    ///
    /// # Errors
    /// [`Mismatch`].
    fn check(&self) -> Result<(), Mismatch>;
}

/// How to make a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelOptions {
    /// Threads that share out its work.
    pub threads: u32,
    /// Its memory is that of Table I, or of its parameters, divided by this.
    pub scale: u32,
    /// Seed of its data and choices.
    pub seed: u64,
    /// Ends after so many rounds; never, if 0.
    pub rounds: u64,
    /// A value for each of the kernel's own parameters.
    pub given: RawConfig,
}

impl KernelOptions {
    /// Its parameter `bytes`, divided by the scale.
    fn bytes(&self) -> u64 {
        self.given.read::<sluice_units::Bytes>("bytes").0 / u64::from(self.scale)
    }
}

/// An entry of the registry.
#[derive(Clone, Copy)]
pub struct KernelInfo {
    /// The name used to ask for it.
    pub name: &'static str,
    /// What it computes, in one line.
    pub meaning: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What SkyByte's Table I says of it: memory in MB, write ratio in percent, LLC misses in
    /// 10,000 instructions. Nothing for a kernel that the table does not have.
    pub published: Option<(u32, u32, u32)>,
    /// What a thread uses all the time and no scale divides, such as a network's weights, if that
    /// is more than an L1 has; or 0. By its own parameters.
    pub thread_bytes: fn(&RawConfig) -> u64,
    /// What it takes, about, of the memory of the machine that runs it: by its own parameters, by
    /// the bytes of its memory, if its parameters or Table I say these, and by its threads.
    pub own_bytes: fn(&RawConfig, u64, u32) -> u64,
    /// What it takes beside `seed` and `rounds`.
    pub params: &'static [Param],
    /// Makes a kernel of these options.
    pub make: fn(&KernelOptions) -> Box<dyn Kernel>,
}

impl KernelInfo {
    /// Bytes of memory in Table I; none for a kernel that is not in it.
    pub fn table_1_bytes(&self) -> u64 {
        self.published
            .map_or(0, |(mb, _, _)| u64::from(mb) * 1_000_000)
    }
}

/// Every kernel: those of Table I in its order, those of CXL-SSD-Sim, those of ESF.
pub static KERNELS: &[KernelInfo] = &[
    bfs::INFO,
    bc::INFO,
    radix::INFO,
    srad::INFO,
    ycsb::INFO,
    tpcc::INFO,
    dlrm::INFO,
    stream::INFO,
    chase::INFO,
    viper::INFO,
    btree::INFO,
    linear::INFO,
    redis::INFO,
    silo::INFO,
    xsbench::INFO,
    compiler::INFO,
    network_simplex::INFO,
];
