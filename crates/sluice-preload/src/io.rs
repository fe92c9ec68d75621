//! System calls that move the program's bytes: see [`crate::buffers`].

use crate::buffers::{is_missing, on_device, signal_engine, with_pages};
use crate::next;
use libc::{c_int, c_ulong, c_void, iovec, msghdr, off_t, pid_t};
use libc::{size_t, sockaddr, socklen_t, ssize_t};
use sluice_region::PAGE;

/// Moves bytes from or to a buffer until the kernel stops for another reason than a missing page.
///
/// The kernel moves what is before such a page and says so. Without the device it would have gone
/// on, and programs rely on that: a file is read to its end or the buffer's, and a write to a
/// descriptor that blocks is whole.
fn whole(
    fd: c_int,
    (buf, n): (*const c_void, size_t),
    goes_on: fn(c_int) -> bool,
    call: impl Fn(*const c_void, size_t) -> ssize_t,
) -> ssize_t {
    let mut done = with_pages((buf, n), || call(buf, n));
    while done > 0 && (done as size_t) < n {
        let (at, left) = (buf.wrapping_byte_add(done as usize), n - done as size_t);
        if !stopped_at_missing_page(at as usize, left) || !goes_on(fd) {
            break;
        }
        match with_pages((at, left), || call(at, left)) {
            more if more > 0 => done += more,
            _ => break,
        }
    }
    done
}

/// Whether a short read is the end of the file.
fn is_file(fd: c_int) -> bool {
    // SAFETY: plain data, for which zeros are valid, as the output.
    unsafe {
        let mut stat: libc::stat = core::mem::zeroed();
        libc::fstat(fd, &mut stat) == 0 && stat.st_mode & libc::S_IFMT == libc::S_IFREG
    }
}

fn is_own(pid: pid_t) -> bool {
    // SAFETY: no arguments.
    pid == unsafe { libc::getpid() }
}

/// Whether a write waits until all is written.
fn blocks(fd: c_int) -> bool {
    // SAFETY: asks only.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    flags != -1 && flags & libc::O_NONBLOCK == 0
}

/// Functions that move bytes: where the buffer is, what follows its length, and when a short count
/// is not the end.
macro_rules! moves {
    ($($name:ident as $next:ident $symbol:literal
       ($buf:ty $(, $at:ident: $type:ty)?), $goes_on:ident;)+) => {$(
        next!($next: $symbol(fd: c_int, buf: $buf, n: size_t $(, $at: $type)?) -> ssize_t);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            fd: c_int, buf: $buf, n: size_t $(, $at: $type)?
        ) -> ssize_t {
            let from = buf.cast_const();
            whole(fd, (from, n), $goes_on, |at, left| {
                $(let $at = $at + at.addr().wrapping_sub(buf.addr()) as $type;)?
                // SAFETY: passed on, from where the call before stopped.
                unsafe { $next(fd, at.cast_mut(), left $(, $at)?) }
            })
        }
    )+};
}

moves! {
    read as next_read c"read" (*mut c_void), is_file;
    write as next_write c"write" (*mut c_void), blocks;
    pread as next_pread c"pread" (*mut c_void, from: off_t), is_file;
    pwrite as next_pwrite c"pwrite" (*mut c_void, from: off_t), blocks;
    pread64 as next_pread64 c"pread64" (*mut c_void, from: off_t), is_file;
    pwrite64 as next_pwrite64 c"pwrite64" (*mut c_void, from: off_t), blocks;
}

macro_rules! hooks {
    ($($name:ident as $next:ident $symbol:literal
       ($($arg:ident: $type:ty),*), $buffers:expr;)+) => {$(
        next!($next: $symbol($($arg: $type),*) -> ssize_t);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> ssize_t {
            // SAFETY: passed on.
            with_pages($buffers, || unsafe { $next($($arg),*) })
        }
    )+};
}

/// Parts of a vector that are tried at once behind a missing page.
const PARTS: usize = 64;
/// Parts that may begin within what a call moves at once.
const AHEAD: usize = 9;

/// Whether a page is missing where a call stopped, or soon behind: a pipe takes whole pages of its
/// own, and a socket pieces of up to 32 KiB, which end before the missing one.
fn stopped_at_missing_page(at: usize, left: size_t) -> bool {
    const AHEAD: usize = 9;
    let Some(engine) = signal_engine() else {
        return false;
    };
    let mut pages = (at & !(PAGE - 1)..at + left).step_by(PAGE).take(AHEAD);
    pages.any(|page| on_device(engine, page) && is_missing(page))
}

/// Moves the parts of a vector until the kernel stops for another reason than a missing page: see
/// [`whole`].
fn whole_vector(
    fd: c_int,
    (parts, n): (*const iovec, c_int),
    goes_on: fn(c_int) -> bool,
    call: impl Fn(*const iovec, c_int, size_t) -> ssize_t,
) -> ssize_t {
    let mut done = with_pages((parts, n), || call(parts, n, 0));
    if done <= 0 || signal_engine().is_none() {
        return done;
    }
    // SAFETY: the program's vector, which the kernel has just taken.
    let parts = unsafe { core::slice::from_raw_parts(parts, n as usize) };
    loop {
        let mut rest = [iovec {
            iov_base: core::ptr::null_mut(),
            iov_len: 0,
        }; PARTS];
        let count = behind(parts, done as size_t, &mut rest);
        let parts_left = rest[..count].iter();
        let is_at_missing_page = parts_left
            .take(AHEAD)
            .any(|part| stopped_at_missing_page(part.iov_base as usize, part.iov_len));
        if !is_at_missing_page || !goes_on(fd) {
            return done;
        }
        let (rest, count) = (rest.as_ptr(), count as c_int);
        match with_pages((rest, count), || call(rest, count, done as size_t)) {
            more if more > 0 => done += more,
            _ => return done,
        }
    }
}

