//! The calls that led to an allocation, for `--profile`.

use crate::device::engine;
use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use sluice_runtime::Calls;

/// Allocations from this many bytes up are looked at.
static FROM: AtomicUsize = AtomicUsize::new(usize::MAX);

std::thread_local! {
    /// This thread is going through its calls. What that allocates is not looked at.
    static IS_LOOKING: Cell<bool> = const { Cell::new(false) };
}

unsafe extern "C" {
    fn _Unwind_Backtrace(
        each: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

/// Looks at allocations from so many bytes up, if there is a profile.
pub fn look_from(bytes: u64) {
    if bytes > 0 {
        FROM.store(bytes as usize, Relaxed);
    }
}

/// Whether allocations are looked at.
#[inline]
pub fn is_on() -> bool {
    FROM.load(Relaxed) != usize::MAX
}

/// Notes an allocation of the program's, if it is one to look at.
#[inline]
pub fn allocated(addr: usize, bytes: usize) {
    if bytes >= FROM.load(Relaxed) {
        note(addr, bytes);
    }
}

/// Notes that the program has given memory back, if that is one to look at.
#[inline]
pub fn freed(addr: usize, bytes: usize) {
    if bytes >= FROM.load(Relaxed)
        && let Some(engine) = engine()
    {
        engine.freed(addr, bytes);
    }
}

#[cold]
#[inline(never)]
fn note(addr: usize, bytes: usize) {
    let Some(engine) = engine().filter(|engine| engine.in_arena(addr)) else {
        return;
    };
    if IS_LOOKING.replace(true) {
        return;
    }
    let mut calls = Calls::default();
    // SAFETY: the function is called with the pointer to what lives until the end of this call.
    unsafe { _Unwind_Backtrace(add, (&raw mut calls).cast()) };
    engine.allocated(addr, bytes, calls);
    IS_LOOKING.set(false);
}

/// Adds a call of the stack.
extern "C" fn add(context: *mut c_void, calls: *mut c_void) -> c_int {
    /// Go on, and stop (`_URC_NO_REASON`, `_URC_END_OF_STACK`).
    const GO_ON: c_int = 0;
    const STOP: c_int = 5;
    // SAFETY: the unwinder's own context, and the pointer that `note` gave.
    let (at, calls) = unsafe { (_Unwind_GetIP(context), &mut *calls.cast::<Calls>()) };
    match at != 0 && calls.push(at) {
        true => GO_ON,
        false => STOP,
    }
}
