//! Statistics and residency map, as they are at this moment.

use crate::error::Error;
use crate::files::map;
use crate::place::DeviceFiles;
use sluice_abi::{Counter, MAP_AT, STATS_MAGIC, STATS_VERSION, StatsBlock, view_bytes};
use sluice_region::Mapping;
use std::sync::atomic::{AtomicU8, Ordering::*};

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
    pub fn open(place: &DeviceFiles) -> Result<View, Error> {
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

    /// The statistics, which the device goes on changing.
    pub fn stats(&self) -> &StatsBlock {
        block(&self.map)
    }

    /// A counter's value at this moment.
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
