//! Presets and TOML files, read into the raw configuration of a device, of a system (a host
//! with its device), or of a fabric.
//!
//! A file's tables flatten to keys: `read` in `[nand]` is `nand.read`. What is left out is that of
//! the preset that the file names as its `base`, or keeps its default. Every error says where in
//! the file it is, and what would be accepted there.
#![forbid(unsafe_code)]

mod described;
mod error;
mod fabric;
mod fabrics;
mod file;
mod host;
mod in_line;
mod presets;
mod read;
mod scale;
mod shelf;
mod sources;
mod system;
mod systems;

pub use described::Described;
pub use error::{Error, Position};
pub use fabric::{describe_fabric, parse_fabric};
pub use fabrics::fabrics;
pub use host::HOST_PARAMS;
pub use in_line::{IN_LINE_HOST, begin_from_nothing, load_in_line};
pub use presets::{DEFAULT, Preset, REQUIRED, REQUIRED_OF_MEMORY, presets};
pub use read::{describe, load, parse};
pub use system::{CheckedSystem, System, describe_system, load_system, parse_system};
pub use systems::systems;
