//! Threads that are cancelled, or end, while one of their calls waits in a hook.
//!
//! The C library then unwinds the thread's stack by an unwinder of its own, and what a hook has to
//! give back is given back on the way. The unwinder that is linked into this library takes part,
//! and knows the processor's registers only after its first use.

use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, Ordering::*};
use libc::c_int;

/// The end of the stack, for the unwinder.
const END_OF_STACK: c_int = 5;

static USED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    fn _Unwind_Backtrace(
        step: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
}

extern "C" fn stop(_: *mut c_void, _: *mut c_void) -> c_int {
    END_OF_STACK
}

/// Makes this library's unwinder ready, before the program has a thread that can be cancelled.
pub fn make_ready() {
    if !USED.swap(true, Relaxed) {
        // SAFETY: the step ends the walk at the first frame.
        unsafe { _Unwind_Backtrace(stop, null_mut()) };
    }
}
