//! A prefetcher as a shared object: the layout of the one symbol that it defines.

use core::ffi::{c_char, c_void};

/// Version of this layout. A shared object of another version is refused.
pub const SLUICE_PREFETCHER_ABI: u32 = 1;

/// The page was not in the cache.
pub const SLUICE_MISS: u8 = 0;
/// The page was brought in by a prefetch and is accessed for the first time.
pub const SLUICE_FIRST_USE: u8 = 1;
/// The page was brought in by a prefetch, is accessed for the first time, and is still on its way.
pub const SLUICE_LATE_USE: u8 = 2;

/// The device that a prefetcher is made for.
#[repr(C)]
#[derive(Debug)]
pub struct PrefetcherSpace {
    /// Pages on the device: every page is below this.
    pub pages: u32,
    /// `prefetch.degree`: pages that one access may pick at most.
    pub degree: u32,
    /// `prefetch.distance`: how far ahead one that follows a stream may run, in its steps.
    pub distance: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Seed for whatever the prefetcher draws, so that a run can be repeated.
    pub seed: u64,
}

/// An access that a prefetcher sees.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PrefetcherAccess {
    /// When it reached the cache, in picoseconds of the device's time. It may go back a little:
    /// accesses wait for their turn.
    pub now: u64,
    /// The page.
    pub lpn: u32,
    /// Whose access it is: threads or cores are numbered from 0 in the order of their first access,
    /// the first 1024 of them. 0xffffffff if it is not known.
    pub thread: u32,
    /// Pages that may be picked now. Below the space's `degree` while the throttle holds back.
    pub degree: u32,
    /// How far ahead a stream may be run now, in its steps. As `degree`.
    pub distance: u32,
    /// What it found: `SLUICE_MISS`, `SLUICE_FIRST_USE` or `SLUICE_LATE_USE`.
    pub outcome: u8,
    /// Whether it is a store.
    pub store: bool,
    /// Zero.
    pub reserved: [u8; 6],
}

/// What `access` picks with, while it is called.
#[repr(C)]
#[derive(Debug)]
pub struct PrefetcherPicks {
    /// To be handed to `pick`.
    pub context: *mut c_void,
    /// Has a page brought in if there is room: the most urgent first. Pages that are cached already
    /// are skipped. Says whether it was taken: a page that the device does not have, and one above
    /// `degree`, is refused and counted.
    pub pick: Option<unsafe extern "C" fn(context: *mut c_void, lpn: u64) -> bool>,
}

/// A prefetcher: a shared object defines one, as the constant `sluice_prefetcher`.
///
/// `access` is called once for each access that missed, or that was the first to a prefetched page.
/// Other hits are not shown, because a live device cannot see them. Calls never overlap. What a
/// pointer points to is good during the call.
///
/// The prefetcher allocates memory in `build` alone. In a live run the other functions are called
/// while a page fault is served: they allocate nothing, take no lock, make no system call and throw
/// nothing. It decides by its own state and by the arguments of its calls alone.
#[repr(C)]
#[derive(Debug)]
pub struct Prefetcher {
    /// `SLUICE_PREFETCHER_ABI`.
    pub abi: u32,
    /// Size of this structure.
    pub size: u32,
    /// A short name, and one line that says what it does; for people.
    pub name: *const c_char,
    /// See `name`.
    pub meaning: *const c_char,
    /// A prefetcher that has seen nothing, or a null pointer if it cannot be.
    pub build: Option<unsafe extern "C" fn(space: *const PrefetcherSpace) -> *mut c_void>,
    /// Frees what `build` made.
    pub destroy: Option<unsafe extern "C" fn(state: *mut c_void)>,
    /// An access: `picks` takes the pages to bring in.
    pub access: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            access: *const PrefetcherAccess,
            picks: *const PrefetcherPicks,
        ),
    >,
    /// The page `lpn` was sent for, because of an access to `cause` (itself, if it was missed), and
    /// will be there at `at`, in picoseconds. May be null.
    pub arrives: Option<unsafe extern "C" fn(state: *mut c_void, lpn: u32, cause: u32, at: u64)>,
}

// SAFETY: a constant of functions and texts; nothing in it changes.
unsafe impl Sync for Prefetcher {}
