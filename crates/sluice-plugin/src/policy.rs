//! A shared object with an eviction policy in it: loaded, checked, called.

use crate::library::{self, LibraryError, Loaded};
use crate::policy_v1;
use core::ffi::c_void;
use libloading::os::unix::Library;
use sluice_abi::{
    POLICY_ABI_1, Policy, PolicyEvent, PolicySlots, PolicySpace, SLUICE_COMMAND, SLUICE_DEMAND,
    SLUICE_NO_SLOT, SLUICE_NO_THREAD, SLUICE_NO_TICK, SLUICE_POLICY_ABI, SLUICE_PREFETCH,
};
use sluice_model::cache::{Candidates, Event, External, Set, Slot};
use sluice_model::{DeviceConfig, Trigger};
use sluice_units::{Lpn, Ps};

type Build = unsafe extern "C" fn(*const PolicySpace) -> *mut c_void;
type Destroy = unsafe extern "C" fn(*mut c_void);
type OnEvent = unsafe extern "C" fn(*mut c_void, *const PolicyEvent);
type OnVictim = unsafe extern "C" fn(*mut c_void, *const PolicyEvent, *const PolicySlots) -> u32;
type OnTick = unsafe extern "C" fn(*mut c_void, u64) -> u64;

/// A loaded object of a version that this Sluice takes.
pub enum Object {
    /// Of version 1.
    First(policy_v1::Functions),
    /// Of version 2.
    Second(Functions),
}

/// The functions of an object.
pub struct Functions {
    build: Build,
    destroy: Destroy,
    miss: Option<OnEvent>,
    insert: OnEvent,
    hit: OnEvent,
    victim: OnVictim,
    remove: OnEvent,
    tick: Option<OnTick>,
    /// Keeps the code mapped.
    _library: Library,
}

/// Loads an object and checks that it is a policy.
pub fn load(path: &str) -> Result<Object, LibraryError> {
    let opened = library::open(path, "policy", POLICY_ABI_1, SLUICE_POLICY_ABI)?;
    match opened.abi {
        POLICY_ABI_1 => policy_v1::functions(opened.constant()?).map(Object::First),
        _ => functions(opened.constant()?).map(Object::Second),
    }
}

fn functions(loaded: Loaded<Policy>) -> Result<Functions, LibraryError> {
    let policy = loaded.symbol;
    Ok(Functions {
        build: loaded.must("build", policy.build)?,
        destroy: loaded.must("destroy", policy.destroy)?,
        miss: policy.miss,
        insert: loaded.must("insert", policy.insert)?,
        hit: loaded.must("hit", policy.hit)?,
        victim: loaded.must("victim", policy.victim)?,
        remove: loaded.must("remove", policy.remove)?,
        tick: policy.tick,
        _library: loaded.library,
    })
}

impl Object {
    /// An empty policy for the cache of a device.
    pub fn build(
        self,
        config: &DeviceConfig,
        seed: u64,
    ) -> Result<Box<dyn External>, LibraryError> {
        let space = PolicySpace {
            sets: config.cache.pages / config.cache.ways,
            ways: config.cache.ways,
            pages: config.pages,
            page_bytes: config.page_bytes() as u32,
            seed,
        };
        Ok(match self {
            Object::First(functions) => Box::new(functions.build(space)?),
            Object::Second(functions) => Box::new(functions.build(&space)?),
        })
    }
}

impl Functions {
    fn build(self, space: &PolicySpace) -> Result<ObjectPolicy, LibraryError> {
        // SAFETY: the interface: a live space, read during the call.
        let state = unsafe { (self.build)(space) };
        if state.is_null() {
            return Err(LibraryError::Build);
        }
        Ok(ObjectPolicy {
            functions: self,
            state,
        })
    }
}

/// A policy made by an object.
struct ObjectPolicy {
    functions: Functions,
    state: *mut c_void,
}

// SAFETY: the interface says that calls never overlap, not from which thread they come; the state
// is reached through this value alone.
unsafe impl Send for ObjectPolicy {}

impl ObjectPolicy {
    fn tell(&self, function: OnEvent, event: &PolicyEvent) {
        // SAFETY: the interface: a state that `build` made, not destroyed yet, and a live event.
        unsafe { function(self.state, event) }
    }
}

/// The event as the interface has it.
fn told(event: &Event, set: Set, slot: u32, lpn: u32) -> PolicyEvent {
    PolicyEvent {
        now: event.now.0,
        set: set.0,
        slot,
        lpn,
        thread: event.thread.unwrap_or(SLUICE_NO_THREAD),
        trigger: match event.trigger {
            Trigger::Demand => SLUICE_DEMAND,
            Trigger::Prefetch => SLUICE_PREFETCH,
            Trigger::Command => SLUICE_COMMAND,
        },
        store: event.is_store,
        dirty: event.is_dirty,
        reserved: [0; 5],
    }
}

impl External for ObjectPolicy {
    fn miss(&mut self, event: &Event, set: Set, lpn: Lpn) {
        if let Some(miss) = self.functions.miss {
            self.tell(miss, &told(event, set, SLUICE_NO_SLOT, lpn.0));
        }
    }

    fn insert(&mut self, event: &Event, set: Set, slot: Slot, lpn: Lpn) {
        self.tell(self.functions.insert, &told(event, set, slot.0, lpn.0));
    }

    fn hit(&mut self, event: &Event, set: Set, slot: Slot) -> u32 {
        self.tell(self.functions.hit, &told(event, set, slot.0, 0));
        0
    }

    fn victim(&mut self, event: &Event, set: Set, slots: &mut dyn Candidates) -> Option<Slot> {
        let event = told(event, set, SLUICE_NO_SLOT, 0);
        let mut candidates = slots;
        let slots = PolicySlots {
            context: (&raw mut candidates).cast::<c_void>(),
            may_leave: Some(policy_v1::may_leave),
            is_dirty: Some(is_dirty),
        };
        // SAFETY: as in `tell`; slots and their context live until the call returns, and the
        // functions are those that take the context for what it is.
        let slot = unsafe { (self.functions.victim)(self.state, &event, &slots) };
        (slot != SLUICE_NO_SLOT).then_some(Slot(slot))
    }

    fn remove(&mut self, event: &Event, set: Set, slot: Slot) {
        self.tell(self.functions.remove, &told(event, set, slot.0, 0));
    }

    fn tick(&mut self, now: Ps) -> Option<Ps> {
        let tick = self.functions.tick?;
        // SAFETY: as in `tell`.
        let next = unsafe { tick(self.state, now.0) };
        (next != SLUICE_NO_TICK).then_some(Ps(next))
    }
}

/// What a policy calls to learn whether a page is dirty.
unsafe extern "C" fn is_dirty(context: *mut c_void, slot: u32) -> bool {
    // SAFETY: the context that `victim` gave, during its call.
    let slots = unsafe { &*context.cast::<&mut dyn Candidates>() };
    slots.is_dirty(Slot(slot))
}

impl Drop for ObjectPolicy {
    fn drop(&mut self) {
        // SAFETY: made by `build` of the same object, and not used again.
        unsafe { (self.functions.destroy)(self.state) }
    }
}
