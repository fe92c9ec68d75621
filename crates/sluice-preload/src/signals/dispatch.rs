//! Programs that have the kernel send their system calls back to them
//! (`PR_SET_SYSCALL_USER_DISPATCH`), as Wine does.
//!
//! The hooks' own calls are let through, and `syscall` calls from where the C library does.

use crate::bytes::answers::answer;
use crate::bytes::buffers::signal_engine;
use crate::device::engine;
use crate::next::Next;
use crate::signals::altstack::keep_off_device;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicUsize, Ordering::*};
use libc::{c_int, c_long, c_ulong, c_void, pthread_key_t};
use sluice_region::{call, forget_dispatched, is_dispatched, note_dispatched, say};
use sluice_runtime::leave_open;

/// Of `linux/prctl.h`: the request, and its kinds.
pub const PR_SET_SYSCALL_USER_DISPATCH: c_int = 59;
const ON: c_ulong = 1;
const ON_INSIDE: c_ulong = 2;

/// The C library's `syscall`. 0 until it is looked up: allocators call it before that may be done.
static SYSCALL: AtomicUsize = AtomicUsize::new(0);

/// Resolves what the hooks need.
pub fn resolve() {
    SYSCALL.store(Next::new(c"syscall").address(), Release);
}

/// Makes a system call from where the C library makes it, and answers as it does.
///
/// # Safety
/// What the program asked for.
pub unsafe fn by_libc(number: c_long, args: [usize; 6]) -> c_long {
    type Function = unsafe extern "C-unwind" fn(c_long, ...) -> c_long;
    let [a, b, c, d, e, f] = args;
    // SAFETY: passed on; the C library has this function with this type.
    unsafe {
        match SYSCALL.load(Acquire) {
            0 => answer(call(number, args)),
            at => core::mem::transmute::<usize, Function>(at)(number, a, b, c, d, e, f),
        }
    }
}

/// Whether a call by its number would come back to the program: always, or now.
fn is_sent_back(now: bool) -> bool {
    is_dispatched(SYSCALL.load(Relaxed), now)
}

/// Whether a call by its number would come back to the program now.
pub fn comes_back() -> bool {
    is_sent_back(true)
}

/// What is called as a thread ends. 0 until there is such a key, and then one more than it.
static KEY: AtomicU32 = AtomicU32::new(0);

extern "C" fn at_end(_: *mut c_void) {
    forget_dispatched();
}

/// Has the calling thread forgotten when it ends: another may have its place.
fn forget_at_end() {
    let mut key: pthread_key_t = 0;
    // SAFETY: a live output; a function of this library, which is never unloaded.
    unsafe {
        if KEY.load(Acquire) == 0
            && libc::pthread_key_create(&mut key, Some(at_end)) == 0
            && KEY.compare_exchange(0, key + 1, AcqRel, Acquire).is_err()
        {
            libc::pthread_key_delete(key);
        }
        if let Some(key) = KEY.load(Acquire).checked_sub(1) {
            libc::pthread_setspecific(key, (&raw const KEY).cast());
        }
    }
}

/// Makes the request by a function that is given the selector.
pub fn set(
    kind: c_ulong,
    from: c_ulong,
    bytes: c_ulong,
    selector: c_ulong,
    request: impl FnOnce(c_ulong) -> c_int,
) -> c_int {
    let Some(engine) = engine().filter(|_| matches!(kind, ON | ON_INSIDE)) else {
        let result = request(selector);
        if result == 0 {
            forget_dispatched();
        }
        return result;
    };
    forget_at_end();
    leave_open(libc::SIGSYS);
    if selector != 0 {
        keep_off_device(engine, selector as usize, 1);
    }
    let from = from as usize;
    let range = from..from.saturating_add(bytes as usize);
    let known = note_dispatched(range, kind == ON_INSIDE, selector as usize as *mut AtomicU8);
    let Some(given) = known else {
        say(format_args!(
            "more threads than the emulation knows have their system calls dispatched: its own \
             calls in this one are dispatched, too"
        ));
        return request(selector);
    };
    let result = request(given as usize as c_ulong);
    if result != 0 {
        forget_dispatched();
    } else if signal_engine().is_some() && is_sent_back(false) {
        say(format_args!(
            "the program has system calls of the C library dispatched: in signal mode a miss \
             meanwhile ends it; use --trap event"
        ));
    }
    result
}
