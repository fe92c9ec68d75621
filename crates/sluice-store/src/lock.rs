//! The lock that keeps a store to one process.

use crate::error::Error;
use std::fs::File;
use std::os::fd::AsRawFd;

/// Locks a store, or a device's memory, for this process, until it closes the file.
///
/// # Errors
/// If another process has it, or the file system has no locks.
pub fn lock(file: &File) -> Result<(), Error> {
    match sluice_region::lock_for_process(file.as_raw_fd()) {
        Ok(None) => Ok(()),
        Ok(Some(pid)) if pid > 0 => Err(Error::Held(pid)),
        Ok(Some(_)) => Err(Error::HeldByUnknown),
        Err(e) => Err(Error::system("locking it")(e)),
    }
}
