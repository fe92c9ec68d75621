//! What measuring commands print: a struct for each kind of result, and the files of an output
//! folder.
//!
//! One place for the commands and the Python package. From these structs come the JSON, the JSON
//! schemas in `docs/reference/schema`, the reference of the fields in `docs/reference/output.md`,
//! the tables on a terminal and Python's types. The doc comment of a field is its meaning there.
//! A field's name ends in its unit. [`Schema`] changes when a field changes its meaning.

mod cache;
mod command;
mod counts;
mod curve;
mod doctor;
mod fabric;
mod files;
mod flash;
mod folder;
mod guest;
mod heat;
mod hints;
mod hits;
mod latency;
mod listed;
mod live;
mod others;
mod process;
mod profile;
mod program;
mod regions;
mod replay;
mod run;
mod schemas;
mod session;
mod several;
mod sim;
mod size;
mod system;
mod timeline;
mod top;
mod trace;

pub use cache::{Cache, CacheCounts, Sampled};
pub use command::{CommandSchema, KeptCommand};
pub use curve::{CurveLoad, CurveOn, CurveResult, CurveSchema, CurveTraffic};
pub use doctor::{Doctor, DoctorCheck, DoctorModes, DoctorSchema};
pub use fabric::{
    Bottleneck, Coherence, FabricDevice, FabricFigures, FabricHost, FabricKind, FabricParts,
    FabricResult, HopGroup, Hops, LinkUse, Nodes, Recorded, RequesterUse, VcsUse, VppbUse, Windows,
};
pub use files::{FilesResult, FilesSchema, FilesTraffic};
pub use flash::{
    BlockDoor, Flash, FlashCounts, LineErases, Lines, Served, WriteLog, WriteLogCounts,
};
pub use folder::{Folder, write_config, write_system};
pub use guest::{Disk, Guest, Machine, SimulatedMachine};
pub use heat::{Heat, HeatMap, heat_since, read_heat};
pub use hints::{
    ColdHints, DontneedHints, FreeHints, Hints, IgnoredHints, MlockHints, MunlockHints,
    NormalHints, PageoutHints, RandomHints, SequentialHints, WillneedHints,
};
pub use hits::{HitTimes, NotApplied};
pub use latency::{AccessLatency, DeviceParts, Distribution, MissLatency};
pub use listed::{
    Devices, FabricChoices, Named, NamedDevice, NamedPolicy, Parameter, Parameters, Policies,
    Presets,
};
pub use live::{
    CommandCounts, CommandedCounts, Commands, Exit, Figures, HostCounts, HostFigures, Late,
    LateCounts, LiveKind, LiveRun, Memory, MemoryCounts, TrapKinds, WorkloadFigures,
};
pub use others::{LISTED, Others, Rank, fold, has_marks, read_rank, remove_image};
pub use process::{
    Identity, Latencies, OtherProcesses, Process, ProcessMark, ProcessResult, image_name, image_of,
    read_marks,
};
pub use profile::{
    AllocationSite, CallFrame, MissProfile, ProfiledMisses, ThreadMisses, read_profile,
};
pub use program::{Executed, KernelProgram, Program, TraceProgram};
pub use regions::{Counted, Moments, Region};
pub use replay::{PolicyMisses, Replay};
pub use run::Run;
pub use schemas::{CounterValues, ResultKind, schemas};
pub use session::{Processes, read_last, read_processes, read_run, read_session};
pub use several::OneOfSeveral;
pub use sim::{SimKind, SimResult};
pub use size::{
    CurvePoint, PolicyPoint, SizeAnswer, SizeKnee, SizeMethod, SizePoint, SizeProfile, SizeResult,
    SizeSchema,
};
pub use system::{
    Amat, Bound, Level, Levels, Link, Migration, MigrationCounts, Moment, Phase, RequestShares,
    Requests, SystemCounted, SystemFigures, SystemKind, SystemRegion, SystemResult, Tlb,
};
pub use timeline::Timeline;
pub use top::{HotRange, Top, TopLatency, TopRow, TopSchema};
pub use trace::{
    CpuAccesses, Footprint, LruSize, RecordedAccesses, Reuse, ReuseDistance, TraceConvert,
    TraceConvertSchema, TraceInfo, TraceInfoSchema, TraceRecord, TraceRecordSchema,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the fields of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Schema {
    /// The only one so far.
    #[default]
    #[serde(rename = "sluice.run/1")]
    Run1,
}

/// Settings by key, as text.
pub type Settings = BTreeMap<String, String>;

/// Pairs of a key and a value as settings.
pub fn settings<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> Settings {
    let pairs = pairs.into_iter();
    pairs.map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The version of Sluice, as results name it.
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// A result as text: one object, its keys in the order of the alphabet.
///
/// # Panics
/// This cannot fail: keys are text, and values that are no numbers become `null`.
pub fn to_json(result: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(result).expect("keys are text")
}