/// What is left of a vector behind so many bytes, as far as there is room. Returns how many parts.
fn behind(parts: &[iovec], mut done: size_t, rest: &mut [iovec; PARTS]) -> usize {
    let mut count = 0;
    for part in parts {
        let skipped = done.min(part.iov_len);
        done -= skipped;
        if skipped < part.iov_len && count < PARTS {
            rest[count] = iovec {
                iov_base: part.iov_base.wrapping_byte_add(skipped),
                iov_len: part.iov_len - skipped,
            };
            count += 1;
        }
    }
    count
}

macro_rules! vectors {
    ($($name:ident as $next:ident $symbol:literal
       ($($at:ident: $type:ty)? $(; $flags:ident)?), $goes_on:ident;)+) => {$(
        next!($next: $symbol(
            fd: c_int, parts: *const iovec, n: c_int $(, $at: $type)? $(, $flags: c_int)?
        ) -> ssize_t);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            fd: c_int, parts: *const iovec, n: c_int $(, $at: $type)? $(, $flags: c_int)?
        ) -> ssize_t {
            whole_vector(fd, (parts, n), $goes_on, |parts, n, _done| {
                $(let $at = moved_on($at, _done);)?
                // SAFETY: passed on, from where the call before stopped.
                unsafe { $next(fd, parts, n $(, $at)? $(, $flags)?) }
            })
        }
    )+};
}

/// A place in a file behind so many bytes; -1 is the current place, which moves by itself.
fn moved_on(at: off_t, done: size_t) -> off_t {
    if at == -1 { at } else { at + done as off_t }
}

vectors! {
    readv as next_readv c"readv" (), is_file;
    writev as next_writev c"writev" (), blocks;
    preadv as next_preadv c"preadv" (from: off_t), is_file;
    pwritev as next_pwritev c"pwritev" (from: off_t), blocks;
    preadv64 as next_preadv64 c"preadv64" (from: off_t), is_file;
    pwritev64 as next_pwritev64 c"pwritev64" (from: off_t), blocks;
    preadv2 as next_preadv2 c"preadv2" (from: off_t; flags), is_file;
    pwritev2 as next_pwritev2 c"pwritev2" (from: off_t; flags), blocks;
    preadv64v2 as next_preadv64v2 c"preadv64v2" (from: off_t; flags), is_file;
    pwritev64v2 as next_pwritev64v2 c"pwritev64v2" (from: off_t; flags), blocks;
}

next!(next_send: c"send"
    (fd: c_int, buf: *const c_void, n: size_t, flags: c_int) -> ssize_t);
next!(next_recv: c"recv"
    (fd: c_int, buf: *mut c_void, n: size_t, flags: c_int) -> ssize_t);

/// # Safety
/// C contract of `send`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn send(fd: c_int, buf: *const c_void, n: size_t, flags: c_int) -> ssize_t {
    let goes_on = match flags & libc::MSG_DONTWAIT {
        0 => blocks,
        _ => |_| false,
    };
    // SAFETY: passed on, from where the call before stopped.
    whole(fd, (buf, n), goes_on, |at, left| unsafe {
        next_send(fd, at, left, flags)
    })
}

/// # Safety
/// C contract of `recv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recv(fd: c_int, buf: *mut c_void, n: size_t, flags: c_int) -> ssize_t {
    let goes_on = match flags & libc::MSG_WAITALL {
        0 => |_| false,
        _ => blocks,
    };
    // SAFETY: passed on, from where the call before stopped.
    whole(fd, (buf, n), goes_on, |at, left| unsafe {
        next_recv(fd, at.cast_mut(), left, flags)
    })
}

hooks! {
    process_vm_readv as next_process_read c"process_vm_readv"
        (pid: pid_t, own: *const iovec, n: c_ulong, other: *const iovec, m: c_ulong,
         flags: c_ulong),
        ((own, n as c_int), (other, if is_own(pid) { m as c_int } else { 0 }));
    process_vm_writev as next_process_write c"process_vm_writev"
        (pid: pid_t, own: *const iovec, n: c_ulong, other: *const iovec, m: c_ulong,
         flags: c_ulong),
        ((own, n as c_int), (other, if is_own(pid) { m as c_int } else { 0 }));
    recvfrom as next_recvfrom c"recvfrom"
        (fd: c_int, buf: *mut c_void, n: size_t, flags: c_int, from: *mut sockaddr,
         len: *mut socklen_t), (buf.cast_const(), n);
    sendto as next_sendto c"sendto"
        (fd: c_int, buf: *const c_void, n: size_t, flags: c_int, to: *const sockaddr,
         len: socklen_t), (buf, n);
    recvmsg as next_recvmsg c"recvmsg"
        (fd: c_int, message: *mut msghdr, flags: c_int), message.cast_const();
    sendmsg as next_sendmsg c"sendmsg"
        (fd: c_int, message: *const msghdr, flags: c_int), message;
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
        pub unsafe extern "C" fn $name($($arg: $type),*) -> ssize_t {
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
