//! What can go wrong before an answer comes.

use sluice_abi::TEXT_BYTES;
use sluice_control::Error;
use sluice_model::{ConfigError, DeviceError};
use sluice_units::Bytes;

/// Why a command was not sent.
#[derive(Debug, thiserror::Error)]
pub enum CtlError {
    /// The device cannot be reached.
    #[error(transparent)]
    Control(#[from] Error),
    /// The entries of the ring are not large enough.
    #[error("{0} bytes of KEY=VALUE; {TEXT_BYTES} can be sent at once")]
    TooLong(usize),
    /// A setting without a value.
    #[error("bad setting {0:?}: expected KEY=VALUE, such as nand.read=20us")]
    NoPair(String),
    /// A key or value that cannot be.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A parameter that cannot change.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Only a program itself knows what is at its addresses, and on the host the kernel.
    #[error(
        "bad range @{0:#x}: in a guest expected bytes of the device; a program names its addresses \
         by libsluice_control"
    )]
    Address(u64),
    /// The map has no addresses, and ends where the device does.
    #[error(
        "the map is of bytes of the device, without @: expected a range in 0..{}", Bytes(*.0)
    )]
    Map(u64),
}
