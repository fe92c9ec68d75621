//! Opening and mapping the files of a device.

use crate::error::Error;
use sluice_region::{Mapping, open_regular};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

/// No file of a device is longer: a residency map of as many pages as there are numbers.
const MAX_BYTES: u64 = 1 << 33;

/// Opens a file of a device, or a PCI BAR, that has so many bytes.
pub(crate) fn open(
    path: &Path,
    owner: Option<u32>,
    write: bool,
    len: usize,
) -> Result<File, Error> {
    let file = open_regular(path, write, owner).map_err(|why| unusable(path, &why))?;
    let size = file.metadata().map_err(|why| unusable(path, &why))?.len();
    if size < len as u64 || size > MAX_BYTES {
        let why = format!("{size} bytes, and {len} to {MAX_BYTES} are expected");
        let path = path.to_owned();
        return Err(Error::Unusable { path, why });
    }
    Ok(file)
}

fn unusable(path: &Path, why: &std::io::Error) -> Error {
    Error::Unusable {
        path: path.to_owned(),
        why: why.to_string(),
    }
}

/// Maps the first bytes of a file of a device, or of a PCI BAR.
pub(crate) fn map(
    path: &Path,
    owner: Option<u32>,
    write: bool,
    len: usize,
) -> Result<Mapping, Error> {
    map_opened(path, &open(path, owner, write, len)?, write, len)
}

/// Maps the first bytes of an open file of a device.
pub(crate) fn map_opened(
    path: &Path,
    file: &File,
    write: bool,
    len: usize,
) -> Result<Mapping, Error> {
    let fd = file.as_raw_fd();
    let mapped = if write {
        Mapping::shared(fd, len)
    } else {
        Mapping::shared_read_only(fd, len)
    };
    mapped.map_err(|errno| unusable(path, &std::io::Error::from_raw_os_error(errno)))
}
