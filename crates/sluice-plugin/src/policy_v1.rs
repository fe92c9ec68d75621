//! A shared object with an eviction policy of version 1, which sees only pages and slots.

use crate::library::{LibraryError, Loaded};
use core::ffi::c_void;
use libloading::os::unix::Library;
use sluice_abi::{PolicySpace, PolicyV1, SLUICE_NO_SLOT};
use sluice_model::cache::{Candidates, Event, External, Set, Slot};
use sluice_units::Lpn;

type OnPage = unsafe extern "C" fn(*mut c_void, u32, u32);
type OnSlot = unsafe extern "C" fn(*mut c_void, u32, u32);
type OnInsert = unsafe extern "C" fn(*mut c_void, u32, u32, u32);
type MayLeave = unsafe extern "C" fn(*mut c_void, u32) -> bool;
type OnVictim = unsafe extern "C" fn(*mut c_void, u32, Option<MayLeave>, *mut c_void) -> u32;

/// The functions of an object.
pub struct Functions {
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

/// Checks that a loaded object has what a policy must have.
pub fn functions(loaded: Loaded<PolicyV1>) -> Result<Functions, LibraryError> {
    let policy = loaded.symbol;
    Ok(Functions {
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

impl Functions {
    /// An empty policy for these slots.
    pub fn build(self, space: PolicySpace) -> Result<PolicyOfV1, LibraryError> {
        // The word was reserved, and zero.
        let space = PolicySpace {
            page_bytes: 0,
            ..space
        };
        // SAFETY: the interface: a live space, read during the call.
        let state = unsafe { (self.build)(&space) };
        if state.is_null() {
            return Err(LibraryError::Build);
        }
        Ok(PolicyOfV1 {
            functions: self,
            state,
        })
    }
}

/// A policy made by an object.
pub struct PolicyOfV1 {
    functions: Functions,
    state: *mut c_void,
}

// SAFETY: the interface says that calls never overlap, not from which thread they come; the state
// is reached through this value alone.
unsafe impl Send for PolicyOfV1 {}

impl External for PolicyOfV1 {
    fn miss(&mut self, _event: &Event, set: Set, lpn: Lpn) {
        if let Some(miss) = self.functions.miss {
            // SAFETY: the interface: a state that `build` made, not destroyed yet.
            unsafe { miss(self.state, set.0, lpn.0) }
        }
    }

    fn insert(&mut self, _event: &Event, set: Set, slot: Slot, lpn: Lpn) {
        // SAFETY: as in `miss`.
        unsafe { (self.functions.insert)(self.state, set.0, slot.0, lpn.0) }
    }

    fn hit(&mut self, _event: &Event, set: Set, slot: Slot) -> u32 {
        // SAFETY: as in `miss`.
        unsafe { (self.functions.hit)(self.state, set.0, slot.0) }
        0
    }

    fn victim(&mut self, _event: &Event, set: Set, slots: &mut dyn Candidates) -> Option<Slot> {
        let mut slots = slots;
        let context = (&raw mut slots).cast::<c_void>();
        // SAFETY: as in `miss`; the context lives until the call returns, and `may_leave` is the
        // function that takes it for what it is.
        let slot = unsafe { (self.functions.victim)(self.state, set.0, Some(may_leave), context) };
        (slot != SLUICE_NO_SLOT).then_some(Slot(slot))
    }

    fn remove(&mut self, _event: &Event, set: Set, slot: Slot) {
        // SAFETY: as in `miss`.
        unsafe { (self.functions.remove)(self.state, set.0, slot.0) }
    }
}

/// What a policy calls to learn whether a page may leave.
pub unsafe extern "C" fn may_leave(context: *mut c_void, slot: u32) -> bool {
    // SAFETY: the context that `victim` gave, during its call.
    let slots = unsafe { &mut *context.cast::<&mut dyn Candidates>() };
    slots.may_leave(Slot(slot))
}

impl Drop for PolicyOfV1 {
    fn drop(&mut self) {
        // SAFETY: made by `build` of the same object, and not used again.
        unsafe { (self.functions.destroy)(self.state) }
    }
}
