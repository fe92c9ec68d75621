//! Why there is no answer.

use sluice_model::{ConfigError, DeviceError};

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
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] sluice_trace::Error),
}
