//! Why there is no answer.

use crate::RunError;
use sluice_model::{ConfigError, DeviceError};
use sluice_units::ClockEnd;

/// Why Sluice cannot say how large a cache a program needs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SizeError {
    /// The device cannot have a cache of this size.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The device cannot be made.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A run came to the end of its clock.
    #[error(transparent)]
    ClockEnd(#[from] ClockEnd),
    /// The device cannot be made, or its run ends with the clock.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] sluice_trace::Error),
}
