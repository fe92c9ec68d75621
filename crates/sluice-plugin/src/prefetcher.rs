//! A shared object with a prefetcher in it: loaded, checked, called.

use crate::library::{self, LibraryError};
use core::ffi::c_void;
use libloading::os::unix::Library;
use sluice_abi::{
    Prefetcher, PrefetcherAccess, PrefetcherPicks, PrefetcherSpace, SLUICE_FIRST_USE,
    SLUICE_LATE_USE, SLUICE_MISS, SLUICE_NO_THREAD, SLUICE_PREFETCHER_ABI,
};
use sluice_model::DeviceConfig;
use sluice_model::prefetch::{Arrival, External, Outcome, Picks, Reach, Seen};

type Build = unsafe extern "C" fn(*const PrefetcherSpace) -> *mut c_void;
type OnAccess = unsafe extern "C" fn(*mut c_void, *const PrefetcherAccess, *const PrefetcherPicks);
type OnArrival = unsafe extern "C" fn(*mut c_void, u32, u32, u64);

/// The functions of a loaded object.
pub struct Object {
    build: Build,
    destroy: unsafe extern "C" fn(*mut c_void),
    access: OnAccess,
    arrives: Option<OnArrival>,
    /// Keeps the code mapped.
    _library: Library,
}

/// Loads an object and checks that it is a prefetcher of this version.
pub fn load(path: &str) -> Result<Object, LibraryError> {
    let loaded = library::load::<Prefetcher>(path, "prefetcher", SLUICE_PREFETCHER_ABI)?;
    let prefetcher = loaded.symbol;
    Ok(Object {
        build: loaded.must("build", prefetcher.build)?,
        destroy: loaded.must("destroy", prefetcher.destroy)?,
        access: loaded.must("access", prefetcher.access)?,
        arrives: prefetcher.arrives,
        _library: loaded.library,
    })
}

impl Object {
    /// A prefetcher of a device that has seen nothing.
    pub fn build(self, config: &DeviceConfig, seed: u64) -> Result<ObjectPrefetcher, LibraryError> {
        let space = PrefetcherSpace {
            pages: config.pages,
            degree: config.prefetch.degree,
            distance: config.prefetch.distance,
            page_bytes: config.page_bytes() as u32,
            seed,
        };
        // SAFETY: the interface: a live space, read during the call.
        let state = unsafe { (self.build)(&space) };
        if state.is_null() {
            return Err(LibraryError::Build);
        }
        Ok(ObjectPrefetcher {
            object: self,
            state,
            pages: config.pages.into(),
            refused: 0,
        })
    }
}

/// A prefetcher made by an object. What it picks against the contract is counted, and not added.
pub struct ObjectPrefetcher {
    object: Object,
    state: *mut c_void,
    /// Pages on the device.
    pages: u64,
    refused: u64,
}

// SAFETY: the interface says that calls never overlap, not from which thread they come; the state
// is reached through this value alone.
unsafe impl Send for ObjectPrefetcher {}

/// What `pick` works on.
struct Context<'a> {
    picks: &'a mut Picks,
    degree: usize,
    pages: u64,
    refused: &'a mut u64,
}

/// What a prefetcher calls for each page that it wants.
unsafe extern "C" fn pick(context: *mut c_void, lpn: u64) -> bool {
    // SAFETY: the context that `access` gave, during its call.
    let context = unsafe { &mut *context.cast::<Context<'_>>() };
    let is_taken = lpn < context.pages && context.picks.as_slice().len() < context.degree;
    match is_taken {
        true => context.picks.push(lpn),
        false => *context.refused += 1,
    }
    is_taken
}

impl External for ObjectPrefetcher {
    fn access(&mut self, seen: Seen, reach: Reach, picks: &mut Picks) {
        let access = PrefetcherAccess {
            now: seen.at.0,
            lpn: seen.lpn.0,
            thread: seen.thread.unwrap_or(SLUICE_NO_THREAD),
            degree: reach.degree,
            distance: reach.distance,
            outcome: match seen.outcome {
                Outcome::Miss => SLUICE_MISS,
                Outcome::FirstUse => SLUICE_FIRST_USE,
                Outcome::LateUse => SLUICE_LATE_USE,
            },
            store: seen.is_store,
            reserved: [0; 6],
        };
        let mut context = Context {
            picks,
            degree: reach.degree as usize,
            pages: self.pages,
            refused: &mut self.refused,
        };
        let picks = PrefetcherPicks {
            context: (&raw mut context).cast::<c_void>(),
            pick: Some(pick),
        };
        // SAFETY: the interface: a state that `build` made, not destroyed yet. Access, picks and
        // their context live until the call returns, and `pick` takes the context for what it is.
        unsafe { (self.object.access)(self.state, &access, &picks) }
    }

    fn arrives(&mut self, arrival: Arrival) {
        if let Some(arrives) = self.object.arrives {
            let Arrival { at, lpn, cause } = arrival;
            // SAFETY: as in `access`.
            unsafe { arrives(self.state, lpn.0, cause.0, at.0) }
        }
    }

    fn refused(&self) -> u64 {
        self.refused
    }
}

impl Drop for ObjectPrefetcher {
    fn drop(&mut self) {
        // SAFETY: made by `build` of the same object, and not used again.
        unsafe { (self.object.destroy)(self.state) }
    }
}
