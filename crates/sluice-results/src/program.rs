//! What ran on a simulated host.

use crate::Settings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What ran on a simulated host: a kernel, a trace, or what QEMU executed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Program {
    /// A kernel of Sluice's.
    Kernel(KernelProgram),
    /// A recorded trace.
    Trace(TraceProgram),
    /// A program that QEMU executed meanwhile.
    Executed(Executed),
}

impl Program {
    /// Threads, or CPUs that made accesses.
    pub fn threads(&self) -> u64 {
        match self {
            Program::Kernel(kernel) => kernel.threads,
            Program::Trace(trace) => trace.threads,
            Program::Executed(executed) => executed.threads,
        }
    }

    /// Bytes of its memory.
    pub fn footprint_bytes(&self) -> u64 {
        match self {
            Program::Kernel(kernel) => kernel.footprint_bytes,
            Program::Trace(trace) => trace.footprint_bytes,
            Program::Executed(executed) => executed.footprint_bytes,
        }
    }
}

/// A kernel of Sluice's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelProgram {
    /// Its name.
    pub kernel: String,
    /// The seed of its data.
    pub seed: u64,
    /// Its threads.
    pub threads: u64,
    /// Its memory, bytes.
    pub footprint_bytes: u64,
    /// Rounds that all threads have finished, warm-up included.
    pub rounds: u64,
    /// Whether the last round was compared with a plain computation (`--check`). A difference is an
    /// error.
    pub checked: bool,
    /// The kernel's own parameters, by key, as text.
    pub parameters: Settings,
}

/// A recorded trace (`sluice sim --system --trace`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceProgram {
    /// `trace:` and the file.
    pub trace: String,
    /// What was recorded.
    pub command: String,
    /// What kept accesses out of the trace. `null` if nothing did.
    pub filter: Option<String>,
    /// CPUs that make accesses.
    pub threads: u64,
    /// Its memory, bytes.
    pub footprint_bytes: u64,
}

/// A program that QEMU executed (`sluice run --simulate`, `sluice vm --simulate`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Executed {
    /// The pages that it has touched, in bytes.
    pub footprint_bytes: u64,
    /// Of the pages touched, those on the device, in bytes.
    pub device_bytes: u64,
    /// CPUs of QEMU's.
    pub threads: u64,
    /// Loads and stores that QEMU reported.
    pub accesses: u64,
    /// Instructions that QEMU has executed, by CPU.
    pub instructions: Vec<u64>,
}
