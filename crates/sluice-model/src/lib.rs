//! The CXL-SSD device model: a pure function of state, request and time.
//!
//! [`Device::access`] takes the time and a request and says when and from where it is served. The
//! live runtime gives it the wall clock, the simulator a virtual one: the model cannot distinguish
//! them.
//!
//! A device is a DRAM [`cache`] of pages with an eviction policy and a [`prefetch`]er, in
//! front of a page-mapped FTL that places pages on flash channels and dies. Policies decide; the
//! device in `device/` moves pages, reserves time and counts.
//!
//! Nothing is allocated after [`Device::new`]: the model runs inside a page-fault handler.
#![forbid(unsafe_code)]

pub mod cache;
pub mod config;
mod contents;
mod device;
pub mod dram;
mod ftl;
mod index;
mod lane;
mod layout;
mod mshr;
mod nand;
mod parts;
pub mod prefetch;
mod request;
mod stats;
pub mod victim;
mod write_log;

pub use config::{
    CacheSettings, DeviceConfig, DeviceKind, FtlSettings, HintRule, MemorySettings, NandSettings,
    PARAMS, Precondition, PrefetchSettings, ReadFirst, Settings, StoreMiss, Wear, WearSettings,
    WriteLogSettings, WritePolicy,
};
pub use contents::{Contents, NoContents, Tables};
pub use device::{
    BlockCompletion, BlockOp, BlockRequest, CALLERS_MAX, Command, Device, DeviceError, Done,
    Imbalance, LineUse, Pattern, Promoted, Refused, check_object, is_tunable, tunable,
};
pub use ftl::{Placement, WearReport};
pub use lane::Lane;
pub use layout::PlaneAddress;
pub use nand::{BadBlock, Origin, ProgramEnd, Served};
pub use parts::Parts;
pub use prefetch::PREFETCHES;
pub use request::{Completion, Effects, Hint, Op, Request, ServedBy, Trigger};
pub use stats::{MigrationStats, Stats, WriteLogStats};
pub use victim::GC_VICTIMS;

pub use cache::{EVICTIONS, SetIndex};
pub use sluice_params::{ConfigError, Kind, Param, RawConfig};
