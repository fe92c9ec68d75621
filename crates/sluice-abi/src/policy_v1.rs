//! Version 1 of an eviction policy as a shared object. Objects of it are still loaded.

use crate::PolicySpace;
use core::ffi::{c_char, c_void};

/// That version.
pub const POLICY_ABI_1: u32 = 1;

/// A policy of version 1, which learns of pages and slots alone.
#[repr(C)]
#[derive(Debug)]
pub struct PolicyV1 {
    /// 1.
    pub abi: u32,
    /// Size of this structure.
    pub size: u32,
    /// A short name, and one line that says what it does; for people.
    pub name: *const c_char,
    /// See `name`.
    pub meaning: *const c_char,
    /// See [`Policy::build`](crate::Policy::build).
    pub build: Option<unsafe extern "C" fn(space: *const PolicySpace) -> *mut c_void>,
    /// See [`Policy::destroy`](crate::Policy::destroy).
    pub destroy: Option<unsafe extern "C" fn(state: *mut c_void)>,
    /// The page `lpn` is about to be brought in. May be null.
    pub miss: Option<unsafe extern "C" fn(state: *mut c_void, set: u32, lpn: u32)>,
    /// The page `lpn` is now in `slot`.
    pub insert: Option<unsafe extern "C" fn(state: *mut c_void, set: u32, slot: u32, lpn: u32)>,
    /// The page in `slot` was accessed.
    pub hit: Option<unsafe extern "C" fn(state: *mut c_void, set: u32, slot: u32)>,
    /// Chooses a slot for which `evictable(context, slot)` holds.
    pub victim: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            set: u32,
            evictable: Option<unsafe extern "C" fn(context: *mut c_void, slot: u32) -> bool>,
            context: *mut c_void,
        ) -> u32,
    >,
    /// The page in `slot` is gone from the policy's hands.
    pub remove: Option<unsafe extern "C" fn(state: *mut c_void, set: u32, slot: u32)>,
}

// SAFETY: a constant of functions and texts; nothing in it changes.
unsafe impl Sync for PolicyV1 {}
