//! Why a simulation of a system or a fabric ends without a result.

use crate::machine::NoMemory;
use sluice_model::{ConfigError, DeviceError};
use sluice_net::{FabricError, Standstill};
use sluice_units::{Bytes, ClockEnd};

/// What bounds a program that no setting bounds.
pub(crate) const SIMULATOR: &str = "the most memory of a simulated program";

/// What gives a program more room besides a larger scale.
fn larger(key: &str) -> String {
    match key {
        SIMULATOR => String::new(),
        key => format!("a larger {key}, or "),
    }
}

/// Why a device could not run its workload.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The device cannot be made.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The run came to the end of its clock.
    #[error(transparent)]
    ClockEnd(#[from] ClockEnd),
}

/// Why a system could not run its program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SystemError {
    /// The settings cannot be.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The device cannot be made.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The run came to the end of its clock.
    #[error(transparent)]
    ClockEnd(#[from] ClockEnd),
    /// Nothing would be counted.
    #[error("instructions: \"0\" is not accepted; expected a whole number from 1 on")]
    NoInstructions,
    /// The program needs more memory than there is.
    #[error(
        "workload: {kernel} uses {footprint} at scale {scale}, but {key} is {room}; give {}a \
         larger scale",
        larger(key)
    )]
    TooLarge {
        /// The program's name.
        kernel: String,
        /// What sizes are divided by.
        scale: u32,
        /// The memory that the program takes at that scale.
        footprint: Bytes,
        /// The capacity that bounds it.
        key: &'static str,
        /// What that is.
        room: Bytes,
    },
    /// The program's own data need more memory than this machine has.
    #[error(transparent)]
    NoMemory(#[from] NoMemory),
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] sluice_trace::Error),
    /// The program computed something wrong.
    #[error("workload: {kernel} computed something wrong: {source}")]
    Wrong {
        /// The kernel's name.
        kernel: &'static str,
        /// The first difference.
        source: sluice_kernels::Mismatch,
    },
}

/// Why a fabric could not run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FabricRunError {
    /// It cannot be.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// It stopped by itself.
    #[error(transparent)]
    Standstill(#[from] Standstill),
    /// What is replayed needs more memory than there is.
    #[error(
        "workload: {workload} needs {needed} (--spread {spread}), but the requesters reach \
         {reach}; give more endpoints or a larger endpoint.capacity, or a larger --scale"
    )]
    TooLarge {
        /// What is replayed.
        workload: String,
        /// How it goes to the requesters.
        spread: &'static str,
        /// Memory that they need.
        needed: Bytes,
        /// Memory that each reaches.
        reach: Bytes,
    },
    /// A host cannot be.
    #[error("requester group `{group}`: {source}")]
    Host {
        /// The name of the group of hosts.
        group: String,
        /// What is wrong with it.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A trace of hosts could not be read to its end, although it was whole before the run.
    #[error("{source}")]
    Trace {
        /// Which, and what is wrong with it.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A host's program needs more memory than the host reaches.
    #[error(
        "{requester}: {workload} uses {needed} from {base:#x} on, but it reaches {reach}; give \
         more endpoints or larger ones{or_scale}"
    )]
    HostTooLarge {
        /// The name of the requester.
        requester: String,
        /// What it runs.
        workload: String,
        /// Memory of that.
        needed: Bytes,
        /// Where it begins.
        base: u64,
        /// Memory that the host reaches.
        reach: Bytes,
        /// What else helps: a scale divides a kernel's memory, but no trace's.
        or_scale: &'static str,
    },
    /// No requester asks for anything.
    #[error("{0}")]
    Nothing(&'static str),
}
