//! Policies and prefetchers in Rust, as the shared objects that the layouts describe.
//!
//! A type implements [`OwnPolicy`] or [`OwnPrefetcher`]. In a crate of type `cdylib`,
//! [`export_policy!`](crate::export_policy) or
//! [`export_prefetcher!`](crate::export_prefetcher) defines the constant. A panic in one of the
//! functions ends the program: nothing can unwind through C.

use crate::{
    Policy, PolicyEvent, PolicySlots, PolicySpace, Prefetcher, PrefetcherAccess, PrefetcherPicks,
    PrefetcherSpace, SLUICE_NO_SLOT, SLUICE_NO_TICK, SLUICE_POLICY_ABI, SLUICE_PREFETCHER_ABI,
};
use core::ffi::{CStr, c_void};

/// An eviction policy of a shared object. What it must do stands at [`Policy`].
pub trait OwnPolicy: Sized + Send {
    /// An empty policy for these slots, or `None` if it cannot be. The one place that may allocate.
    fn build(space: &PolicySpace) -> Option<Self>;

    /// The page `event.lpn`, which is in no slot, is about to be brought in.
    fn miss(&mut self, _event: &PolicyEvent) {}

    /// The page `event.lpn` is now in `event.slot`.
    fn insert(&mut self, event: &PolicyEvent);

    /// The page in `event.slot` was accessed.
    fn hit(&mut self, event: &PolicyEvent);

    /// Chooses a held slot of the set that may leave, and forgets it. `None` only if there is none.
    fn victim(&mut self, event: &PolicyEvent, slots: Slots<'_>) -> Option<u32>;

    /// The page in `event.slot` is gone: forget it if it is held.
    fn remove(&mut self, event: &PolicyEvent);

    /// The device's time is `now`, ps. Says when to be called next; see [`Policy::tick`].
    fn tick(&mut self, _now: u64) -> Option<u64> {
        None
    }
}

/// A prefetcher of a shared object. What it must do stands at [`Prefetcher`].
pub trait OwnPrefetcher: Sized + Send {
    /// A prefetcher that has seen nothing, or `None` if it cannot be. The one place that may
    /// allocate.
    fn build(space: &PrefetcherSpace) -> Option<Self>;

    /// An access: `picks` takes the pages to bring in, the most urgent first.
    fn access(&mut self, seen: &PrefetcherAccess, picks: Picks<'_>);

    /// The page `lpn` was sent for, because of an access to `cause`, and will be there at `at`, ps.
    fn arrives(&mut self, _lpn: u32, _cause: u32, _at: u64) {}
}

/// What [`OwnPolicy::victim`] may ask.
#[derive(Clone, Copy)]
pub struct Slots<'a>(&'a PolicySlots);

impl Slots<'_> {
    /// Whether the page in a slot may leave.
    pub fn may_leave(&self, slot: u32) -> bool {
        // SAFETY: the caller of `victim` gave the function its context, and is in that call.
        self.0
            .may_leave
            .is_some_and(|ask| unsafe { ask(self.0.context, slot) })
    }

    /// Whether the device knows that the page in a slot differs from flash.
    pub fn is_dirty(&self, slot: u32) -> bool {
        // SAFETY: as in `may_leave`.
        self.0
            .is_dirty
            .is_some_and(|ask| unsafe { ask(self.0.context, slot) })
    }
}

/// What [`OwnPrefetcher::access`] picks with.
#[derive(Clone, Copy)]
pub struct Picks<'a>(&'a PrefetcherPicks);

impl Picks<'_> {
    /// Has a page brought in; says whether it was taken. See [`PrefetcherPicks::pick`].
    pub fn pick(&self, lpn: u64) -> bool {
        // SAFETY: the caller of `access` gave the function its context, and is in that call.
        self.0
            .pick
            .is_some_and(|pick| unsafe { pick(self.0.context, lpn) })
    }
}

/// The constant of a policy. For [`export_policy!`](crate::export_policy).
#[must_use]
pub const fn policy_of<P: OwnPolicy>(name: &'static CStr, meaning: &'static CStr) -> Policy {
    Policy {
        abi: SLUICE_POLICY_ABI,
        size: size_of::<Policy>() as u32,
        name: name.as_ptr(),
        meaning: meaning.as_ptr(),
        build: Some(build_policy::<P>),
        destroy: Some(destroy::<P>),
        miss: Some(miss::<P>),
        insert: Some(insert::<P>),
        hit: Some(hit::<P>),
        victim: Some(victim::<P>),
        remove: Some(remove::<P>),
        tick: Some(tick::<P>),
    }
}

