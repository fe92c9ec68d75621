//! The real-time priorities that the program gives its threads: in event mode the runtime's threads
//! stay above them (see [`sluice_runtime::stay_above`]).

use crate::bytes::buffers::{Code, One, are_readable, with_pages};
use crate::device::engine;
use crate::next;
use crate::threads::affinity;
use crate::threads::asked::no_such_call;
use libc::{c_int, c_uint, pid_t, pthread_attr_t, pthread_mutex_t, pthread_mutexattr_t};
use libc::{pthread_t, sched_param};
use sluice_runtime::{Engine, Trap, is_runtimes_thread, stay_above};

/// The beginning of `struct sched_attr` of `linux/sched/types.h`.
#[repr(C)]
pub struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
}

/// The engine that has handlers for the program's threads to wait for.
fn event_engine() -> Option<&'static Engine> {
    engine().filter(|engine| engine.session.trap == Trap::Event)
}

/// Makes a call that gives a thread a priority, which is in a record of the program's.
pub fn giving<T, R>(
    thread: pid_t,
    record: *const T,
    priority: impl FnOnce(&T) -> c_int,
    call: impl FnOnce() -> R,
) -> R {
    let Some(engine) = event_engine() else {
        return call();
    };
    if are_readable(engine, record.cast(), size_of::<T>()) {
        // SAFETY: the program's record, which can be read.
        match priority(unsafe { &*record }) {
            0 => {}
            priority => stay_above(priority),
        }
    }
    let result = call();
    if is_runtimes_thread(thread as u32) {
        stay_above(0);
    }
    result
}

/// The program has named a priority which threads will have that no call of its own gives it.
fn named(priority: c_int) {
    if event_engine().is_some() && priority > 0 {
        stay_above(priority);
    }
}

/// The priority in a record of the kernel's older calls.
pub fn of_param(record: &sched_param) -> c_int {
    record.sched_priority
}

/// The priority in a record of its newer call.
pub fn of_attributes(record: &Attributes) -> c_int {
    record.priority as c_int
}

next!(next_setscheduler: c"sched_setscheduler"
    (pid: pid_t, policy: c_int, from: *const sched_param) -> c_int);
next!(next_setparam: c"sched_setparam"(pid: pid_t, from: *const sched_param) -> c_int);
next!(next_setattr: c"sched_setattr"
    (pid: pid_t, from: *const Attributes, flags: c_uint) -> c_int, or no_such_call());
next!(next_setschedparam: c"pthread_setschedparam"
    (thread: pthread_t, policy: c_int, from: *const sched_param) -> c_int);
next!(next_setschedprio: c"pthread_setschedprio"(thread: pthread_t, priority: c_int) -> c_int);
next!(next_attr_setschedparam: c"pthread_attr_setschedparam"
    (attributes: *mut pthread_attr_t, from: *const sched_param) -> c_int);
next!(next_attr_setceiling: c"pthread_mutexattr_setprioceiling"
    (attributes: *mut pthread_mutexattr_t, priority: c_int) -> c_int);
next!(next_setceiling: c"pthread_mutex_setprioceiling"
    (mutex: *mut pthread_mutex_t, priority: c_int, before: *mut c_int) -> c_int);

/// # Safety
/// C contract of `sched_setscheduler`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sched_setscheduler(
    pid: pid_t,
    policy: c_int,
    from: *const sched_param,
) -> c_int {
    giving(pid, from, of_param, || {
        // SAFETY: passed on.
        with_pages(One(from), || unsafe {
            next_setscheduler(pid, policy, from)
        })
    })
}

/// # Safety
/// C contract of `sched_setparam`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sched_setparam(pid: pid_t, from: *const sched_param) -> c_int {
    giving(pid, from, of_param, || {
        // SAFETY: passed on.
        with_pages(One(from), || unsafe { next_setparam(pid, from) })
    })
}

/// The kernel refuses deadlines to a thread that has one CPU of several.
///
/// # Safety
/// C contract of `sched_setattr`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sched_setattr(
    pid: pid_t,
    from: *const Attributes,
    flags: c_uint,
) -> c_int {
    giving(pid, from, of_attributes, || {
        affinity::asking(pid as u32, || {
            // SAFETY: passed on.
            with_pages(One(from), || unsafe { next_setattr(pid, from, flags) })
        })
    })
}

/// # Safety
/// C contract of `pthread_setschedparam`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_setschedparam(
    thread: pthread_t,
    policy: c_int,
    from: *const sched_param,
) -> c_int {
    // SAFETY: passed on; the program's record.
    unsafe {
        named((*from).sched_priority);
        with_pages(One(from), || Code(next_setschedparam(thread, policy, from))).0
    }
}

/// # Safety
/// C contract of `pthread_setschedprio`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_setschedprio(thread: pthread_t, priority: c_int) -> c_int {
    named(priority);
    // SAFETY: passed on.
    unsafe { next_setschedprio(thread, priority) }
}

/// The C library makes threads by attributes where no hook sees it.
///
/// # Safety
/// C contract of `pthread_attr_setschedparam`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_attr_setschedparam(
    attributes: *mut pthread_attr_t,
    from: *const sched_param,
) -> c_int {
    // SAFETY: passed on; the program's record.
    unsafe {
        named((*from).sched_priority);
        next_attr_setschedparam(attributes, from)
    }
}

/// # Safety
/// C contract of `pthread_mutexattr_setprioceiling`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutexattr_setprioceiling(
    attributes: *mut pthread_mutexattr_t,
    priority: c_int,
) -> c_int {
    named(priority);
    // SAFETY: passed on.
    unsafe { next_attr_setceiling(attributes, priority) }
}

/// # Safety
/// C contract of `pthread_mutex_setprioceiling`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_setprioceiling(
    mutex: *mut pthread_mutex_t,
    priority: c_int,
    before: *mut c_int,
) -> c_int {
    named(priority);
    // SAFETY: passed on.
    unsafe { next_setceiling(mutex, priority, before) }
}
