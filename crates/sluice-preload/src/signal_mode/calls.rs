//! System calls that read or write the program's memory besides the bytes of files: names, lists of
//! descriptors. See [`crate::bytes::buffers`].

use crate::allocator::system::for_system;
use crate::bytes::bounce::{Rest, Side, Way, whole};
use crate::bytes::buffers::{One, Room, Text, are_readable, bring, is_readable};
use crate::bytes::buffers::{signal_engine, with_pages};
use crate::bytes::named::Record;
use crate::bytes::piece::Place;
use crate::device::engine;
use crate::next;
use crate::signals::altstack::keep_off_device;
use crate::threads::affinity;
use crate::tried_again;
use libc::xdp_umem_reg_v1;
use libc::{c_char, c_int, c_uint, c_void, epoll_event, flock, gid_t, iovec, itimerspec, mode_t};
use libc::{off_t, rusage, sigset_t, size_t, sockaddr};
use libc::{socklen_t, ssize_t, statfs as Statfs, sysinfo as Sysinfo, timer_t, timespec, utsname};
use sluice_runtime::Engine;

/// Calls that open a file by its name.
macro_rules! opens {
    ($($symbol:literal $name:ident = $next:ident
       ($($arg:ident: $type:ty),*), $path:ident;)+) => {$(
        next!($next: $symbol($($arg: $type),*) -> c_int);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> c_int {
            // SAFETY: passed on.
            let opened = with_pages(Text($path), || unsafe { $next($($arg),*) });
            if opened >= 0 {
                affinity::opened($path);
            }
            opened
        }
    )+};
}

// `open` takes its mode only when it makes a file; it is passed in a register in any case.
opens! {
    c"open" open = next_open(path: *const c_char, flags: c_int, mode: mode_t), path;
    c"open64" open64 = next_open64(path: *const c_char, flags: c_int, mode: mode_t), path;
    c"openat" openat = next_openat
        (dir: c_int, path: *const c_char, flags: c_int, mode: mode_t), path;
    c"openat64" openat64 = next_openat64
        (dir: c_int, path: *const c_char, flags: c_int, mode: mode_t), path;
    c"__open_2" __open_2 = next_open_2(path: *const c_char, flags: c_int), path;
    c"__open64_2" __open64_2 = next_open64_2(path: *const c_char, flags: c_int), path;
    c"__openat_2" __openat_2 = next_openat_2
        (dir: c_int, path: *const c_char, flags: c_int), path;
    c"__openat64_2" __openat64_2 = next_openat64_2
        (dir: c_int, path: *const c_char, flags: c_int), path;
}

tried_again! {
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
    c"__readlink_chk" __readlink_chk = next_readlink_chk
        (path: *const c_char, to: *mut c_char, n: size_t, room: size_t) -> ssize_t,
        (Text(path), (to.cast::<c_void>().cast_const(), n));
    c"__readlinkat_chk" __readlinkat_chk = next_readlinkat_chk
        (dir: c_int, path: *const c_char, to: *mut c_char, n: size_t, room: size_t) -> ssize_t,
        (Text(path), (to.cast::<c_void>().cast_const(), n));
    c"__getcwd_chk" __getcwd_chk = next_getcwd_chk
        (to: *mut c_char, n: size_t, room: size_t) -> *mut c_char,
        (to.cast::<c_void>().cast_const(), n);
    c"__getwd_chk" __getwd_chk = next_getwd_chk
        (to: *mut c_char, room: size_t) -> *mut c_char,
        (to.cast::<c_void>().cast_const(), room);
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
    c"getsockname" getsockname = next_getsockname
        (fd: c_int, to: *mut sockaddr, n: *mut socklen_t) -> c_int, Room(to.cast(), n);
    c"getpeername" getpeername = next_getpeername
        (fd: c_int, to: *mut sockaddr, n: *mut socklen_t) -> c_int, Room(to.cast(), n);
    c"socketpair" socketpair = next_socketpair
        (domain: c_int, kind: c_int, protocol: c_int, to: *mut c_int) -> c_int,
        One(to.cast::<[c_int; 2]>());
    c"pipe" pipe = next_pipe(to: *mut c_int) -> c_int, One(to.cast::<[c_int; 2]>());
    c"pipe2" pipe2 = next_pipe2(to: *mut c_int, flags: c_int) -> c_int,
        One(to.cast::<[c_int; 2]>());
    c"getrusage" getrusage = next_getrusage(who: c_int, to: *mut rusage) -> c_int, One(to);
    c"uname" uname = next_uname(to: *mut utsname) -> c_int, One(to);
    c"utimensat" utimensat = next_utimensat
        (dir: c_int, path: *const c_char, times: *const timespec, flags: c_int) -> c_int,
        (Text(path), One(times.cast::<[timespec; 2]>()));
    c"futimens" futimens = next_futimens(fd: c_int, times: *const timespec) -> c_int,
        One(times.cast::<[timespec; 2]>());
    c"getdents64" getdents64 = next_getdents64
        (fd: c_int, to: *mut c_void, n: size_t) -> ssize_t, (to.cast_const(), n);
    c"signalfd" signalfd = next_signalfd
        (fd: c_int, set: *const sigset_t, flags: c_int) -> c_int, One(set.cast::<u64>());
    c"getgroups" getgroups = next_getgroups(n: c_int, to: *mut gid_t) -> c_int,
        (to.cast::<c_void>().cast_const(), n.max(0) as usize * size_of::<gid_t>());
    c"sysinfo" sysinfo = next_sysinfo(to: *mut Sysinfo) -> c_int, One(to);
    c"timer_gettime" timer_gettime = next_timer_gettime
        (timer: timer_t, to: *mut itimerspec) -> c_int, One(to);
    c"fcntl" fcntl = next_fcntl(fd: c_int, what: c_int, of: *mut c_void) -> c_int,
        One(of.cast::<flock>());
    c"fcntl64" fcntl64 = next_fcntl64(fd: c_int, what: c_int, of: *mut c_void) -> c_int,
        One(of.cast::<flock>());
}

