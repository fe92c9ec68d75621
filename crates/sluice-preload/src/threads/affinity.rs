//! The CPUs that the program chooses for its threads, and sees that they have. A handler of event
//! mode holds a thread on a CPU for a moment. It must not undo a choice that falls into it, and
//! what the thread makes or asks for meanwhile must not take that CPU for all that it has.

use crate::bytes::buffers::{Code, with_pages};
use crate::device::engine;
use crate::next;
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering::*};
use libc::{c_char, c_int, c_void, cpu_set_t, pid_t, pthread_t, size_t};
use sluice_region::CpuSet;
use sluice_runtime::{Engine, Trap, await_cpus, choose_cpus, need_cpus};
use sluice_runtime::{need_cpus_for_a_while, need_cpus_no_longer};

next!(next_sched: c"sched_setaffinity"
    (thread: pid_t, size: size_t, set: *const cpu_set_t) -> c_int);
next!(next_pthread: c"pthread_setaffinity_np"
    (thread: pthread_t, size: size_t, set: *const cpu_set_t) -> c_int);

unsafe extern "C" {
    fn pthread_getcpuclockid(thread: pthread_t, clock: *mut libc::clockid_t) -> c_int;
}

next!(next_sched_get: c"sched_getaffinity"
    (thread: pid_t, size: size_t, set: *mut c_void) -> c_int);
next!(next_pthread_get: c"pthread_getaffinity_np"
    (thread: pthread_t, size: size_t, set: *mut c_void) -> c_int);

/// Whether there are handlers that hold threads on a CPU.
fn are_held() -> bool {
    engine().is_some_and(|engine| engine.session.trap == Trap::Event)
}

/// A thread by its number, or the caller for 0.
fn numbered(thread: u32) -> u32 {
    match thread {
        0 => sluice_region::thread_id(),
        other => other,
    }
}

/// The kernel's number of a thread of the program's; 0 if it has none.
fn number_of(thread: pthread_t) -> u32 {
    let mut clock = 0;
    // SAFETY: the program's thread, and a live output. The number is in that of its clock, inverted
    // above three bits; the C library gives it in no other way.
    match unsafe { pthread_getcpuclockid(thread, &mut clock) } {
        0 => !(clock >> 3) as u32,
        _ => 0,
    }
}

/// The caller is about to make a thread or a child, which is to have all of its CPUs. It has them
/// until [`made`].
pub fn makes() {
    if are_held() {
        need_cpus(sluice_region::thread_id());
    }
}

/// It has made it, or failed to.
pub fn made() {
    if are_held() {
        need_cpus_no_longer(sluice_region::thread_id());
    }
}

/// Makes a call that makes a thread or a child.
pub fn making<R>(call: impl FnOnce() -> R) -> R {
    makes();
    let result = call();
    made();
    result
}

/// The caller is about to make a child, or to become another program, and may not come back to say
/// that it has.
pub fn await_own() {
    if are_held() {
        await_cpus(sluice_region::thread_id());
    }
}

/// Makes a call after which the caller is another program, if it does not fail. One that shares its
/// parent's memory comes back to say so just then.
pub fn leaving<R>(engine: &Engine, call: impl FnOnce() -> R) -> R {
    match engine.is_callers() {
        true => making(call),
        false => {
            await_own();
            call()
        }
    }
}

/// Makes a call that asks which CPUs a thread has.
pub fn asking<R>(thread: u32, call: impl FnOnce() -> R) -> R {
    if !are_held() {
        return call();
    }
    let thread = numbered(thread);
    need_cpus(thread);
    let result = call();
    need_cpus_no_longer(thread);
    result
}

/// The same of a thread by the C library's name for it.
pub fn asking_of<R>(thread: pthread_t, call: impl FnOnce() -> R) -> R {
    match are_held() {
        true => asking(number_of(thread), call),
        false => call(),
    }
}

/// The program has opened a file of this name. What the kernel says in it of the process's CPUs,
/// and of the caller's, is to be all that they have: `libnuma` binds threads by it.
pub fn opened(path: *const c_char) {
    if !are_held() {
        return;
    }
    // SAFETY: the program's string, which the kernel has just read.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    if path.starts_with(b"/proc/") && path.ends_with(b"/status") {
        // SAFETY: no arguments.
        need_cpus_for_a_while(unsafe { libc::getpid() } as u32);
        need_cpus_for_a_while(sluice_region::thread_id());
    }
}

/// The CPUs of all threads that had the C library make threads of its own; null before there is
/// one. They are those of the threads that those make, which no hook sees: one of them may have had
/// a miss just before.
static UNSEEN: AtomicPtr<CpuSet> = AtomicPtr::new(core::ptr::null_mut());
/// Whether nobody can know which CPUs those are to have: the makers' differ, or attributes say it.
static IS_UNKNOWN: AtomicBool = AtomicBool::new(false);

/// Attributes of threads have CPUs.
pub fn choose_by_attributes() {
    IS_UNKNOWN.store(true, Release);
}

/// Makes a call for which the C library may make threads of its own.
pub fn making_unseen<R>(call: impl FnOnce() -> R) -> R {
    making(|| {
        note_unseen();
        call()
    })
}

/// Notes the CPUs of the calling thread, which has all of them.
fn note_unseen() {
    if !are_held() || IS_UNKNOWN.load(Acquire) {
        return;
    }
    let Some(own) = CpuSet::of(0) else { return };
    let known = UNSEEN.load(Acquire);
    // SAFETY: null, or a set that stays.
    match unsafe { known.as_ref() } {
        Some(known) if *known == own => {}
        Some(_) => IS_UNKNOWN.store(true, Release),
        None => {
            let new = Box::into_raw(Box::new(own));
            if UNSEEN
                .compare_exchange(known, new, AcqRel, Relaxed)
                .is_err()
            {
                // SAFETY: nobody has seen it.
                drop(unsafe { Box::from_raw(new) });
            }
        }
    }
}

/// Gives a thread that the C library has made by itself all of its CPUs.
pub fn have_own() {
    // SAFETY: null, or a set that stays.
    let known = unsafe { UNSEEN.load(Acquire).as_ref() };
    let has_one = || CpuSet::of(0).is_some_and(|now| now.count() == 1);
    if let Some(known) = known.filter(|_| are_held() && !IS_UNKNOWN.load(Acquire) && has_one()) {
        known.bind(0);
    }
}

/// # Safety
/// C contract of `sched_getaffinity`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sched_getaffinity(
    thread: pid_t,
    size: size_t,
    set: *mut c_void,
) -> c_int {
    asking(thread as u32, || {
        // SAFETY: passed on.
        let call = || unsafe { next_sched_get(thread, size, set) };
        with_pages((set.cast_const(), size), call)
    })
}

/// # Safety
/// C contract of `pthread_getaffinity_np`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_getaffinity_np(
    thread: pthread_t,
    size: size_t,
    set: *mut c_void,
) -> c_int {
    asking_of(thread, || {
        // SAFETY: passed on.
        let call = || Code(unsafe { next_pthread_get(thread, size, set) });
        with_pages((set.cast_const(), size), call).0
    })
}

/// Makes a call for a thread, or for the caller if it is 0, as often as is needed.
fn choose(thread: u32, mut call: impl FnMut() -> c_int) -> c_int {
    if !are_held() {
        return call();
    }
    let thread = numbered(thread);
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
    // SAFETY: passed on.
    choose(number_of(thread), || unsafe {
        next_pthread(thread, size, set)
    })
}
