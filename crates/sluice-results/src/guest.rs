//! What the results of `sluice vm` say of the guest and its machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The machine of a guest with an emulated device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// How the device is attached: `numa`, `dax` or `cxl`.
    pub attach: String,
    /// `tcg` or `kvm`.
    pub accelerator: String,
    /// Whether the processor itself executes the guest: KVM, and one that does not interpret.
    pub hardware: bool,
    /// Version of QEMU.
    pub qemu: String,
    /// The guest's memory besides the device, bytes.
    pub memory_bytes: u64,
    /// CPUs that it may have at most.
    pub cpus: u64,
    /// Whether the guest's accesses reach a cached page without QEMU.
    pub direct: bool,
    /// `false` with `--baseline`: there was no device, the fields of a live run are empty, and
    /// there is no `workload`.
    pub emulated: bool,
    /// What the device did as a disk. `null` if it was none.
    pub disk: Option<Disk>,
}

/// What a device did as a disk of its guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Disk {
    /// Requests that read.
    pub reads: u64,
    /// Requests that wrote.
    pub writes: u64,
    /// Requests that trimmed.
    pub trims: u64,
    /// Requests to make durable what was written.
    pub flushes: u64,
    /// Requests that ended with an error.
    pub failed: u64,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Bytes that were written.
    pub written_bytes: u64,
    /// Half of the reads and writes were done by the device within this time, from the guest's
    /// queue on, ns.
    pub device_p50_ns: u64,
    /// Ninety-nine of a hundred were, ns.
    pub device_p99_ns: u64,
    /// The guest was notified of half of them within this time, ns.
    pub answered_p50_ns: u64,
    /// The guest was notified of ninety-nine of a hundred within this time, ns.
    pub answered_p99_ns: u64,
}

/// The machine of a guest whose device is simulated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedMachine {
    /// `tcg`.
    pub accelerator: String,
    /// Version of QEMU.
    pub qemu: String,
    /// The guest's memory besides the device, bytes.
    pub memory_bytes: u64,
    /// The device's size, bytes.
    pub node_bytes: u64,
    /// CPUs that it may have at most.
    pub cpus: u64,
}

/// What a guest of `sluice vm --demo` said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Guest {
    /// Release of the guest's kernel. `null` if it did not come up.
    pub kernel: Option<String>,
    /// What it ran.
    pub command: String,
    /// How the command ended. `null` if it did not.
    pub status: Option<i32>,
    /// Lines of `numactl -H`, `daxctl list` or `cxl list` in the guest.
    pub topology: Vec<String>,
    /// The JSON object on the last line of what the command printed. `null` without one.
    pub output: Option<Map<String, Value>>,
    /// Every JSON object that it printed, a line each.
    pub outputs: Vec<Map<String, Value>>,
}
