//! System calls that read or write the program's memory besides the bytes of files: names, lists of
//! descriptors, status. See [`crate::buffers`].

use crate::buffers::{Buffers, One, Text, on_device, signal_engine, with_pages};
use crate::next;
use crate::system::for_system;
use libc::{c_char, c_int, c_uint, c_void, epoll_event, mode_t, nfds_t, off_t, pollfd};
use libc::{size_t, socklen_t, ssize_t, stat as Stat, statfs as Statfs, statx as Statx};

macro_rules! hooks {
    ($($symbol:literal $name:ident = $next:ident
       ($($arg:ident: $type:ty),*) -> $ret:ty, $buffers:expr;)+) => {$(
        next!($next: $symbol($($arg: $type),*) -> $ret);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> $ret {
            // SAFETY: passed on.
            with_pages($buffers, || unsafe { $next($($arg),*) })
        }
    )+};
}

// `open` takes its mode only when it makes a file; it is passed in a register in any case.
hooks! {
    c"open" open = next_open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int,
        Text(path);
    c"open64" open64 = next_open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int,
        Text(path);
    c"openat" openat = next_openat
        (dir: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int, Text(path);
    c"openat64" openat64 = next_openat64
        (dir: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int, Text(path);
    c"stat" stat = next_stat(path: *const c_char, to: *mut Stat) -> c_int,
        (Text(path), One(to));
    c"stat64" stat64 = next_stat64(path: *const c_char, to: *mut Stat) -> c_int,
        (Text(path), One(to));
    c"lstat" lstat = next_lstat(path: *const c_char, to: *mut Stat) -> c_int,
        (Text(path), One(to));
    c"lstat64" lstat64 = next_lstat64(path: *const c_char, to: *mut Stat) -> c_int,
        (Text(path), One(to));
    c"fstat" fstat = next_fstat(fd: c_int, to: *mut Stat) -> c_int, One(to);
    c"fstat64" fstat64 = next_fstat64(fd: c_int, to: *mut Stat) -> c_int, One(to);
    c"fstatat" fstatat = next_fstatat
        (dir: c_int, path: *const c_char, to: *mut Stat, flags: c_int) -> c_int,
        (Text(path), One(to));
    c"fstatat64" fstatat64 = next_fstatat64
        (dir: c_int, path: *const c_char, to: *mut Stat, flags: c_int) -> c_int,
        (Text(path), One(to));
    c"statx" statx = next_statx
        (dir: c_int, path: *const c_char, flags: c_int, mask: c_uint, to: *mut Statx) -> c_int,
        (Text(path), One(to));
    c"access" access = next_access(path: *const c_char, mode: c_int) -> c_int, Text(path);
    c"faccessat" faccessat = next_faccessat
        (dir: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int, Text(path);
    c"chdir" chdir = next_chdir(path: *const c_char) -> c_int, Text(path);
    c"mkdir" mkdir = next_mkdir(path: *const c_char, mode: mode_t) -> c_int, Text(path);
    c"rmdir" rmdir = next_rmdir(path: *const c_char) -> c_int, Text(path);
    c"unlink" unlink = next_unlink(path: *const c_char) -> c_int, Text(path);
    c"unlinkat" unlinkat = next_unlinkat
        (dir: c_int, path: *const c_char, flags: c_int) -> c_int, Text(path);
    c"rename" rename = next_rename(from: *const c_char, to: *const c_char) -> c_int,
        (Text(from), Text(to));
    c"readlink" readlink = next_readlink
        (path: *const c_char, to: *mut c_char, n: size_t) -> ssize_t,
        (Text(path), (to.cast::<c_void>().cast_const(), n));
    c"readlinkat" readlinkat = next_readlinkat
        (dir: c_int, path: *const c_char, to: *mut c_char, n: size_t) -> ssize_t,
        (Text(path), (to.cast::<c_void>().cast_const(), n));
    c"epoll_wait" epoll_wait = next_epoll_wait
        (fd: c_int, to: *mut epoll_event, n: c_int, timeout: c_int) -> c_int,
        (to.cast::<c_void>().cast_const(), n.max(0) as usize * size_of::<epoll_event>());
    c"epoll_ctl" epoll_ctl = next_epoll_ctl
        (fd: c_int, what: c_int, of: c_int, event: *mut epoll_event) -> c_int, One(event);
    c"chmod" chmod = next_chmod(path: *const c_char, mode: mode_t) -> c_int, Text(path);
    c"truncate" truncate = next_truncate(path: *const c_char, size: off_t) -> c_int, Text(path);
    c"truncate64" truncate64 = next_truncate64(path: *const c_char, size: off_t) -> c_int,
        Text(path);
    c"mkdirat" mkdirat = next_mkdirat
        (dir: c_int, path: *const c_char, mode: mode_t) -> c_int, Text(path);
    c"link" link = next_link(from: *const c_char, to: *const c_char) -> c_int,
        (Text(from), Text(to));
    c"symlink" symlink = next_symlink(from: *const c_char, to: *const c_char) -> c_int,
        (Text(from), Text(to));
    c"renameat" renameat = next_renameat
        (dir: c_int, from: *const c_char, into: c_int, to: *const c_char) -> c_int,
        (Text(from), Text(to));
    c"statfs" statfs = next_statfs(path: *const c_char, to: *mut Statfs) -> c_int,
        (Text(path), One(to));
    c"statfs64" statfs64 = next_statfs64(path: *const c_char, to: *mut Statfs) -> c_int,
        (Text(path), One(to));
    c"bind" bind = next_bind(fd: c_int, to: *const c_void, n: socklen_t) -> c_int,
        (to, n as size_t);
    c"connect" connect = next_connect(fd: c_int, to: *const c_void, n: socklen_t) -> c_int,
        (to, n as size_t);
    c"setsockopt" setsockopt = next_setsockopt
        (fd: c_int, level: c_int, name: c_int, value: *const c_void, n: socklen_t) -> c_int,
        (value, n as size_t);
    c"getrandom" getrandom = next_getrandom
        (to: *mut c_void, n: size_t, flags: c_uint) -> ssize_t, (to.cast_const(), n);
}

next!(next_getcwd: c"getcwd"(to: *mut c_char, n: size_t) -> *mut c_char);

/// Memory that the C library allocates for the answer is off the device.
///
/// # Safety
/// C contract of `getcwd`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getcwd(to: *mut c_char, n: size_t) -> *mut c_char {
    // SAFETY: passed on.
    let call = || unsafe { next_getcwd(to, n) };
    if to.is_null() {
        return for_system(call);
    }
    with_pages((to.cast::<c_void>().cast_const(), n), call)
}

/// Functions that make a file by a name that they write themselves. A second try would find it
/// written, so the page is there before the first.
macro_rules! makes {
    ($($symbol:literal $name:ident = $next:ident
       (name $(, $arg:ident: $type:ty)*) -> $ret:ty;)+) => {$(
        next!($next: $symbol(name: *mut c_char $(, $arg: $type)*) -> $ret);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(name: *mut c_char $(, $arg: $type)*) -> $ret {
            if let Some(engine) = signal_engine() {
                Text(name).touch(engine);
            }
            // SAFETY: passed on.
            unsafe { $next(name $(, $arg)*) }
        }
    )+};
}

makes! {
    c"mkstemp" mkstemp = next_mkstemp(name) -> c_int;
    c"mkstemp64" mkstemp64 = next_mkstemp64(name) -> c_int;
    c"mkostemp" mkostemp = next_mkostemp(name, flags: c_int) -> c_int;
    c"mkostemp64" mkostemp64 = next_mkostemp64(name, flags: c_int) -> c_int;
    c"mkstemps" mkstemps = next_mkstemps(name, behind: c_int) -> c_int;
    c"mkdtemp" mkdtemp = next_mkdtemp(name) -> *mut c_char;
}

/// Descriptors that are watched by way of the stack; more are touched and tried again.
const ON_STACK: usize = 512;

next!(next_poll: c"poll"(fds: *mut pollfd, n: nfds_t, timeout: c_int) -> c_int);

/// The kernel writes the answer after the wait, when the page may have gone again. On the stack it
/// does not, and no wait is longer than was asked for.
///
/// # Safety
/// C contract of `poll`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poll(fds: *mut pollfd, n: nfds_t, timeout: c_int) -> c_int {
    let count = n as usize;
    let placed = signal_engine().is_some_and(|engine| on_device(engine, fds as usize));
    if !placed || count > ON_STACK {
        let bytes = (
            fds.cast::<c_void>().cast_const(),
            count.saturating_mul(size_of::<pollfd>()),
        );
        // SAFETY: passed on.
        return with_pages(bytes, || unsafe { next_poll(fds, n, timeout) });
    }
    let mut copy = [pollfd {
        fd: -1,
        events: 0,
        revents: 0,
    }; ON_STACK];
    // SAFETY: the program's list, of the length it gave, which is not longer than the copy.
    unsafe {
        core::ptr::copy_nonoverlapping(fds, copy.as_mut_ptr(), count);
        let result = next_poll(copy.as_mut_ptr(), n, timeout);
        for (at, watched) in copy[..count].iter().enumerate() {
            (*fds.add(at)).revents = watched.revents;
        }
        result
    }
}

next!(next_poll_chk: c"__poll_chk"
    (fds: *mut pollfd, n: nfds_t, timeout: c_int, room: size_t) -> c_int);

/// `poll` of programs built with `_FORTIFY_SOURCE`.
///
/// # Safety
/// C contract of the function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __poll_chk(
    fds: *mut pollfd,
    n: nfds_t,
    timeout: c_int,
    room: size_t,
) -> c_int {
    // SAFETY: passed on; the C library's ends the program when the list is too small.
    unsafe {
        if n as usize > room / size_of::<pollfd>() {
            return next_poll_chk(fds, n, timeout, room);
        }
        poll(fds, n, timeout)
    }
}
