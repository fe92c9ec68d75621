//! Ends without destructors: what the process has written of memory that it shares is known then,
//! too. A program may end so in a handler of a signal, so all is looked up before.

use crate::device::{engine_in_any_child, own_engine};
use crate::next::Next;
use libc::{c_int, c_void};
use sluice_runtime::shmem::client;

static EXIT: Next = Next::new(c"_exit");
static EXIT_BY_ISO: Next = Next::new(c"_Exit");

/// Looks up what is behind the hooks.
pub fn resolve() {
    EXIT.address();
    EXIT_BY_ISO.address();
}

/// The calling process is about to end or to become another program. A child of `vfork` is not: it
/// has the memory of its parent, which goes on.
pub fn say_so() {
    // A filter of system calls may end a process that asks for its number, so few do.
    let shares = engine_in_any_child().is_some_and(|engine| engine.session.kinds.shared);
    if shares && own_engine().is_some() {
        client::end();
    }
}

/// Has `quick_exit` say it, after all that the program will ask it to call.
pub fn watch_quick() {
    unsafe extern "C" {
        fn __cxa_at_quick_exit(function: extern "C" fn(*mut c_void), of: *mut c_void) -> c_int;
    }
    extern "C" fn last(_: *mut c_void) {
        say_so();
    }
    // SAFETY: a function of this library, which is never unloaded. Without room for it that end is
    // one that nobody announces.
    unsafe { __cxa_at_quick_exit(last, core::ptr::null_mut()) };
}

unsafe fn exit(next: &Next, status: c_int) -> ! {
    say_so();
    // SAFETY: the C library has both functions with this type.
    unsafe {
        let next: unsafe extern "C" fn(c_int) -> ! = core::mem::transmute(next.address());
        next(status)
    }
}

/// # Safety
/// C contract of `_exit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(status: c_int) -> ! {
    // SAFETY: passed on.
    unsafe { exit(&EXIT, status) }
}

/// # Safety
/// C contract of `_Exit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Exit(status: c_int) -> ! {
    // SAFETY: passed on.
    unsafe { exit(&EXIT_BY_ISO, status) }
}