next!(next_setsockopt: c"setsockopt"
    (fd: c_int, level: c_int, name: c_int, value: *const c_void, n: socklen_t) -> c_int);

/// The kernel takes the memory for the frames of such a socket for good, and only what is there
/// without a wait: it leaves the device.
fn lend_frames(level: c_int, name: c_int, value: *const c_void, bytes: size_t) {
    if (level, name) != (libc::SOL_XDP, libc::XDP_UMEM_REG) {
        return;
    }
    let is_whole = |engine: &&Engine| {
        let least = size_of::<xdp_umem_reg_v1>();
        bytes >= least && are_readable(engine, value, least)
    };
    if let Some(engine) = engine().filter(is_whole) {
        // SAFETY: readable, and long enough.
        let frames = unsafe { value.cast::<xdp_umem_reg_v1>().read_unaligned() };
        keep_off_device(engine, frames.addr as usize, frames.len as usize);
    }
}

/// Some kinds of sockets have other errors than `EFAULT` for a value that is missing. What it names
/// besides is brought where that is an error.
///
/// # Safety
/// C contract of `setsockopt`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn setsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    n: socklen_t,
) -> c_int {
    let (place, bytes) = (Place::new(), n as size_t);
    lend_frames(level, name, value, bytes);
    let side = Side::new(&place, value.cast_mut(), bytes, Way::Out);
    with_pages(Record::new(value, bytes), || {
        // SAFETY: passed on, or memory of ours that is as long.
        unsafe { next_setsockopt(fd, level, name, side.at(), n) }
    })
}

next!(next_getcwd: c"getcwd"(to: *mut c_char, n: size_t) -> *mut c_char);

/// Memory that the C library allocates for the answer is off the device.
///
/// # Safety
/// C contract of `getcwd`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn getcwd(to: *mut c_char, n: size_t) -> *mut c_char {
    // SAFETY: passed on.
    let call = || unsafe { next_getcwd(to, n) };
    if to.is_null() {
        return for_system(call);
    }
    with_pages((to.cast::<c_void>().cast_const(), n), call)
}

next!(next_getrandom: c"getrandom"(to: *mut c_void, n: size_t, flags: c_uint) -> ssize_t);
next!(next_getentropy: c"getentropy"(to: *mut c_void, n: size_t) -> c_int);

/// The kernel stops in front of a missing page, and says how far it came, which programs do not
/// expect of so few bytes.
///
/// # Safety
/// C contract of `getrandom`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn getrandom(to: *mut c_void, n: size_t, flags: c_uint) -> ssize_t {
    let fill = |pieces: &[iovec], _| {
        let mut filled = 0;
        for piece in pieces {
            // SAFETY: passed on.
            let here = unsafe { next_getrandom(piece.iov_base, piece.iov_len, flags) };
            match here {
                ..0 if filled == 0 => return here,
                ..0 => break,
                _ => filled += here,
            }
            if here.unsigned_abs() < piece.iov_len {
                break;
            }
        }
        filled
    };
    whole((to.cast_const(), n), Way::In, || Rest::Follows, fill)
}

