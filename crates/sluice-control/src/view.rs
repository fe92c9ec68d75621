//! Statistics and residency map, as they are at this moment.

use crate::error::Error;
use crate::place::Place;
use sluice_abi::{Counter, MAP_AT, STATS_MAGIC, STATS_VERSION, StatsBlock, view_bytes};
use sluice_region::{Mapping, open_regular};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering::*};

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

pub(crate) fn unusable(path: &Path, why: &std::io::Error) -> Error {
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

/// The same of a file that is open.
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

/// The mapped view.
#[derive(Debug)]
pub struct View {
    map: Mapping,
    pages: u64,
}

impl View {
    /// Maps the view of a device.
    ///
    /// # Errors
    /// If it is not there, or not of this version.
    pub fn open(place: &Place) -> Result<View, Error> {
        let path = &place.view;
        let head = map(path, place.owner, false, MAP_AT)?;
        let block = block(&head);
        let version = block.version.load(Relaxed);
        if block.magic.load(Acquire) != STATS_MAGIC || version != STATS_VERSION {
            let why = format!(
                "no statistics of version {STATS_VERSION} (found {version}): the device was \
                 started by another version of Sluice"
            );
            let path = path.clone();
            return Err(Error::Unusable { path, why });
        }
        let pages = block.pages.load(Relaxed);
        let len = view_bytes(pages.min(u64::from(u32::MAX)));
        let map = map(path, place.owner, false, len)?;
        Ok(View { map, pages })
    }

    /// The statistics.
    pub fn stats(&self) -> &StatsBlock {
        block(&self.map)
    }

    /// A counter.
    pub fn get(&self, counter: Counter) -> u64 {
        self.stats().get(counter)
    }

    /// Pages of the device.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// What is known of a page; nothing of one beyond the device.
    pub fn page(&self, lpn: u64) -> u8 {
        if lpn >= self.pages {
            return 0;
        }
        let at = self.map.addr() + MAP_AT + lpn as usize;
        // SAFETY: within the mapping, whose length was computed from the pages.
        unsafe { (*(at as *const AtomicU8)).load(Relaxed) }
    }
}

fn block(map: &Mapping) -> &StatsBlock {
    // SAFETY: page-aligned and long enough; all fields are atomics, and only read.
    unsafe { &*(map.addr() as *const StatsBlock) }
}
