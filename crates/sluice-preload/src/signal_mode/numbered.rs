//! System calls by their numbers that take something away or wait, and differ from the C library's
//! functions of these names; for signal mode. See [`super::numbers`] and [`super::waits`].

use crate::bytes::held::Held;
use crate::signal_mode::waits::{watch, with_events, with_sets};
use crate::signals::dispatch::by_libc;
use crate::signals::mask::open_set;
use libc::{c_int, c_long, epoll_event, fd_set, itimerspec, itimerval, mq_attr, nfds_t, pollfd};
use libc::{rusage, siginfo_t, size_t, timespec, timex, tms};

/// What makes a call, given its arguments.
pub type Call = unsafe fn(&[usize; 6]) -> c_long;

/// Makes a call whose arguments are single values, by way of the stack: from the first of them on.
macro_rules! holding {
    ($number:ident, $args:ident;) => {
        by_libc(libc::$number, $args)
    };
    ($number:ident, $args:ident; $at:literal $type:ident $($out:ident)?, $($more:tt)*) => {{
        let mut held = Held::of($args[$at] as *const $type);
        $args[$at] = held.at() as usize;
        let result = holding!($number, $args; $($more)*);
        $(holding!($out held);)?
        result
    }};
    (out $held:ident) => {
        $held.give_back()
    };
}

/// Calls of which only single values are the program's: where each is, and whether it is written.
macro_rules! held {
    ($($number:ident($($at:literal $type:ident $($out:ident)?),*);)+) => {
        /// What makes such a call; `None` for others.
        pub fn held(number: c_long) -> Option<Call> {
            Some(match number {
                $(libc::$number => |args| {
                    let mut args = *args;
                    // SAFETY: null or the program's; passed on.
                    unsafe { holding!($number, args; $($at $type $($out)?,)*) }
                },)+
                _ => return None,
            })
        }
    };
}

held! {
    SYS_waitid(2 siginfo_t out, 4 rusage out);
    SYS_rt_sigtimedwait(0 u64, 1 siginfo_t out, 2 timespec);
    SYS_nanosleep(0 timespec, 1 timespec out);
    SYS_clock_nanosleep(2 timespec, 3 timespec out);
    SYS_times(0 tms out);
    SYS_setitimer(1 itimerval, 2 itimerval out);
    SYS_timer_settime(2 itimerspec, 3 itimerspec out);
    SYS_timerfd_settime(2 itimerspec, 3 itimerspec out);
    SYS_adjtimex(0 timex out);
    SYS_clock_adjtime(1 timex out);
    SYS_mq_getsetattr(1 mq_attr, 2 mq_attr out);
}

/// A mask of the kernel's for the time of a call, which lets the device's signal through.
///
/// # Safety
/// Null or the program's set, if it has this size.
unsafe fn open_mask(set: *const u64, bytes: size_t) -> Held<u64> {
    let is_set = bytes == size_of::<u64>() && !set.is_null();
    // SAFETY: the program's.
    Held::by(
        set,
        is_set.then(|| open_set(unsafe { set.read_unaligned() })),
    )
}

/// # Safety
/// Contract of the system call.
pub unsafe fn ppoll(
    fds: *mut pollfd,
    n: nfds_t,
    longest: *mut timespec,
    mask: *const u64,
    bytes: size_t,
) -> c_int {
    // SAFETY: null or the program's; passed on.
    unsafe {
        let (mut longest, mut mask) = (Held::of(longest), open_mask(mask, bytes));
        let (time, set) = (longest.at() as usize, mask.at() as usize);
        let call = |fds: *mut pollfd| {
            let args = [fds as usize, n as usize, time, set, bytes, 0];
            by_libc(libc::SYS_ppoll, args) as c_int
        };
        let result = watch(fds, n, call);
        longest.give_back();
        result
    }
}

/// # Safety
/// Contract of the system call, whose last argument is a mask and its size.
pub unsafe fn pselect(
    n: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    other: *mut fd_set,
    longest: *mut timespec,
    mask: *const (*const u64, size_t),
) -> c_int {
    // SAFETY: null or the program's; passed on.
    unsafe {
        let mut longest = Held::of(longest);
        let (set, bytes) = match mask.is_null() {
            true => (core::ptr::null(), 0),
            false => mask.read_unaligned(),
        };
        let mut set = open_mask(set, bytes);
        let own = (set.at().cast_const(), bytes);
        let mask = if mask.is_null() { mask } else { &raw const own };
        let time = longest.at() as usize;
        let result = with_sets(n, [read, write, other], |sets| {
            let [read, write, other] = sets.map(|set| set as usize);
            let args = [n as usize, read, write, other, time, mask as usize];
            by_libc(libc::SYS_pselect6, args) as c_int
        });
        longest.give_back();
        result
    }
}

/// # Safety
/// Contract of the system call.
pub unsafe fn epoll_pwait(
    fd: usize,
    to: *mut epoll_event,
    n: c_int,
    time: usize,
    mask: *const u64,
    bytes: size_t,
) -> c_long {
    // SAFETY: null or the program's; passed on.
    unsafe {
        let mut mask = open_mask(mask, bytes);
        let mask = mask.at() as usize;
        let call = |to, n| {
            let args = [fd, to as usize, n as usize, time, mask, bytes];
            by_libc(libc::SYS_epoll_pwait, args) as c_int
        };
        with_events(to, n, call).into()
    }
}

/// # Safety
/// Contract of the system call.
pub unsafe fn epoll_pwait2(
    fd: usize,
    to: *mut epoll_event,
    n: c_int,
    longest: *const timespec,
    mask: *const u64,
    bytes: size_t,
) -> c_long {
    // SAFETY: null or the program's; passed on.
    unsafe {
        let (mut longest, mut mask) = (Held::of(longest), open_mask(mask, bytes));
        let (time, mask) = (longest.at() as usize, mask.at() as usize);
        let call = |to, n| {
            let args = [fd, to as usize, n as usize, time, mask, bytes];
            by_libc(libc::SYS_epoll_pwait2, args) as c_int
        };
        with_events(to, n, call).into()
    }
}

/// # Safety
/// Contract of the system call.
pub unsafe fn rt_sigsuspend(mask: *const u64, bytes: size_t) -> c_long {
    // SAFETY: the program's; passed on.
    unsafe {
        let mut mask = open_mask(mask, bytes);
        by_libc(
            libc::SYS_rt_sigsuspend,
            [mask.at() as usize, bytes, 0, 0, 0, 0],
        )
    }
}