/// # Safety
/// C contract of `getentropy`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn getentropy(to: *mut c_void, n: size_t) -> c_int {
    let place = Place::new();
    let side = Side::new(&place, to, n, Way::In);
    // SAFETY: passed on, or memory of ours that is as long.
    let result = unsafe { next_getentropy(side.at(), n) };
    if result == 0 {
        side.give(n);
    }
    result
}

next!(next_arc4random_buf: c"arc4random_buf"(to: *mut c_void, n: size_t) -> ());

/// The C library ends the program if the kernel cannot write here. So the kernel writes to the
/// stack, in signal mode.
///
/// # Safety
/// C contract of `arc4random_buf`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn arc4random_buf(to: *mut c_void, n: size_t) {
    if signal_engine().is_none() {
        // SAFETY: passed on.
        return unsafe { next_arc4random_buf(to, n) };
    }
    let mut part = [0u8; 256];
    let mut done = 0;
    while done < n {
        let len = part.len().min(n - done);
        // SAFETY: room for so many bytes, here and there.
        unsafe {
            next_arc4random_buf(part.as_mut_ptr().cast(), len);
            let to = to.cast::<u8>().add(done);
            core::ptr::copy_nonoverlapping(part.as_ptr(), to, len);
        }
        done += len;
    }
}

/// Functions of which a second try would not do the same, or that hide that the first has failed:
/// the page is there before it.
macro_rules! brought {
    ($($symbol:literal $name:ident = $next:ident
       ($($arg:ident: $type:ty),*) -> $ret:ty, $path:ident;)+) => {$(
        next!($next: $symbol($($arg: $type),*) -> $ret);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> $ret {
            bring(&Text($path));
            // SAFETY: passed on.
            unsafe { $next($($arg),*) }
        }
    )+};
}

// Most make a file by a name that they write themselves.
brought! {
    c"mkstemp" mkstemp = next_mkstemp(name: *mut c_char) -> c_int, name;
    c"mkstemp64" mkstemp64 = next_mkstemp64(name: *mut c_char) -> c_int, name;
    c"mkostemp" mkostemp = next_mkostemp(name: *mut c_char, flags: c_int) -> c_int, name;
    c"mkostemp64" mkostemp64 = next_mkostemp64(name: *mut c_char, flags: c_int) -> c_int, name;
    c"mkostemps" mkostemps = next_mkostemps
        (name: *mut c_char, behind: c_int, flags: c_int) -> c_int, name;
    c"mkstemps" mkstemps = next_mkstemps(name: *mut c_char, behind: c_int) -> c_int, name;
    c"mkdtemp" mkdtemp = next_mkdtemp(name: *mut c_char) -> *mut c_char, name;
    c"mktemp" mktemp = next_mktemp(name: *mut c_char) -> *mut c_char, name;
    c"tempnam" tempnam = next_tempnam
        (folder: *const c_char, begin: *const c_char) -> *mut c_char, folder;
}

/// Such functions that only read the name: they read a copy, which no other thread has leave.
macro_rules! by_copy {
    ($($symbol:literal $name:ident = $next:ident
       ($($arg:ident: $type:ty),*) -> $ret:ty, $path:ident;)+) => {$(
        next!($next: $symbol($($arg: $type),*) -> $ret);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> $ret {
            let place = Place::new();
            let is_known = |engine: &_| is_readable(engine, $path as usize);
            let mut bytes = 0;
            if signal_engine().is_some_and(is_known) {
                // SAFETY: the program's string.
                bytes = 1 + unsafe { libc::strlen($path) };
            }
            let side = Side::new(&place, $path.cast_mut().cast(), bytes, Way::Out);
            let $path = side.at().cast_const().cast();
            // SAFETY: passed on, or memory of ours with the same in it.
            unsafe { $next($($arg),*) }
        }
    )+};
}

by_copy! {
    c"scandir" scandir = next_scandir
        (path: *const c_char, found: *mut c_void, is_wanted: *const c_void,
         order: *const c_void) -> c_int, path;
    c"scandirat" scandirat = next_scandirat
        (dir: c_int, path: *const c_char, found: *mut c_void, is_wanted: *const c_void,
         order: *const c_void) -> c_int, path;
}
