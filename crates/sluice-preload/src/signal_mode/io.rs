//! System calls that move the program's bytes: see [`crate::bytes`].

use crate::bytes::bounce::{Rest, Side, Way, message, message_of, vector, whole};
use crate::bytes::buffers::{are_readable, signal_engine};
use crate::bytes::piece::Place;
use crate::bytes::rest::{Taken, out, read_on, receive_on, received, send_on, write_on};
use crate::next;
use crate::signal_mode::waits::told;
use libc::{c_int, c_uint, c_void, iovec, msghdr, off_t};
use libc::{size_t, sockaddr, socklen_t, ssize_t};

/// Whether a buffer ends where no memory of a program can be.
fn is_beyond_all(at: usize, bytes: usize) -> bool {
    /// Larger than any address of the device, and no smaller than the kernel's bound.
    const BOUND: usize = if cfg!(target_arch = "x86_64") {
        1 << 56
    } else {
        1 << 52
    };
    at.saturating_add(bytes) > BOUND
}

/// Functions that move bytes: where the buffer is, what follows its length, which way bytes go, and
/// what becomes of what is too long for one call. `$parts` does the same for several pieces, and
/// `$placed` at a given place of a file.
macro_rules! moves {
    ($($name:ident as $next:ident $symbol:literal
       ($buf:ty $(, $at:ident: $type:ty)? $(; $flags:ident)?), $parts:ident, $way:ident,
       $rest:ident $(, $placed:ident)?;)+) => {$(
        next!($next: $symbol(
            fd: c_int, buf: $buf, n: size_t $(, $at: $type)? $(, $flags: c_int)?
        ) -> ssize_t);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            fd: c_int, buf: $buf, n: size_t $(, $at: $type)? $(, $flags: c_int)?
        ) -> ssize_t {
            // Sockets are given less where that is too much, and files refuse it.
            let is_cut = false $(|| { let _ = $flags; true })?;
            if !is_cut && is_beyond_all(buf as usize, n) {
                // SAFETY: passed on.
                return unsafe { $next(fd, buf, n $(, $at)? $(, $flags)?) };
            }
            let (from, way) = ((buf.cast_const(), n), $way(fd, 0 $(| $flags)?));
            $(if let Some(taken) = Taken::of(fd, n, way) {
                // SAFETY: passed on.
                let result = unsafe { $placed(fd, buf, n, taken.at) };
                return taken.moved(result);
            })?
            whole(from, way, || $rest(fd, 0 $(| $flags)?), |pieces, _done| {
                $(let $at = $at + _done as $type;)?
                // SAFETY: passed on, from where the call before stopped.
                unsafe {
                    match pieces {
                        [one] => $next(fd, one.iov_base, one.iov_len $(, $at)? $(, $flags)?),
                        _ => $parts(
                            fd, pieces.as_ptr(), pieces.len() as c_int $(, $at)? $(, $flags)?
                        ),
                    }
                }
            })
        }
    )+};
}

/// Sends pieces of a buffer together.
///
/// # Safety
/// As many pieces.
unsafe fn send_parts(fd: c_int, parts: *const iovec, n: c_int, flags: c_int) -> ssize_t {
    // SAFETY: plain data, for which zeros are valid; passed on.
    unsafe {
        let pieces = core::slice::from_raw_parts(parts, n as usize);
        next_sendmsg(fd, &message_of(core::mem::zeroed(), pieces), flags)
    }
}

/// Receives into pieces of a buffer together.
///
/// # Safety
/// As many pieces.
unsafe fn recv_parts(fd: c_int, parts: *const iovec, n: c_int, flags: c_int) -> ssize_t {
    // SAFETY: as above.
    unsafe {
        let pieces = core::slice::from_raw_parts(parts, n as usize);
        next_recvmsg(fd, &mut message_of(core::mem::zeroed(), pieces), flags)
    }
}

