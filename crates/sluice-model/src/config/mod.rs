//! Configuration: every parameter declared once, raw values, and the one constructor that checks.

mod checked;
mod error;
pub mod params;
mod raw;
mod value;

pub use checked::{
    CacheSettings, DeviceConfig, FtlSettings, HintRule, LirsVariant, MemorySettings, NandSettings,
    NandTiming, PolicySettings, Precondition, PrefetchSettings, ReadFirst, RowSettings, Settings,
    StoreMiss, ThrottleSettings, TwoQVariant, Variant, WTinyLfuVariant, Wear, WearSettings,
    WriteLogSettings, WritePolicy,
};
pub use error::ConfigError;
pub use params::{PARAMS, Param};
pub use raw::RawConfig;
pub use value::Kind;
