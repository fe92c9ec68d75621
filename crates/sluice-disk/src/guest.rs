//! The guest's memory, as far as nobody can cut it short.
//!
//! It is files from the other end of the socket, which are mapped here. Whoever shortens such a
//! file ends each process that touches the lost part. So a file counts only if it is sealed against
//! that, and is as long as what is mapped of it. A request that lies elsewhere is none.

use crate::request::Memory;
use rustix::fs::{SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, fstatfs};
use std::sync::{Arc, Mutex, PoisonError};
use vm_memory::{
    GuestAddressSpace, GuestMemoryAtomic, GuestMemoryBackend, GuestMemoryMmap, GuestMemoryRegion,
    GuestRegionMmap,
};

/// What `statfs` calls memory of pages of the usual size, of which none has to be set aside.
const TMPFS: i64 = 0x0102_1994;

/// Memory of a guest that can be replaced by another one.
#[derive(Clone)]
pub struct Guest {
    /// As it was handed over.
    all: GuestMemoryAtomic<Memory>,
    /// What of it counts.
    safe: GuestMemoryAtomic<Memory>,
    /// That of which `safe` is the part.
    seen: Arc<Mutex<Arc<Memory>>>,
}

impl Guest {
    pub fn new(all: GuestMemoryAtomic<Memory>) -> Guest {
        let nothing = GuestMemoryMmap::new();
        Guest {
            all,
            safe: GuestMemoryAtomic::new(nothing.clone()),
            seen: Arc::new(Mutex::new(Arc::new(nothing))),
        }
    }

    /// The part that counts, now and from now on: of a later memory once this is asked again.
    pub fn safe(&self) -> GuestMemoryAtomic<Memory> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let all = self.all.memory().into_inner();
        if !Arc::ptr_eq(&all, &seen) {
            let replaced = self.safe.lock().unwrap_or_else(PoisonError::into_inner);
            replaced.replace(without_cuttable(&all));
            *seen = all;
        }
        self.safe.clone()
    }
}

fn without_cuttable(all: &Memory) -> Memory {
    let mut safe = all.clone();
    for region in all.iter().filter(|region| !is_uncuttable(region)) {
        let (start, len) = (region.start_addr(), region.len());
        if let Ok((rest, _)) = safe.remove_region(start, len) {
            safe = rest;
        }
    }
    safe
}

/// Whether nobody can make the region's file shorter than the region, from now on.
fn is_uncuttable(region: &GuestRegionMmap<()>) -> bool {
    let Some(place) = region.file_offset() else {
        return false;
    };
    let file = place.file();
    // Its owner may have sealed it, or forbidden further seals.
    let _ = fcntl_add_seals(file, SealFlags::SHRINK);
    let is_sealed = fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
    let is_memory = fstatfs(file).is_ok_and(|kind| kind.f_type == TMPFS);
    let end = place.start().checked_add(region.len());
    let bytes = fstat(file).map_or(0, |found| found.st_size as u64);
    is_sealed && is_memory && end.is_some_and(|end| end <= bytes)
}
