//! An eviction policy as a shared object: the layout of the one symbol that it defines.

use core::ffi::{c_char, c_void};

/// Version of this layout. Objects of version 1 are taken too; those of any other are refused.
pub const SLUICE_POLICY_ABI: u32 = 2;

/// What `victim` answers when no page of the set may leave, and the slot where there is none.
pub const SLUICE_NO_SLOT: u32 = 0xffff_ffff;

/// The thread where nobody said whose access it is.
pub const SLUICE_NO_THREAD: u32 = 0xffff_ffff;

/// What `tick` returns so as not to be called again.
pub const SLUICE_NO_TICK: u64 = 0xffff_ffff_ffff_ffff;

/// It happens for a load or a store.
pub const SLUICE_DEMAND: u8 = 0;
/// It happens for a page that the prefetcher picked.
pub const SLUICE_PREFETCH: u8 = 1;
/// It happens because the host asked beside its loads and stores: by a hint of the program such as
/// `madvise`, by a command, by a block request.
pub const SLUICE_COMMAND: u8 = 2;

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
    /// Bytes of a page. Zero for objects of version 1.
    pub page_bytes: u32,
    /// Seed for whatever the policy draws, so that a run can be repeated.
    pub seed: u64,
}

/// What happens while a policy is called.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PolicyEvent {
    /// When, in picoseconds of the device's time. It never goes back.
    pub now: u64,
    /// The set.
    pub set: u32,
    /// The slot; `SLUICE_NO_SLOT` in `miss` and `victim`.
    pub slot: u32,
    /// The page that is brought in, in `miss` and `insert`. Zero in all others.
    pub lpn: u32,
    /// Whose access it is: threads or cores are numbered from 0 in the order of their first access,
    /// the first 1024 of them. `SLUICE_NO_THREAD` if it is not known.
    pub thread: u32,
    /// What made it happen: `SLUICE_DEMAND`, `SLUICE_PREFETCH` or `SLUICE_COMMAND`.
    pub trigger: u8,
    /// Whether the access is a store.
    pub store: bool,
    /// Whether the device knows that the page in `slot` differs from flash, this access included.
    /// Live, stores to a mapped page are not seen, and are reported when it leaves.
    pub dirty: bool,
    /// Zero.
    pub reserved: [u8; 5],
}

/// What `victim` may ask about the slots of its set, while it is called.
#[repr(C)]
#[derive(Debug)]
pub struct PolicySlots {
    /// To be handed to the functions.
    pub context: *mut c_void,
    /// Whether the page in a slot may leave.
    pub may_leave: Option<unsafe extern "C" fn(context: *mut c_void, slot: u32) -> bool>,
    /// Whether the device knows that the page in a slot differs from flash, so that it is
    /// programmed when it leaves.
    pub is_dirty: Option<unsafe extern "C" fn(context: *mut c_void, slot: u32) -> bool>,
}

/// A policy: a shared object defines one, as the constant `sluice_policy`.
///
/// The caller guarantees, for each set on its own: `insert` names a slot that the policy does not
/// hold, `hit` and `remove` one that it does; `miss` comes before each `insert` and before the
/// `victim` calls that make room; calls never overlap. Events and slots are good during the call.
///
/// The policy allocates memory in `build` alone. In a live run the other functions are called while
/// a page fault is served: they allocate nothing, take no lock, make no system call and throw
/// nothing. It decides by its own state and by the arguments of its calls alone.
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
    pub miss: Option<unsafe extern "C" fn(state: *mut c_void, event: *const PolicyEvent)>,
    /// The page `lpn` is now in `slot`.
    pub insert: Option<unsafe extern "C" fn(state: *mut c_void, event: *const PolicyEvent)>,
    /// The page in `slot` was accessed.
    pub hit: Option<unsafe extern "C" fn(state: *mut c_void, event: *const PolicyEvent)>,
    /// Chooses a held slot of the set for which `may_leave` holds, forgets it and returns it.
    /// `SLUICE_NO_SLOT` only if there is none. The event is that of the page that needs the room.
    pub victim: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            event: *const PolicyEvent,
            slots: *const PolicySlots,
        ) -> u32,
    >,
    /// The page in `slot` was discarded, taken out or pinned, or left although the policy did not
    /// choose it: forget it if it is held.
    pub remove: Option<unsafe extern "C" fn(state: *mut c_void, event: *const PolicyEvent)>,
    /// The device's time is `now`, in picoseconds. Returns when to be called next: then it is,
    /// before the first event at that time or later, so at most once for each event.
    /// `SLUICE_NO_TICK` for never again. The first call comes before the first event. May be null.
    pub tick: Option<unsafe extern "C" fn(state: *mut c_void, now: u64) -> u64>,
}

// SAFETY: a constant of functions and texts; nothing in it changes.
unsafe impl Sync for Policy {}
