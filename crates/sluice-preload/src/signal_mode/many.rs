//! Several messages by one call, for signal mode: one after another, as the kernel does it, each by
//! the hook of a single one.

use crate::bytes::buffers::{are_readable, signal_engine};
use crate::next;
use crate::signal_mode::io::{recvmsg, sendmsg};
use libc::{c_int, c_uint, mmsghdr, ssize_t, timespec};
use sluice_runtime::now_ns;

next!(next_sendmmsg: c"sendmmsg"
    (fd: c_int, list: *mut mmsghdr, n: c_uint, flags: c_int) -> c_int);
next!(next_recvmmsg: c"recvmmsg"
    (fd: c_int, list: *mut mmsghdr, n: c_uint, flags: c_int, longest: *mut timespec) -> c_int);

/// Messages that the kernel takes.
const MOST: c_uint = libc::UIO_MAXIOV as c_uint;

/// Whether the program has such a list, in signal mode. What it has not is the kernel's to refuse.
fn is_ours(list: *const mmsghdr, n: c_uint) -> bool {
    let bytes = n.min(MOST) as usize * size_of::<mmsghdr>();
    n > 0 && signal_engine().is_some_and(|engine| are_readable(engine, list.cast(), bytes))
}

/// What a call answers that moved so many messages, or failed at the first.
fn answer(moved: c_uint) -> c_int {
    if moved > 0 { moved as c_int } else { -1 }
}

/// Moves one message, and notes its length. Says whether it could.
///
/// # Safety
/// A message of the program's.
unsafe fn one(message: *mut mmsghdr, call: impl FnOnce() -> ssize_t) -> bool {
    let bytes = call();
    if bytes >= 0 {
        // SAFETY: by contract.
        unsafe { (*message).msg_len = bytes as c_uint };
    }
    bytes >= 0
}

/// # Safety
/// C contract of `sendmmsg`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sendmmsg(
    fd: c_int,
    list: *mut mmsghdr,
    n: c_uint,
    flags: c_int,
) -> c_int {
    // SAFETY: passed on; the program's list, of the length that it gave.
    unsafe {
        if !is_ours(list, n) {
            return next_sendmmsg(fd, list, n, flags);
        }
        let all = (0..n.min(MOST)).map(|at| list.add(at as usize));
        let sent = all.take_while(|at| one(*at, || sendmsg(fd, &(**at).msg_hdr, flags)));
        answer(sent.count() as c_uint)
    }
}

/// Until when a call receives; `None` without an end.
struct Until {
    left: *mut timespec,
    at_ns: i128,
}

fn nanoseconds(time: &timespec) -> i128 {
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}

impl Until {
    /// Writes the time that is left for the program, and says whether it is over.
    ///
    /// # Safety
    /// The program's time.
    unsafe fn is_over(&self) -> bool {
        let left = (self.at_ns - i128::from(now_ns())).max(0);
        // SAFETY: by contract.
        unsafe {
            *self.left = timespec {
                tv_sec: (left / 1_000_000_000) as libc::time_t,
                tv_nsec: (left % 1_000_000_000) as libc::c_long,
            };
        }
        left == 0
    }
}

/// # Safety
/// C contract of `recvmmsg`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn recvmmsg(
    fd: c_int,
    list: *mut mmsghdr,
    n: c_uint,
    flags: c_int,
    longest: *mut timespec,
) -> c_int {
    let is_time = |engine| are_readable(engine, longest.cast_const().cast(), size_of::<timespec>());
    let may_wait = longest.is_null() || signal_engine().is_some_and(is_time);
    // SAFETY: passed on; the program's list, of the length that it gave, and its time.
    unsafe {
        let is_valid =
            |time: &timespec| time.tv_sec >= 0 && (0..1_000_000_000).contains(&time.tv_nsec);
        if !is_ours(list, n) || !may_wait || !longest.as_ref().is_none_or(is_valid) {
            return next_recvmmsg(fd, list, n, flags, longest);
        }
        let until = longest.as_ref().map(|time| Until {
            left: longest,
            at_ns: i128::from(now_ns()) + nanoseconds(time),
        });
        let mut how = flags & !libc::MSG_WAITFORONE;
        let mut received = 0;
        for at in (0..n.min(MOST)).map(|at| list.add(at as usize)) {
            if !one(at, || recvmsg(fd, &mut (*at).msg_hdr, how)) {
                break;
            }
            received += 1;
            if flags & libc::MSG_WAITFORONE != 0 {
                how |= libc::MSG_DONTWAIT;
            }
            let is_urgent = (*at).msg_hdr.msg_flags & libc::MSG_OOB != 0;
            if until.as_ref().is_some_and(|until| until.is_over()) || is_urgent {
                break;
            }
        }
        answer(received)
    }
}