moves! {
    read as next_read c"read" (*mut c_void), next_readv, received, read_on, pread64;
    write as next_write c"write" (*mut c_void), next_writev, out, write_on, pwrite64;
    pread as next_pread c"pread" (*mut c_void, from: off_t), next_preadv, received, read_on;
    pwrite as next_pwrite c"pwrite" (*mut c_void, from: off_t), next_pwritev, out, write_on;
    pread64 as next_pread64 c"pread64" (*mut c_void, from: off_t), next_preadv64, received, read_on;
    pwrite64 as next_pwrite64 c"pwrite64" (*mut c_void, from: off_t), next_pwritev64, out, write_on;
    send as next_send c"send" (*mut c_void; flags), send_parts, out, send_on;
    recv as next_recv c"recv" (*mut c_void; flags), recv_parts, received, receive_on;
}

macro_rules! vectors {
    ($($name:ident as $next:ident $symbol:literal
       ($($at:ident: $type:ty)? $(; $flags:ident)?), $way:ident, $rest:ident
       $(, $placed:ident)?;)+) => {$(
        next!($next: $symbol(
            fd: c_int, parts: *const iovec, n: c_int $(, $at: $type)? $(, $flags: c_int)?
        ) -> ssize_t);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            fd: c_int, parts: *const iovec, n: c_int $(, $at: $type)? $(, $flags: c_int)?
        ) -> ssize_t {
            $(if let Some(taken) = Taken::of(fd, bytes_of(parts, n), Way::$way) {
                // SAFETY: passed on.
                let result = unsafe { $placed(fd, parts, n, taken.at) };
                return taken.moved(result);
            })?
            // SAFETY: passed on.
            let plain = || unsafe { $next(fd, parts, n $(, $at)? $(, $flags)?) };
            let rest = || $rest(fd, 0 $(| $flags)?);
            vector((parts, n), Way::$way, rest, plain, |pieces, _done| {
                $(let $at = moved_on($at, _done);)?
                let (parts, n) = (pieces.as_ptr(), pieces.len() as c_int);
                // SAFETY: passed on, from where the call before stopped.
                unsafe { $next(fd, parts, n $(, $at)? $(, $flags)?) }
            })
        }
    )+};
}

/// The bytes of a vector, in signal mode; 0 of one that the kernel refuses.
fn bytes_of(parts: *const iovec, n: c_int) -> size_t {
    let count = n.clamp(0, libc::UIO_MAXIOV) as usize;
    let is_known = |engine| are_readable(engine, parts.cast(), count * size_of::<iovec>());
    if count == 0 || count != n as usize || !signal_engine().is_some_and(is_known) {
        return 0;
    }
    // SAFETY: the program's vector, of the length that it gave, which can be read.
    let parts = unsafe { core::slice::from_raw_parts(parts, count) };
    let lengths = parts.iter().map(|part| part.iov_len);
    lengths.fold(0, usize::saturating_add)
}

/// A place in a file behind so many bytes; -1 is the current place, which moves by itself.
fn moved_on(at: off_t, done: size_t) -> off_t {
    if at == -1 { at } else { at + done as off_t }
}

vectors! {
    readv as next_readv c"readv" (), In, read_on, preadv64;
    writev as next_writev c"writev" (), Out, write_on, pwritev64;
    preadv as next_preadv c"preadv" (from: off_t), In, read_on;
    pwritev as next_pwritev c"pwritev" (from: off_t), Out, write_on;
    preadv64 as next_preadv64 c"preadv64" (from: off_t), In, read_on;
    pwritev64 as next_pwritev64 c"pwritev64" (from: off_t), Out, write_on;
    preadv2 as next_preadv2 c"preadv2" (from: off_t; flags), In, read_on;
    pwritev2 as next_pwritev2 c"pwritev2" (from: off_t; flags), Out, write_on;
    preadv64v2 as next_preadv64v2 c"preadv64v2" (from: off_t; flags), In, read_on;
    pwritev64v2 as next_pwritev64v2 c"pwritev64v2" (from: off_t; flags), Out, write_on;
}

