//! Why a command fails: one line on standard error, and an exit status.

use crate::signals::INTERRUPT_STATUS;
use sluice_units::{Bytes, round_bytes};
use std::fmt::Display;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// Why a command fails.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused something.
    #[error("{what}: {source}")]
    System {
        /// What was attempted, or the name of a file.
        what: String,
        source: io::Error,
    },
    /// Standard output takes no more, as when its disk is full.
    #[error("standard output: {0}")]
    Output(#[source] io::Error),
    /// A file, program, folder or argument is not what it must be.
    #[error("{what}: {why}")]
    Unfit {
        /// How the user knows it.
        what: String,
        why: String,
    },
    /// An argument or parameter has a value that is not accepted.
    #[error("bad value for {key}: \"{value}\"; {why}")]
    Value {
        /// The argument, such as `--set`, or the parameter in backticks.
        key: String,
        value: String,
        /// What would be accepted.
        why: String,
    },
    /// A device can be simulated only.
    #[error(
        "bad value for `{key}`: \"{value}\" can be simulated (sluice sim) but not run live, where \
         {why}; expected {expected}"
    )]
    NotLive {
        key: &'static str,
        value: String,
        why: &'static str,
        expected: &'static str,
    },
    /// A device that cannot run live, before any value of it was changed.
    #[error(
        "bad value for --device: \"{device}\" can be simulated (sluice sim) but not run live, for \
         {why}; expected {nearest}"
    )]
    DeviceNotLive {
        device: String,
        why: &'static str,
        /// The arguments of the nearest device that can.
        nearest: String,
    },
    /// An option of QEMU that takes a value came last.
    #[error("QEMU argument `{0}` without its value; expected {1} after it")]
    NoValue(&'static str, &'static str),
    /// What the guest is made of lacks a part.
    #[error("{whole} no {part}")]
    Lacks {
        /// Which part should have it, with the verb.
        whole: &'static str,
        part: String,
    },
    /// This host cannot run programs on a device.
    #[error("{check}: {found}; to mend it: {mend}")]
    Host {
        check: &'static str,
        found: String,
        mend: String,
    },
    /// What was to be waited for before anything counts did not come.
    #[error("{wanted}: {found}, so that the figures are of the whole run")]
    NotCounted { wanted: String, found: String },
    /// The program was never on the device.
    #[error(
        "the preload library did not start in the program, which ended with status {code}; nothing \
         of it was on the device{why}"
    )]
    NotEntered { code: i32, why: &'static str },
    /// No process on this host has a device to be watched.
    #[error("no process of this host is on a device: start one with `sluice run`")]
    NoProcess,
    /// A workload is larger than the device.
    #[error(
        "workload \"{workload}\" touches {}, but the device has {} (device.capacity)",
        shown(*bytes), shown(*room)
    )]
    TooLarge {
        workload: String,
        bytes: u64,
        room: u64,
    },
    /// A command that the Python package installs is not there.
    #[error(
        "{0} is not on PATH: it is part of the Python package; run `make setup` in Sluice's \
         sources and put their .venv/bin on PATH"
    )]
    NotInstalled(&'static str),
    /// A trace cannot be read.
    #[error("{}: {source}", path.display())]
    Trace {
        path: PathBuf,
        source: sluice_trace::Error,
    },
    /// A trace cannot be read or written; the message names it.
    #[error(transparent)]
    NamedTrace(sluice_trace::Error),
    /// The preload library cannot enter a program.
    #[error("{}: {source}", path.display())]
    NoEntry { path: PathBuf, source: NoEntry },
    /// KVM was asked for and runs no guest.
    #[error("bad value for --accel: \"kvm\"; {0}; expected auto or tcg")]
    NoKvm(#[source] KvmError),
    /// Ctrl-C ended a computation.
    #[error("stopped after {done} {of}")]
    Interrupted {
        done: u64,
        /// What was counted, and what became of it.
        of: &'static str,
    },
    #[error(transparent)]
    Filter(#[from] sluice_trace::filter::LevelsError),
    #[error(transparent)]
    Parameter(#[from] sluice_model::ConfigError),
    #[error(transparent)]
    Device(#[from] sluice_model::DeviceError),
    #[error(transparent)]
    File(#[from] sluice_config::Error),
    #[error(transparent)]
    Fabric(#[from] sluice_net::FabricError),
    #[error(transparent)]
    FabricRun(#[from] sluice_simulation::FabricRunError),
    #[error(transparent)]
    DeviceRun(#[from] sluice_simulation::RunError),
    #[error(transparent)]
    SystemRun(#[from] sluice_simulation::SystemError),
    #[error(transparent)]
    NoMemory(#[from] sluice_simulation::NoMemory),
    #[error(transparent)]
    Size(#[from] sluice_simulation::SizeError),
    #[error(transparent)]
    Workload(#[from] sluice_kernels::WorkloadError),
    #[error(transparent)]
    Control(#[from] sluice_control::Error),
    #[error(transparent)]
    Disk(#[from] sluice_disk::Error),
    #[error(transparent)]
    Ctl(#[from] sluice_ctl::CtlError),
    /// The session cannot be written down.
    #[error(transparent)]
    Session(sluice_runtime::SessionError),
}

/// A size as its owner would write it, or rounded where that takes many digits.
fn shown(bytes: u64) -> String {
    let exact = Bytes(bytes).to_string();
    match exact.len() {
        0..=8 => exact,
        _ => round_bytes(bytes),
    }
}

impl Error {
    /// The exit status.
    pub fn status(&self) -> ExitCode {
        let is_interrupted = matches!(self, Error::Interrupted { .. });
        ExitCode::from(if is_interrupted { INTERRUPT_STATUS } else { 2 })
    }

    /// For `map_err`: what was attempted when the system refused.
    pub fn system(what: impl Display) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::System {
            what: what.to_string(),
            source,
        }
    }

    /// What is not as it must be, and why.
    pub fn unfit(what: impl Display, why: impl Display) -> Error {
        Error::Unfit {
            what: what.to_string(),
            why: why.to_string(),
        }
    }

    /// A value that is not accepted, and what would be.
    pub fn value(key: impl Display, value: impl Display, why: impl Display) -> Error {
        Error::Value {
            key: key.to_string(),
            value: value.to_string(),
            why: why.to_string(),
        }
    }
}

/// Why an argument is not accepted. The parser of the command line names it and its value.
#[derive(Debug, thiserror::Error)]
pub enum ArgumentError {
    #[error("expected {0}")]
    Expected(String),
    #[error(transparent)]
    Unit(#[from] sluice_units::ParseUnitError),
}

/// Why the preload library cannot enter a program.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoEntry {
    /// By its kind.
    #[error(
        "{0}: the preload library cannot enter it, and nothing of it would be placed on the device"
    )]
    Kind(&'static str),
    /// It is the loader itself.
    #[error("the dynamic loader; give the program it is to load")]
    Loader,
    /// Nothing executable has this name.
    #[error("no such program")]
    Missing,
    /// It is a script whose interpreter is such a program.
    #[error("its interpreter {}: {source}", interpreter.display())]
    Interpreter {
        interpreter: PathBuf,
        source: Box<NoEntry>,
    },
}

/// Why no guest runs.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum KvmError {
    /// The kernel refused a step.
    #[error("{step}: {source}")]
    Refused {
        step: &'static str,
        source: kvm_ioctls::Error,
    },
    /// The guest did something else than to halt.
    #[error("a guest that halts ended otherwise: {0}")]
    Exit(String),
    /// The processor is of another kind than guests.
    #[error("guests are for x86-64, and this processor is {0}")]
    Machine(&'static str),
}
