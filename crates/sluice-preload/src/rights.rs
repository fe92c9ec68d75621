//! Capabilities that a thread sets for itself alone. The C library changes users and groups in all
//! threads of a process, those of the runtime among them, and ends a process in which not all may.
//! Nothing can be done about that but to say why.

use crate::init::engine;
use crate::next;
use libc::{c_int, c_void};

next!(next_capset: c"capset"(head: *mut c_void, sets: *const c_void) -> c_int);

/// # Safety
/// C contract of `capset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn capset(head: *mut c_void, sets: *const c_void) -> c_int {
    // SAFETY: passed on.
    let result = unsafe { next_capset(head, sets) };
    if let Some(engine) = engine().filter(|_| result == 0) {
        engine.note_own_rights();
    }
    result
}