next!(next_recvmsg: c"recvmsg"(fd: c_int, given: *mut msghdr, flags: c_int) -> ssize_t);
next!(next_sendmsg: c"sendmsg"(fd: c_int, given: *const msghdr, flags: c_int) -> ssize_t);

/// # Safety
/// C contract of `recvmsg`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn recvmsg(fd: c_int, given: *mut msghdr, flags: c_int) -> ssize_t {
    let from = given.cast_const();
    // SAFETY: passed on.
    let call = |own: *const msghdr| unsafe { next_recvmsg(fd, own.cast_mut(), flags) };
    let rest = || receive_on(fd, flags);
    message(from, received(fd, flags), rest, || call(from), call)
}

/// # Safety
/// C contract of `sendmsg`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sendmsg(fd: c_int, given: *const msghdr, flags: c_int) -> ssize_t {
    // SAFETY: passed on.
    let call = |own: *const msghdr| unsafe { next_sendmsg(fd, own, flags) };
    message(
        given,
        out(fd, flags),
        || send_on(fd, flags),
        || call(given),
        call,
    )
}

next!(next_recvfrom: c"recvfrom"(fd: c_int, buf: *mut c_void, n: size_t, flags: c_int,
    from: *mut sockaddr, len: *mut socklen_t) -> ssize_t);
next!(next_sendto: c"sendto"(fd: c_int, buf: *const c_void, n: size_t, flags: c_int,
    to: *const sockaddr, len: socklen_t) -> ssize_t);

/// # Safety
/// C contract of `recvfrom`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn recvfrom(
    fd: c_int,
    buf: *mut c_void,
    n: size_t,
    flags: c_int,
    from: *mut sockaddr,
    len: *mut socklen_t,
) -> ssize_t {
    let call = |from, len| {
        let whole_buffer = (buf.cast_const(), n);
        whole(
            whole_buffer,
            received(fd, flags),
            || receive_on(fd, flags),
            |pieces, _| {
                let [one] = pieces else {
                    return recv_from_into(fd, pieces, flags, from, len);
                };
                // SAFETY: passed on.
                unsafe { next_recvfrom(fd, one.iov_base, one.iov_len, flags, from, len) }
            },
        )
    };
    // SAFETY: passed on.
    unsafe { told(from, len, call) }
}

/// Receives into pieces of a buffer, and says from where.
fn recv_from_into(
    fd: c_int,
    pieces: &[iovec],
    flags: c_int,
    from: *mut sockaddr,
    len: *mut socklen_t,
) -> ssize_t {
    // SAFETY: plain data, for which zeros are valid; the program's length, if there is one.
    unsafe {
        let mut own: msghdr = message_of(core::mem::zeroed(), pieces);
        if !from.is_null() && !len.is_null() {
            (own.msg_name, own.msg_namelen) = (from.cast(), *len);
        }
        let received = next_recvmsg(fd, &mut own, flags);
        if received >= 0 && !own.msg_name.is_null() {
            *len = own.msg_namelen;
        }
        received
    }
}

/// # Safety
/// C contract of `sendto`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sendto(
    fd: c_int,
    buf: *const c_void,
    n: size_t,
    flags: c_int,
    to: *const sockaddr,
    len: socklen_t,
) -> ssize_t {
    let place = Place::new();
    let address = Side::new(&place, to.cast_mut().cast(), len as size_t, Way::Out);
    whole(
        (buf, n),
        out(fd, flags),
        || send_on(fd, flags),
        |pieces, _| {
            // SAFETY: passed on; plain data, for which zeros are valid.
            unsafe {
                let [one] = pieces else {
                    let mut own: msghdr = message_of(core::mem::zeroed(), pieces);
                    (own.msg_name, own.msg_namelen) = (address.at(), len);
                    return next_sendmsg(fd, &own, flags);
                };
                let to = address.at().cast_const().cast();
                next_sendto(fd, one.iov_base, one.iov_len, flags, to, len)
            }
        },
    )
}

