//! System calls that take something away and then write it to the program's memory, for signal
//! mode: an error of a socket, a message of a queue. Where a page is missing by then, it is lost.
//! So the kernel writes to memory off the device.

use crate::bytes::bounce::{Side, Way};
use crate::bytes::buffers::{is_readable, on_device, signal_engine};
use crate::bytes::piece::Place;
use crate::next;
use libc::{c_char, c_int, c_long, c_uint, c_void, mqd_t, size_t, socklen_t, ssize_t, timespec};

next!(next_getsockopt: c"getsockopt"
    (fd: c_int, level: c_int, name: c_int, value: *mut c_void, n: *mut socklen_t) -> c_int);
next!(next_msgrcv: c"msgrcv"
    (queue: c_int, to: *mut c_void, n: size_t, kind: c_long, flags: c_int) -> ssize_t);
next!(next_msgsnd: c"msgsnd"
    (queue: c_int, from: *const c_void, n: size_t, flags: c_int) -> c_int);
next!(next_receive: c"mq_receive"
    (queue: mqd_t, to: *mut c_char, n: size_t, priority: *mut c_uint) -> ssize_t);
next!(next_timed_receive: c"mq_timedreceive"
    (queue: mqd_t, to: *mut c_char, n: size_t, priority: *mut c_uint,
     until: *const timespec) -> ssize_t);
next!(next_send: c"mq_send"
    (queue: mqd_t, from: *const c_char, n: size_t, priority: c_uint) -> c_int);
next!(next_timed_send: c"mq_timedsend"
    (queue: mqd_t, from: *const c_char, n: size_t, priority: c_uint,
     until: *const timespec) -> c_int);

/// How much room the program has for an answer, if any of it, or the length, is on the device.
///
/// # Safety
/// A length of the program's, or one for which the call has an error.
unsafe fn room(value: *mut c_void, n: *const socklen_t) -> Option<socklen_t> {
    let engine = signal_engine()?;
    let is_placed = on_device(engine, value as usize) || on_device(engine, n as usize);
    // SAFETY: it can be read.
    (is_placed && is_readable(engine, n as usize)).then(|| unsafe { *n })
}

/// The kernel reports a socket's error once, so that no second call could find it.
///
/// # Safety
/// C contract of `getsockopt`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    n: *mut socklen_t,
) -> c_int {
    // SAFETY: passed on, or memory of ours that is as long; the program's length.
    unsafe {
        let Some(room) = room(value, n) else {
            return next_getsockopt(fd, level, name, value, n);
        };
        let place = Place::new();
        let side = Side::new(&place, value, room as usize, Way::In);
        let mut length = room;
        let result = next_getsockopt(fd, level, name, side.at(), &mut length);
        if result == 0 {
            side.give(length as usize);
        }
        // An answer that had no room fails as well, and says how much it needs.
        if length != room {
            *n = length;
        }
        result
    }
}

/// A message has its kind before its bytes.
fn with_kind(n: size_t) -> size_t {
    n.saturating_add(size_of::<c_long>())
}

/// # Safety
/// C contract of `msgrcv`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn msgrcv(
    queue: c_int,
    to: *mut c_void,
    n: size_t,
    kind: c_long,
    flags: c_int,
) -> ssize_t {
    let place = Place::new();
    let side = Side::new(&place, to, with_kind(n), Way::In);
    // SAFETY: passed on, or memory of ours that is as long.
    let received = unsafe { next_msgrcv(queue, side.at(), n, kind, flags) };
    if let Ok(bytes) = usize::try_from(received) {
        side.give(with_kind(bytes));
    }
    received
}

/// # Safety
/// C contract of `msgsnd`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn msgsnd(
    queue: c_int,
    from: *const c_void,
    n: size_t,
    flags: c_int,
) -> c_int {
    let place = Place::new();
    let side = Side::new(&place, from.cast_mut(), with_kind(n), Way::Out);
    // SAFETY: passed on, or memory of ours that is as long.
    unsafe { next_msgsnd(queue, side.at(), n, flags) }
}

/// Receives a message of a queue of POSIX.
fn receive(
    (to, n): (*mut c_char, size_t),
    priority: *mut c_uint,
    call: impl FnOnce(*mut c_char, *mut c_uint) -> ssize_t,
) -> ssize_t {
    let places = [const { Place::new() }; 2];
    let bytes = Side::new(&places[0], to.cast(), n, Way::In);
    let rank = Side::new(&places[1], priority.cast(), size_of::<c_uint>(), Way::In);
    let received = call(bytes.at().cast(), rank.at().cast());
    if let Ok(count) = usize::try_from(received) {
        bytes.give(count);
        rank.give(size_of::<c_uint>());
    }
    received
}

/// A moment of the program's, off the device.
fn moment(place: &Place, until: *const timespec) -> Side<'_> {
    Side::new(
        place,
        until.cast_mut().cast(),
        size_of::<timespec>(),
        Way::Out,
    )
}

/// # Safety
/// C contract of `mq_receive`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mq_receive(
    queue: mqd_t,
    to: *mut c_char,
    n: size_t,
    priority: *mut c_uint,
) -> ssize_t {
    // SAFETY: passed on, or memory of ours that is as long.
    receive((to, n), priority, |to, priority| unsafe {
        next_receive(queue, to, n, priority)
    })
}

/// # Safety
/// C contract of `mq_timedreceive`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mq_timedreceive(
    queue: mqd_t,
    to: *mut c_char,
    n: size_t,
    priority: *mut c_uint,
    until: *const timespec,
) -> ssize_t {
    let place = Place::new();
    let until = moment(&place, until);
    // SAFETY: as above.
    receive((to, n), priority, |to, priority| unsafe {
        next_timed_receive(queue, to, n, priority, until.at().cast())
    })
}

/// # Safety
/// C contract of `mq_send`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mq_send(
    queue: mqd_t,
    from: *const c_char,
    n: size_t,
    priority: c_uint,
) -> c_int {
    let place = Place::new();
    let side = Side::new(&place, from.cast_mut().cast(), n, Way::Out);
    // SAFETY: as above.
    unsafe { next_send(queue, side.at().cast(), n, priority) }
}

/// # Safety
/// C contract of `mq_timedsend`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mq_timedsend(
    queue: mqd_t,
    from: *const c_char,
    n: size_t,
    priority: c_uint,
    until: *const timespec,
) -> c_int {
    let places = [const { Place::new() }; 2];
    let (side, until) = (
        Side::new(&places[0], from.cast_mut().cast(), n, Way::Out),
        moment(&places[1], until),
    );
    // SAFETY: as above.
    unsafe { next_timed_send(queue, side.at().cast(), n, priority, until.at().cast()) }
}
