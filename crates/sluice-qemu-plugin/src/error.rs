//! Why the plugin cannot do what it is asked for.

use sluice_simulation::SystemError;
use sluice_trace::filter::LevelsError;
use sluice_units::Bytes;
use std::io;
use std::path::PathBuf;

/// Every key, with what it is for.
const KEYS: &str = "mode, out, filter, system, device, set, seed, scale, range, local, from, \
                    to, command or result";

/// What is wrong with the plugin's arguments, its QEMU, or what it needs of the system.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An argument without a value.
    #[error("\"{0}\" is not key=value")]
    NotAPair(String),
    /// A value that cannot be.
    #[error("bad value for {key}: \"{given}\"; expected {expected}")]
    Value {
        /// The option's key.
        key: &'static str,
        /// What was given.
        given: String,
        /// What can be.
        expected: String,
    },
    /// A key that the mode does not have.
    #[error("unknown key `{key}` for mode={mode}; the plugin knows {KEYS}")]
    UnknownKey {
        /// What was given.
        key: String,
        /// The mode that was given.
        mode: &'static str,
    },
    /// The arguments have no mode.
    #[error("mode is missing; expected record or simulate")]
    NoMode,
    /// A recording without a file.
    #[error("mode=record needs out=FILE")]
    NoOut,
    /// A range without a size for the memory beside it.
    #[error("range needs local=SIZE")]
    NoLocal,
    /// A filter that cannot be.
    #[error(transparent)]
    Filter(#[from] LevelsError),
    /// A system or device that does not exist.
    #[error(transparent)]
    Config(#[from] sluice_config::Error),
    /// A system that cannot be simulated.
    #[error(transparent)]
    System(#[from] SystemError),
    /// A QEMU for another kind of CPU.
    #[error("mode=simulate knows the registers of x86_64, and this QEMU executes {0}")]
    Target(String),
    /// The memory beside the device needs all that the host has.
    #[error("{local} beside the device, and {key} is {room}: nothing is left")]
    NoRoom {
        /// Memory that is not on the device.
        local: Bytes,
        /// The parameter that limits all memory.
        key: &'static str,
        /// How much memory that parameter says there is.
        room: Bytes,
    },
    /// A QEMU without one of the functions that the plugin calls.
    #[error("this QEMU has no {0}")]
    NoFunction(String),
    /// The trace's file cannot be made.
    #[error("{}: {source}", path.display())]
    File {
        /// The file that could not be made.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A thread cannot be started.
    #[error("starting a thread: {0}")]
    Thread(#[source] io::Error),
}
