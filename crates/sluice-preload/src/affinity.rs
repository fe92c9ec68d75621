//! The CPUs that the program chooses for its threads. A handler of event mode holds a thread on a
//! CPU for a moment, and must not undo a choice that falls into it.

use crate::buffers::with_pages;
use crate::device::engine;
use crate::next;
use libc::{c_int, cpu_set_t, pid_t, pthread_t, size_t};
use sluice_runtime::{Trap, choose_cpus};

next!(next_sched: c"sched_setaffinity"
    (thread: pid_t, size: size_t, set: *const cpu_set_t) -> c_int);
next!(next_pthread: c"pthread_setaffinity_np"
    (thread: pthread_t, size: size_t, set: *const cpu_set_t) -> c_int);

unsafe extern "C" {
    fn pthread_getcpuclockid(thread: pthread_t, clock: *mut libc::clockid_t) -> c_int;
}

/// Makes a call for a thread, or for the caller if it is 0, as often as is needed.
fn choose(thread: u32, mut call: impl FnMut() -> c_int) -> c_int {
    if engine().is_none_or(|engine| engine.session.trap != Trap::Event) {
        return call();
    }
    let thread = match thread {
        0 => sluice_region::thread_id(),
        other => other,
    };
    let mut result = 0;
    choose_cpus(thread, || {
        result = call();
        result == 0
    });
    result
}

/// # Safety
/// C contract of `sched_setaffinity`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_setaffinity(
    thread: pid_t,
    size: size_t,
    set: *const cpu_set_t,
) -> c_int {
    choose(thread as u32, || {
        // SAFETY: passed on.
        let call = || unsafe { next_sched(thread, size, set) };
        with_pages((set.cast(), size), call)
    })
}

/// # Safety
/// C contract of `pthread_setaffinity_np`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_setaffinity_np(
    thread: pthread_t,
    size: size_t,
    set: *const cpu_set_t,
) -> c_int {
    let mut clock = 0;
    // SAFETY: the program's thread, and a live output. The kernel's number of a thread is in that
    // of its clock, inverted above three bits; the C library gives it in no other way.
    let number = match unsafe { pthread_getcpuclockid(thread, &mut clock) } {
        0 => !(clock >> 3) as u32,
        _ => 0,
    };
    // SAFETY: passed on.
    choose(number, || unsafe { next_pthread(thread, size, set) })
}