/// The constant of a prefetcher. For [`export_prefetcher!`](crate::export_prefetcher).
#[must_use]
pub const fn prefetcher_of<P: OwnPrefetcher>(
    name: &'static CStr,
    meaning: &'static CStr,
) -> Prefetcher {
    Prefetcher {
        abi: SLUICE_PREFETCHER_ABI,
        size: size_of::<Prefetcher>() as u32,
        name: name.as_ptr(),
        meaning: meaning.as_ptr(),
        build: Some(build_prefetcher::<P>),
        destroy: Some(destroy::<P>),
        access: Some(access::<P>),
        arrives: Some(arrives::<P>),
    }
}

/// Defines `sluice_policy`: a type that implements [`OwnPolicy`], its name, and in one line what it
/// does, both as texts for C (`c"..."`).
#[macro_export]
macro_rules! export_policy {
    ($policy:ty, $name:literal, $meaning:literal) => {
        /// What Sluice looks for.
        #[unsafe(no_mangle)]
        #[allow(non_upper_case_globals)]
        pub static sluice_policy: $crate::Policy =
            $crate::export::policy_of::<$policy>($name, $meaning);
    };
}

/// Defines `sluice_prefetcher`: a type that implements [`OwnPrefetcher`], its name, and in one line
/// what it does, both as texts for C (`c"..."`).
#[macro_export]
macro_rules! export_prefetcher {
    ($prefetcher:ty, $name:literal, $meaning:literal) => {
        /// What Sluice looks for.
        #[unsafe(no_mangle)]
        #[allow(non_upper_case_globals)]
        pub static sluice_prefetcher: $crate::Prefetcher =
            $crate::export::prefetcher_of::<$prefetcher>($name, $meaning);
    };
}

fn boxed<P>(made: Option<P>) -> *mut c_void {
    made.map_or(core::ptr::null_mut(), |own| {
        Box::into_raw(Box::new(own)).cast()
    })
}

/// The state that a function was called with.
///
/// # Safety
/// `build` made it for a `P`, it is not destroyed yet, and no other call is under way.
unsafe fn own<'a, P>(state: *mut c_void) -> &'a mut P {
    // SAFETY: the caller says so.
    unsafe { &mut *state.cast::<P>() }
}

unsafe extern "C" fn build_policy<P: OwnPolicy>(space: *const PolicySpace) -> *mut c_void {
    // SAFETY: the interface: a live space.
    boxed(P::build(unsafe { &*space }))
}

unsafe extern "C" fn build_prefetcher<P: OwnPrefetcher>(
    space: *const PrefetcherSpace,
) -> *mut c_void {
    // SAFETY: the interface: a live space.
    boxed(P::build(unsafe { &*space }))
}

unsafe extern "C" fn destroy<P>(state: *mut c_void) {
    // SAFETY: the interface: what `build` made by `boxed`, not used again.
    drop(unsafe { Box::from_raw(state.cast::<P>()) });
}

unsafe extern "C" fn miss<P: OwnPolicy>(state: *mut c_void, event: *const PolicyEvent) {
    // SAFETY: the interface: what `build` made, calls that do not overlap, and a live event.
    unsafe { own::<P>(state).miss(&*event) }
}

unsafe extern "C" fn insert<P: OwnPolicy>(state: *mut c_void, event: *const PolicyEvent) {
    // SAFETY: as in `miss`.
    unsafe { own::<P>(state).insert(&*event) }
}

unsafe extern "C" fn hit<P: OwnPolicy>(state: *mut c_void, event: *const PolicyEvent) {
    // SAFETY: as in `miss`.
    unsafe { own::<P>(state).hit(&*event) }
}

unsafe extern "C" fn victim<P: OwnPolicy>(
    state: *mut c_void,
    event: *const PolicyEvent,
    slots: *const PolicySlots,
) -> u32 {
    // SAFETY: as in `miss`, and live slots.
    let found = unsafe { own::<P>(state).victim(&*event, Slots(&*slots)) };
    found.unwrap_or(SLUICE_NO_SLOT)
}

unsafe extern "C" fn remove<P: OwnPolicy>(state: *mut c_void, event: *const PolicyEvent) {
    // SAFETY: as in `miss`.
    unsafe { own::<P>(state).remove(&*event) }
}

unsafe extern "C" fn tick<P: OwnPolicy>(state: *mut c_void, now: u64) -> u64 {
    // SAFETY: as in `miss`.
    unsafe { own::<P>(state).tick(now) }.unwrap_or(SLUICE_NO_TICK)
}

unsafe extern "C" fn access<P: OwnPrefetcher>(
    state: *mut c_void,
    seen: *const PrefetcherAccess,
    picks: *const PrefetcherPicks,
) {
    // SAFETY: as in `miss`: a live access, and live picks.
    unsafe { own::<P>(state).access(&*seen, Picks(&*picks)) }
}

unsafe extern "C" fn arrives<P: OwnPrefetcher>(state: *mut c_void, lpn: u32, cause: u32, at: u64) {
    // SAFETY: as in `miss`.
    unsafe { own::<P>(state).arrives(lpn, cause, at) }
}