next!(next_vmsplice: c"vmsplice"
    (fd: c_int, parts: *const iovec, n: size_t, flags: c_uint) -> ssize_t);

/// Whether a descriptor is the end of a pipe into which bytes go, or from which they come.
fn way_of_pipe(fd: c_int) -> Option<Way> {
    // SAFETY: plain data, for which zeros are valid, as the output.
    let (is_pipe, flags) = unsafe {
        let mut stat: libc::stat = core::mem::zeroed();
        let is_pipe =
            libc::fstat(fd, &mut stat) == 0 && stat.st_mode & libc::S_IFMT == libc::S_IFIFO;
        (is_pipe, libc::fcntl(fd, libc::F_GETFL))
    };
    match flags & libc::O_ACCMODE {
        _ if !is_pipe || flags == -1 => None,
        libc::O_RDONLY => Some(Way::In),
        _ => Some(Way::Out),
    }
}

/// Pages of the device are copied to the pipe: by the time that they are read they may have left.
///
/// # Safety
/// C contract of `vmsplice`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn vmsplice(
    fd: c_int,
    parts: *const iovec,
    n: size_t,
    flags: c_uint,
) -> ssize_t {
    // SAFETY: passed on.
    let plain = || unsafe { next_vmsplice(fd, parts, n, flags) };
    let count = c_int::try_from(n).unwrap_or(c_int::MAX);
    let way = signal_engine().and_then(|_| way_of_pipe(fd));
    let how = match flags & libc::SPLICE_F_NONBLOCK {
        0 => 0,
        _ => libc::RWF_NOWAIT,
    };
    let Some(way) = way else { return plain() };
    vector(
        (parts, count),
        way,
        || match how == 0 && way == Way::Out {
            true => Rest::Follows,
            false => Rest::Stays,
        },
        plain,
        |pieces, _| {
            let (parts, n) = (pieces.as_ptr(), pieces.len() as c_int);
            // SAFETY: pieces of the program's vector, or of memory of ours.
            unsafe {
                match way {
                    Way::In => next_preadv2(fd, parts, n, -1, how),
                    _ => next_pwritev2(fd, parts, n, -1, how),
                }
            }
        },
    )
}

/// The functions that programs built with `_FORTIFY_SOURCE` call in place of these: the C library's
/// end the program when the buffer is too small.
macro_rules! checked {
    ($($name:ident as $next:ident $symbol:literal
       ($($arg:ident: $type:ty),*) = $plain:ident($($given:ident),*),
       $n:ident > $room:ident;)+) => {$(
        next!($next: $symbol($($arg: $type),*) -> ssize_t);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> ssize_t {
            // SAFETY: passed on.
            unsafe {
                if $n > $room {
                    return $next($($arg),*);
                }
                $plain($($given),*)
            }
        }
    )+};
}

checked! {
    __read_chk as next_read_chk c"__read_chk"
        (fd: c_int, buf: *mut c_void, n: size_t, room: size_t) = read(fd, buf, n), n > room;
    __pread_chk as next_pread_chk c"__pread_chk"
        (fd: c_int, buf: *mut c_void, n: size_t, at: off_t, room: size_t)
        = pread(fd, buf, n, at), n > room;
    __pread64_chk as next_pread64_chk c"__pread64_chk"
        (fd: c_int, buf: *mut c_void, n: size_t, at: off_t, room: size_t)
        = pread64(fd, buf, n, at), n > room;
    __recv_chk as next_recv_chk c"__recv_chk"
        (fd: c_int, buf: *mut c_void, n: size_t, room: size_t, flags: c_int)
        = recv(fd, buf, n, flags), n > room;
    __recvfrom_chk as next_recvfrom_chk c"__recvfrom_chk"
        (fd: c_int, buf: *mut c_void, n: size_t, room: size_t, flags: c_int,
         from: *mut sockaddr, len: *mut socklen_t)
        = recvfrom(fd, buf, n, flags, from, len), n > room;
}
