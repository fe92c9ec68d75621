//! Whether the program has set a filter of system calls: then its threads make no call for the
//! runtime that can be left out.

use crate::process::sent::leave_open;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, Ordering::*};
use libc::{c_int, c_long};
use sluice_region::sys;

static IS_SET: AtomicBool = AtomicBool::new(false);

/// Notes that the program sets one.
pub fn note() {
    IS_SET.store(true, Release);
    leave_open(libc::SIGSYS);
}

/// Whether it has, or a process that it was forked from.
pub fn is_set() -> bool {
    IS_SET.load(Acquire)
}

/// What no process with a device can do without.
const NEEDED: [(&str, c_long); 7] = [
    ("ioctl", libc::SYS_ioctl),
    ("futex", libc::SYS_futex),
    ("madvise", libc::SYS_madvise),
    ("rt_sigprocmask", libc::SYS_rt_sigprocmask),
    ("clock_nanosleep", libc::SYS_clock_nanosleep),
    ("sched_setaffinity", libc::SYS_sched_setaffinity),
    ("prctl", libc::SYS_prctl),
];

static IS_SENT_BACK: AtomicBool = AtomicBool::new(false);

extern "C" fn note_sent_back(_: c_int) {
    IS_SENT_BACK.store(true, Release);
}

/// A call that the runtime needs and a filter answers by SIGSYS, under which the process was
/// started. While signals are held back, as they are in the runtime's work, that would end it.
pub fn sent_back() -> Option<&'static str> {
    // It would print that the arguments are wrong.
    if sluice_region::is_valgrind() {
        return None;
    }
    // SAFETY: plain data, for which zeros are valid.
    let [mut ours, mut before]: [libc::sigaction; 2] = unsafe { core::mem::zeroed() };
    ours.sa_sigaction = note_sent_back as *const () as usize;
    // SAFETY: live records, and a function that may be called at any time.
    if unsafe { libc::sigaction(libc::SIGSYS, &ours, &mut before) } != 0 {
        return None;
    }
    let found = NEEDED.into_iter().find(|(_, number)| {
        // SAFETY: no call does anything with these arguments: they are refused, or of length 0.
        let _ = unsafe { sys!(*number, usize::MAX, 0, usize::MAX, usize::MAX) };
        IS_SENT_BACK.load(Acquire)
    });
    // SAFETY: as above.
    unsafe { libc::sigaction(libc::SIGSYS, &before, null_mut()) };
    found.map(|(name, _)| name)
}
