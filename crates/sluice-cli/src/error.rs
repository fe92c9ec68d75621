//! What the command says when it cannot do what was asked: one line, and exit status 2.

use std::fmt;

/// A message for the person at the terminal.
#[derive(Debug)]
pub struct Error(String);

impl Error {
    /// A message that stands by itself.
    pub fn new(message: impl Into<String>) -> Error {
        Error(message.into())
    }

    /// What was attempted, and why it failed.
    pub fn at(what: impl fmt::Display, why: impl fmt::Display) -> Error {
        Error(format!("{what}: {why}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! from {
    ($($type:ty),+) => {$(
        impl From<$type> for Error {
            fn from(error: $type) -> Error {
                Error(error.to_string())
            }
        }
    )+};
}

from!(
    sluice_model::ConfigError,
    sluice_config::Error,
    sluice_net::FabricError,
    sluice_simulation::FabricRunError,
    sluice_simulation::SystemError,
    sluice_kernels::WorkloadError,
    sluice_control::Error,
    sluice_ctl::CtlError
);
