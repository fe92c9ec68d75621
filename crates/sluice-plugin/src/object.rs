//! A shared object with a policy in it: loaded, checked, called.

use crate::library::{self, LibraryError};
use core::ffi::c_void;
use libloading::os::unix::Library;
use sluice_abi::{Policy, PolicySpace, SLUICE_NO_SLOT, SLUICE_POLICY_ABI};
use sluice_model::cache::{External, Set, Slot};
use sluice_model::{DeviceConfig, DeviceError};
use sluice_units::Lpn;

type OnPage = unsafe extern "C" fn(*mut c_void, u32, u32);
type OnSlot = unsafe extern "C" fn(*mut c_void, u32, u32);
type OnInsert = unsafe extern "C" fn(*mut c_void, u32, u32, u32);
type MayLeave = unsafe extern "C" fn(*mut c_void, u32) -> bool;
type OnVictim = unsafe extern "C" fn(*mut c_void, u32, Option<MayLeave>, *mut c_void) -> u32;

/// The functions of a loaded object.
pub struct Object {
    path: String,
    build: unsafe extern "C" fn(*const PolicySpace) -> *mut c_void,
    destroy: unsafe extern "C" fn(*mut c_void),
    miss: Option<OnPage>,
    insert: OnInsert,
    hit: OnSlot,
    victim: OnVictim,
    remove: OnSlot,
    /// Keeps the code mapped.
    _library: Library,
}

/// A policy made by an object.
pub struct ObjectPolicy {
    object: Object,
    state: *mut c_void,
}

// SAFETY: the interface says that calls never overlap, not from which thread they come; the state
// is reached through this value alone.
unsafe impl Send for ObjectPolicy {}

fn refused(path: &str, why: &LibraryError) -> DeviceError {
    DeviceError::Plugin {
        path: path.to_owned(),
        why: why.to_string(),
    }
}

/// Loads an object and checks that it is a policy of this version.
pub fn load(path: &str) -> Result<Object, DeviceError> {
    functions(path).map_err(|why| refused(path, &why))
}

fn functions(path: &str) -> Result<Object, LibraryError> {
    let loaded = library::load::<Policy>(path, "policy", SLUICE_POLICY_ABI)?;
    let policy = loaded.symbol;
    Ok(Object {
        path: path.to_owned(),
        build: loaded.must("build", policy.build)?,
        destroy: loaded.must("destroy", policy.destroy)?,
        miss: policy.miss,
        insert: loaded.must("insert", policy.insert)?,
        hit: loaded.must("hit", policy.hit)?,
        victim: loaded.must("victim", policy.victim)?,
        remove: loaded.must("remove", policy.remove)?,
        _library: loaded.library,
    })
}

impl Object {
    /// An empty policy for the cache of a device.
    pub fn build(self, config: &DeviceConfig, seed: u64) -> Result<ObjectPolicy, DeviceError> {
        let space = PolicySpace {
            sets: config.cache.pages / config.cache.ways,
            ways: config.cache.ways,
            pages: config.pages,
            reserved: 0,
            seed,
        };
        // SAFETY: the interface: a live space, read during the call.
        let state = unsafe { (self.build)(&space) };
        if state.is_null() {
            return Err(refused(&self.path, &LibraryError::Build));
        }
        Ok(ObjectPolicy {
            object: self,
            state,
        })
    }
}

impl External for ObjectPolicy {
    fn miss(&mut self, set: Set, lpn: Lpn) {
        if let Some(miss) = self.object.miss {
            // SAFETY: the interface: a state that `build` made, not destroyed yet.
            unsafe { miss(self.state, set.0, lpn.0) }
        }
    }

    fn insert(&mut self, set: Set, slot: Slot, lpn: Lpn) {
        // SAFETY: as in `miss`.
        unsafe { (self.object.insert)(self.state, set.0, slot.0, lpn.0) }
    }

    fn hit(&mut self, set: Set, slot: Slot) -> u32 {
        // SAFETY: as in `miss`.
        unsafe { (self.object.hit)(self.state, set.0, slot.0) }
        0
    }

    fn victim(&mut self, set: Set, evictable: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        let mut evictable = evictable;
        let context = (&raw mut evictable).cast::<c_void>();
        // SAFETY: as in `miss`; the context lives until the call returns, and `may_leave` is the
        // function that takes it for what it is.
        let slot = unsafe { (self.object.victim)(self.state, set.0, Some(may_leave), context) };
        (slot != SLUICE_NO_SLOT).then_some(Slot(slot))
    }

    fn remove(&mut self, set: Set, slot: Slot) {
        // SAFETY: as in `miss`.
        unsafe { (self.object.remove)(self.state, set.0, slot.0) }
    }
}

/// What a policy calls to learn whether a page may leave.
unsafe extern "C" fn may_leave(context: *mut c_void, slot: u32) -> bool {
    // SAFETY: the context that `victim` gave, during its call.
    let evictable = unsafe { &mut *context.cast::<&mut dyn FnMut(Slot) -> bool>() };
    evictable(Slot(slot))
}

impl Drop for ObjectPolicy {
    fn drop(&mut self) {
        // SAFETY: made by `build` of the same object, and not used again.
        unsafe { (self.object.destroy)(self.state) }
    }
}
