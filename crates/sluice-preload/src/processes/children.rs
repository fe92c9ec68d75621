//! Waiting for children: their status goes by way of the stack ([`Held`]), and those that a filter
//! of system calls has ended are counted, also of those that a call of the C library waits for.
//! Such an end says nothing itself, and it may be for a call of the runtime's.

use crate::bytes::held::Held;
use crate::device::engine;
use crate::next;
use libc::{c_int, id_t, idtype_t, pid_t, rusage, siginfo_t};
use sluice_abi::Counter;

fn note(is_filtered: bool) {
    if is_filtered && let Some(engine) = engine() {
        engine.count(Counter::ChildrenFiltered, 1);
    }
}

/// Notes how a child has ended.
pub fn note_status(status: c_int) {
    note(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSYS);
}

/// Makes a call that says how a child has ended, also where the program does not ask.
///
/// # Safety
/// Null, or memory of the program's.
unsafe fn with_status(status: *mut c_int, call: impl FnOnce(*mut c_int) -> pid_t) -> pid_t {
    let mut unasked = 0;
    // SAFETY: by contract; what a call has filled can be read.
    unsafe {
        let mut held = Held::of(status);
        let at = match status.is_null() {
            true => &raw mut unasked,
            false => held.at(),
        };
        let child = call(at);
        if child > 0 {
            note_status(at.read_unaligned());
        }
        held.give_back();
        child
    }
}

next!(next_wait: c"wait"(status: *mut c_int) -> pid_t);
next!(next_waitpid: c"waitpid"(child: pid_t, status: *mut c_int, how: c_int) -> pid_t);
next!(next_wait3: c"wait3"(status: *mut c_int, how: c_int, used: *mut rusage) -> pid_t);
next!(next_wait4: c"wait4"
    (child: pid_t, status: *mut c_int, how: c_int, used: *mut rusage) -> pid_t);
next!(next_waitid: c"waitid"
    (of: idtype_t, id: id_t, about: *mut siginfo_t, how: c_int) -> c_int);

/// # Safety
/// C contract of `wait`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn wait(status: *mut c_int) -> pid_t {
    // SAFETY: passed on.
    unsafe { with_status(status, |status| next_wait(status)) }
}

/// # Safety
/// C contract of `waitpid`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn waitpid(child: pid_t, status: *mut c_int, how: c_int) -> pid_t {
    // SAFETY: passed on.
    unsafe { with_status(status, |status| next_waitpid(child, status, how)) }
}

/// # Safety
/// C contract of `wait3`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn wait3(status: *mut c_int, how: c_int, used: *mut rusage) -> pid_t {
    // SAFETY: passed on.
    unsafe {
        let mut used = Held::of(used);
        let child = with_status(status, |status| next_wait3(status, how, used.at()));
        used.give_back();
        child
    }
}

/// # Safety
/// C contract of `wait4`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn wait4(
    child: pid_t,
    status: *mut c_int,
    how: c_int,
    used: *mut rusage,
) -> pid_t {
    // SAFETY: passed on.
    unsafe {
        let mut used = Held::of(used);
        let child = with_status(status, |status| next_wait4(child, status, how, used.at()));
        used.give_back();
        child
    }
}

/// # Safety
/// C contract of `waitid`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn waitid(
    of: idtype_t,
    id: id_t,
    about: *mut siginfo_t,
    how: c_int,
) -> c_int {
    // SAFETY: zeros are a valid one; passed on; what a call has filled can be read.
    unsafe {
        let mut unasked: siginfo_t = core::mem::zeroed();
        let mut held = Held::of(about);
        let at = match about.is_null() {
            true => &raw mut unasked,
            false => held.at(),
        };
        let result = next_waitid(of, id, at, how);
        // A child that is only looked at will be waited for again.
        note(result == 0 && how & libc::WNOWAIT == 0 && is_filtered(&at.read_unaligned()));
        held.give_back();
        result
    }
}

/// Whether a child's end is one by a filter. Without a child there are zeros.
fn is_filtered(about: &siginfo_t) -> bool {
    let is_killed = matches!(about.si_code, libc::CLD_KILLED | libc::CLD_DUMPED);
    // SAFETY: filled by a wait.
    is_killed && about.si_signo == libc::SIGCHLD && unsafe { about.si_status() } == libc::SIGSYS
}
