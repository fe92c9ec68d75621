//! The object that every measuring command prints, and the files of an output folder.
//!
//! One place for the command and the Python package, so that both say the same. The fields are
//! described in `docs/reference/output.md`; `schema` changes when one changes its meaning.

mod device;
mod fabric;
mod folder;
mod latency;
mod process;
mod recorded;
mod replay;
mod run;
mod simulation;
mod system;
mod timeline;

pub use fabric::{FabricPlan, FabricRunError, fabric_statistics};
pub use folder::{Folder, write_config, write_system};
pub use latency::{Latencies, Summary};
pub use process::{Process, read_processes};
pub use recorded::Recorded;
pub use replay::TracePlan;
pub use run::{Exit, Run};
pub use simulation::{Plan, STOP_EVERY, visible};
pub use system::{RanSystem, ReadySystem, SystemError, SystemPlan, SystemRun};
pub use timeline::Timeline;

use serde_json::Value;

/// Version of the object's fields.
pub const SCHEMA: &str = "sluice.run/1";

/// All settings of a device, by key.
pub fn settings(config: &sluice_model::DeviceConfig) -> serde_json::Map<String, Value> {
    let pairs = config.raw().to_pairs().into_iter();
    pairs
        .map(|(key, value)| (key.to_owned(), value.into()))
        .collect()
}

/// Picoseconds by cause, as nanoseconds of one access; of no access, `null`.
fn parts<const N: usize>(sums: [(&'static str, u64); N], accesses: u64) -> Value {
    let mean = |ps| share(ps, accesses).map_or(Value::Null, |ps| (ps / 1_000.0).into());
    let named = sums
        .into_iter()
        .map(|(name, ps)| (name.to_owned(), mean(ps)));
    Value::Object(named.collect())
}

/// A part of a whole; nothing of nothing is no number.
pub fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
