//! System calls by their numbers that take something away or wait, and differ from the C library's
//! functions of these names; for signal mode. See [`crate::numbers`] and [`crate::waits`].

use crate::dispatch::by_libc;
use crate::waits::Held;
use libc::{c_long, rusage, siginfo_t, size_t, timespec};

/// `waitid`, which also says what the child has used.
///
/// # Safety
/// Contract of the system call.
pub unsafe fn waitid(
    of: usize,
    id: usize,
    about: *mut siginfo_t,
    how: usize,
    used: *mut rusage,
) -> c_long {
    // SAFETY: null or the program's; passed on.
    unsafe {
        let (mut about, mut used) = (Held::of(about), Held::of(used));
        let args = [of, id, about.at() as usize, how, used.at() as usize, 0];
        let result = by_libc(libc::SYS_waitid, args);
        about.give_back();
        used.give_back();
        result
    }
}

/// `rt_sigtimedwait`, with a set of the kernel's.
///
/// # Safety
/// Contract of the system call.
pub unsafe fn rt_sigtimedwait(
    set: *const u64,
    about: *mut siginfo_t,
    longest: *const timespec,
    bytes: size_t,
) -> c_long {
    // SAFETY: null or the program's; passed on.
    unsafe {
        let (mut set, mut about, mut longest) = (Held::of(set), Held::of(about), Held::of(longest));
        let (from, to, time) = (
            set.at() as usize,
            about.at() as usize,
            longest.at() as usize,
        );
        let result = by_libc(libc::SYS_rt_sigtimedwait, [from, to, time, bytes, 0, 0]);
        about.give_back();
        result
    }
}
