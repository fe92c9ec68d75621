//! A memory model as a shared object: the layout of the one symbol that it defines.

use core::ffi::{c_char, c_void};

/// Version of this layout. A shared object of another version is refused.
pub const SLUICE_MEMORY_ABI: u32 = 1;

/// No time: a request that is done later, or nothing to wait for.
pub const SLUICE_NEVER: u64 = 0xffff_ffff_ffff_ffff;

/// What a memory model is made for.
#[repr(C)]
#[derive(Debug)]
pub struct MemorySpace {
    /// Bytes: every address is below this.
    pub capacity: u64,
    /// Seed for whatever the model draws, so that a run can be repeated.
    pub seed: u64,
    /// What the description of the system says in `argument`, such as the path of the model's own
    /// configuration; empty if it says nothing. Valid during `build` only.
    pub argument: *const c_char,
}

/// A memory model: a shared object defines one, as the constant `sluice_memory`.
///
/// Times are picoseconds since the start. The caller guarantees that times never go back, from
/// `request` to `request` and from `advance` to `advance`, and that calls never overlap. An `id`
/// names a request until it is done, and may name another one afterwards. What the model does
/// depends on its state and the calls alone.
#[repr(C)]
#[derive(Debug)]
pub struct Memory {
    /// `SLUICE_MEMORY_ABI`.
    pub abi: u32,
    /// Size of this structure.
    pub size: u32,
    /// A short name, and one line that says what it does; for people.
    pub name: *const c_char,
    /// See `name`.
    pub meaning: *const c_char,
    /// A model in which nothing has happened, or a null pointer if it cannot be.
    pub build: Option<unsafe extern "C" fn(space: *const MemorySpace) -> *mut c_void>,
    /// Frees what `build` made.
    pub destroy: Option<unsafe extern "C" fn(state: *mut c_void)>,
    /// A request for the 64 bytes at `addr` comes in at `now`. Returns when it is done, not before
    /// `now` and a second later at most; or `SLUICE_NEVER` if `advance` will report it.
    pub request: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            now: u64,
            id: u32,
            addr: u64,
            is_write: bool,
        ) -> u64,
    >,
    /// When the model wants to be advanced next, or `SLUICE_NEVER`. While a request is not done,
    /// one is to be reported within a second and within 16 million calls of `advance`. Asked after
    /// `request` and after `advance`. May be null if `request` never returns `SLUICE_NEVER`.
    pub next_at: Option<unsafe extern "C" fn(state: *mut c_void) -> u64>,
    /// Time goes on to `now`: calls `done(context, id)` for each request that is done by then and
    /// of which `request` did not return the time. May be null together with `next_at`.
    pub advance: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            now: u64,
            done: Option<unsafe extern "C" fn(context: *mut c_void, id: u32)>,
            context: *mut c_void,
        ),
    >,
}

// SAFETY: a constant of functions and texts; nothing in it changes.
unsafe impl Sync for Memory {}
