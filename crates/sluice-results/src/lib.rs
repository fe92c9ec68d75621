//! The object that every measuring command prints, and the files of an output folder.
//!
//! One place for the command and the Python package, so that both say the same. The fields are
//! described in `docs/reference/output.md`; `schema` changes when one changes its meaning.

mod folder;
mod process;
mod run;
mod timeline;

pub use folder::{Folder, write_config, write_system};
pub use process::{Process, read_processes};
pub use run::{Exit, Run};
pub use timeline::Timeline;

use serde_json::Value;
use sluice_stats::share;

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
pub fn parts<const N: usize>(sums: [(&'static str, u64); N], accesses: u64) -> Value {
    let mean = |ps| share(ps, accesses).map_or(Value::Null, |ps| (ps / 1_000.0).into());
    let named = sums
        .into_iter()
        .map(|(name, ps)| (name.to_owned(), mean(ps)));
    Value::Object(named.collect())
}
