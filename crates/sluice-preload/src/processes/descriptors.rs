//! The program closes descriptors, and takes numbers for its own.
//!
//! In signal mode some numbers of its table are the runtime's. To the program they are closed: no
//! call closes them, and one that wants such a number gets it, for ours goes elsewhere.

use crate::bytes::answers::status;
use crate::bytes::buffers::{set_errno, signal_engine};
use crate::next;
use libc::{c_int, c_uint};
use sluice_region::sys;
use sluice_runtime::{first_guarded, is_guarded};

next!(next_close: c"close"(fd: c_int) -> c_int);
next!(next_dup2: c"dup2"(from: c_int, to: c_int) -> c_int);
next!(next_dup3: c"dup3"(from: c_int, to: c_int, flags: c_int) -> c_int);
next!(next_closefrom: c"closefrom"(from: c_int) -> ());

/// # Safety
/// C contract of `close`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn close(fd: c_int) -> c_int {
    if is_guarded(fd) {
        return status(Err(libc::EBADF));
    }
    // SAFETY: passed on.
    unsafe { next_close(fd) }
}

/// # Safety
/// C contract of `close`, by another of its names.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __close(fd: c_int) -> c_int {
    // SAFETY: passed on.
    unsafe { close(fd) }
}

/// Leaves a number to the program. False if that cannot be, with `errno` set.
fn make_free(number: c_int) -> bool {
    let Some(engine) = signal_engine().filter(|_| is_guarded(number)) else {
        return true;
    };
    // A child of `vfork` has the numbers in a table of its own, and the memory of its parent.
    let freed = match engine.is_callers() {
        true => engine.give_up_number(number),
        false => Err(libc::EBUSY),
    };
    if let Err(errno) = freed {
        set_errno(errno);
    }
    freed.is_ok()
}

/// # Safety
/// C contract of `dup2`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dup2(from: c_int, to: c_int) -> c_int {
    if is_guarded(from) {
        return status(Err(libc::EBADF));
    }
    if !make_free(to) {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { next_dup2(from, to) }
}

/// # Safety
/// C contract of `dup3`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int {
    if is_guarded(from) {
        return status(Err(libc::EBADF));
    }
    if !make_free(to) {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { next_dup3(from, to, flags) }
}

/// Closes a range of numbers around those of the runtime's, or changes them.
///
/// # Safety
/// C contract of `close_range`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    // SAFETY: passed on.
    let pass = |first: c_uint, last: c_uint, flags: c_int| unsafe {
        sys!(libc::SYS_close_range, first, last, flags).map(drop)
    };
    if signal_engine().is_none() || first > last {
        return status(pass(first, last, flags));
    }
    let (mut from, mut flags) = (first, flags);
    let mut result = Ok(());
    while let Some(own) = first_guarded(from, last) {
        if own > from {
            result = result.and(pass(from, own - 1, flags));
            // A table of its own is made once.
            flags &= !(libc::CLOSE_RANGE_UNSHARE as c_int);
        }
        match own.checked_add(1).filter(|next| *next <= last) {
            Some(next) => from = next,
            None => return status(result),
        }
    }
    status(result.and(pass(from, last, flags)))
}

/// # Safety
/// C contract of `closefrom`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn closefrom(from: c_int) {
    // SAFETY: passed on.
    unsafe {
        match signal_engine() {
            Some(_) => _ = close_range(from.max(0) as c_uint, c_uint::MAX, 0),
            None => next_closefrom(from),
        }
    }
}
