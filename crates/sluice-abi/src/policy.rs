//! An eviction policy as a shared object: the layout of the one symbol that it defines.

use core::ffi::{c_char, c_void};

/// Version of this layout. A shared object of another version is refused.
pub const SLUICE_POLICY_ABI: u32 = 1;

/// What `victim` answers when no page of the set may leave.
pub const SLUICE_NO_SLOT: u32 = 0xffff_ffff;

/// The slots that a policy manages. Set `s` has the slots `s * ways` up to `(s + 1) * ways`.
#[repr(C)]
#[derive(Debug)]
pub struct PolicySpace {
    /// Number of sets, at least 1.
    pub sets: u32,
    /// Slots in a set, at least 1.
    pub ways: u32,
    /// Pages on the device: every LPN is below this.
    pub pages: u32,
    /// Zero.
    pub reserved: u32,
    /// Seed for whatever the policy draws, so that a run can be repeated.
    pub seed: u64,
}

/// A policy: a shared object defines one, as the constant `sluice_policy`.
///
/// The caller guarantees, for each set on its own: `insert` names a slot that the policy does not
/// hold, `hit` and `remove` one that it does; `miss` comes before each `insert` and before the
/// `victim` calls that make room; calls never overlap.
///
/// The policy allocates memory in `build` alone. In a live run the other functions are called
/// while a page fault is served: they allocate nothing, take no lock, make no system call and
/// throw nothing. It decides by its own state alone.
#[repr(C)]
#[derive(Debug)]
pub struct Policy {
    /// `SLUICE_POLICY_ABI`.
    pub abi: u32,
    /// Size of this structure.
    pub size: u32,
    /// A short name, and one line that says what it does; for people.
    pub name: *const c_char,
    /// See `name`.
    pub meaning: *const c_char,
    /// An empty policy for these slots, or a null pointer if it cannot be.
    pub build: Option<unsafe extern "C" fn(space: *const PolicySpace) -> *mut c_void>,
    /// Frees what `build` made.
    pub destroy: Option<unsafe extern "C" fn(state: *mut c_void)>,
    /// The page `lpn`, which is in no slot, is about to be brought in. May be null.
    pub miss: Option<unsafe extern "C" fn(state: *mut c_void, set: u32, lpn: u32)>,
    /// The page `lpn` is now in `slot`.
    pub insert: Option<unsafe extern "C" fn(state: *mut c_void, set: u32, slot: u32, lpn: u32)>,
    /// The page in `slot` was accessed.
    pub hit: Option<unsafe extern "C" fn(state: *mut c_void, set: u32, slot: u32)>,
    /// Chooses a held slot of the set for which `evictable(context, slot)` holds, forgets it and
    /// returns it. `SLUICE_NO_SLOT` only if there is none.
    pub victim: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            set: u32,
            evictable: Option<unsafe extern "C" fn(context: *mut c_void, slot: u32) -> bool>,
            context: *mut c_void,
        ) -> u32,
    >,
    /// The page in `slot` was discarded, taken out or pinned, or left although the policy did not
    /// choose it: forget it if it is held.
    pub remove: Option<unsafe extern "C" fn(state: *mut c_void, set: u32, slot: u32)>,
}

// SAFETY: a constant of functions and texts; nothing in it changes.
unsafe impl Sync for Policy {}
