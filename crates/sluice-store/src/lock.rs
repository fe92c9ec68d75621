//! The lock that keeps a store to one process.

use crate::error::Error;
use sluice_region::Hold;
use std::fs::File;
use std::os::fd::AsRawFd;

/// Locks a store, or a device's memory, for this process, until it closes the file.
///
/// # Errors
/// If another process has it, or the file system has no locks.
pub fn lock(file: &File) -> Result<(), Error> {
    lock_as(file, Hold::Alone)
}

/// Locks a store to look at it: others may look meanwhile, and nobody writes.
pub(crate) fn lock_to_look(file: &File) -> Result<(), Error> {
    lock_as(file, Hold::Shared)
}

fn lock_as(file: &File, hold: Hold) -> Result<(), Error> {
    match sluice_region::lock_for_process(file.as_raw_fd(), hold) {
        Ok(None) => Ok(()),
        Ok(Some(pid)) if pid > 0 => Err(Error::Held(pid)),
        Ok(Some(_)) => Err(Error::HeldByUnknown),
        Err(e) => Err(Error::system("locking it")(e)),
    }
}
