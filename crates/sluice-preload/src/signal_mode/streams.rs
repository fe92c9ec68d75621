//! Streams of the C library, for signal mode: its own system calls reach no hook.
//!
//! They read and write two kinds of memory: a stream's buffer, which is kept off the device, and
//! what the program hands to `fread` and `fwrite`, where it is larger than that buffer. Such a call
//! stops at a missing page and goes on behind what it has done; see [`crate::bytes::buffers`].

use crate::allocator::system::in_signal_mode;
use crate::bytes::bounce::{Side, Way};
use crate::bytes::buffers::{
    MAX_TRIES, Text, bring, on_device, set_errno, signal_engine, with_pages,
};
use crate::bytes::piece::Place;
use crate::next;
use crate::processes::children::note_status;
use crate::processes::spawn::{started, with_command};
use crate::threads::affinity::{self, making};
use crate::threads::own_threads::leave_out_own_threads;
use libc::{DIR, FILE, c_char, c_int, c_void, size_t};
use sluice_region::errno;

next!(next_fread: c"fread"(to: *mut c_void, size: size_t, n: size_t, f: *mut FILE) -> size_t);
next!(next_fread_unlocked: c"fread_unlocked"
    (to: *mut c_void, size: size_t, n: size_t, f: *mut FILE) -> size_t);
next!(next_fread_chk: c"__fread_chk"
    (to: *mut c_void, room: size_t, size: size_t, n: size_t, f: *mut FILE) -> size_t);
next!(next_fread_unlocked_chk: c"__fread_unlocked_chk"
    (to: *mut c_void, room: size_t, size: size_t, n: size_t, f: *mut FILE) -> size_t);
next!(next_fwrite: c"fwrite"
    (from: *const c_void, size: size_t, n: size_t, f: *mut FILE) -> size_t);
next!(next_fwrite_unlocked: c"fwrite_unlocked"
    (from: *const c_void, size: size_t, n: size_t, f: *mut FILE) -> size_t);
next!(next_fputs: c"fputs"(text: *const c_char, f: *mut FILE) -> c_int);
next!(next_fputs_unlocked: c"fputs_unlocked"(text: *const c_char, f: *mut FILE) -> c_int);
next!(next_puts: c"puts"(text: *const c_char) -> c_int);
next!(next_setvbuf: c"setvbuf"
    (f: *mut FILE, buf: *mut c_char, mode: c_int, size: size_t) -> c_int);
next!(next_setbuffer: c"setbuffer"(f: *mut FILE, buf: *mut c_char, size: size_t) -> ());
next!(next_setbuf: c"setbuf"(f: *mut FILE, buf: *mut c_char) -> ());

unsafe extern "C" {
    static stdout: *mut FILE;
    fn flockfile(f: *mut FILE);
    fn funlockfile(f: *mut FILE);
    fn ferror_unlocked(f: *mut FILE) -> c_int;
    fn feof_unlocked(f: *mut FILE) -> c_int;
    fn clearerr_unlocked(f: *mut FILE);
    fn putchar_unlocked(c: c_int) -> c_int;
}

/// Whether memory of the program's is on the device, where the kernel may not find it.
fn may_be_missing(at: *const c_void) -> bool {
    signal_engine().is_some_and(|engine| on_device(engine, at as usize))
}

/// Moves bytes by a stream that the caller has locked, and goes on where a missing page stopped it.
/// `step` gets where to go on, and how many bytes are left. Returns the bytes moved.
unsafe fn moved(
    f: *mut FILE,
    at: *const c_void,
    total: size_t,
    step: impl Fn(*const c_void, size_t) -> size_t,
) -> size_t {
    // SAFETY: the program's stream.
    let at_rest = unsafe { ferror_unlocked(f) == 0 && feof_unlocked(f) == 0 };
    let before = errno();
    set_errno(0);
    let mut done = step(at, total);
    let mut tries = 0;
    while at_rest && done < total && errno() == libc::EFAULT && tries < MAX_TRIES {
        let (rest, left) = (at.wrapping_byte_add(done), total - done);
        // SAFETY: as above. The mark that it failed would stay for the program to see.
        unsafe {
            if ferror_unlocked(f) == 0 || !bring(&(rest, left)) {
                break;
            }
            clearerr_unlocked(f);
        }
        set_errno(0);
        let more = step(rest, left);
        tries = if more > 0 { 0 } else { tries + 1 };
        done += more;
    }
    if errno() == 0 {
        set_errno(before);
    }
    done
}

/// Items of `size` bytes in what was moved of `n`.
fn items(moved: size_t, total: size_t, size: size_t, n: size_t) -> size_t {
    if moved == total { n } else { moved / size }
}

macro_rules! transfers {
    ($($name:ident, $next:ident, $by:ident, $buf:ty, $lock:expr;)+) => {$(
        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            buf: $buf, size: size_t, n: size_t, f: *mut FILE,
        ) -> size_t {
            let total = size.checked_mul(n).filter(|total| *total > 0);
            let Some(total) = total.filter(|_| may_be_missing(buf.cast_const())) else {
                // SAFETY: passed on.
                return unsafe { $next(buf, size, n, f) };
            };
            // SAFETY: the program's stream and buffer, byte by byte, so that none is lost.
            unsafe {
                if $lock {
                    flockfile(f);
                }
                let step = |at: *const c_void, left| $by(at.cast_mut(), 1, left, f);
                let moved = moved(f, buf.cast_const(), total, step);
                if $lock {
                    funlockfile(f);
                }
                items(moved, total, size, n)
            }
        }
    )+};
}

transfers! {
    fread, next_fread, next_fread_unlocked, *mut c_void, true;
    fread_unlocked, next_fread_unlocked, next_fread_unlocked, *mut c_void, false;
    fwrite, next_fwrite, next_fwrite_unlocked, *mut c_void, true;
    fwrite_unlocked, next_fwrite_unlocked, next_fwrite_unlocked, *mut c_void, false;
}

macro_rules! checked {
    ($($name:ident, $next:ident, $plain:ident;)+) => {$(
        /// As programs built with `_FORTIFY_SOURCE` call it; the C library's ends the program when
        /// the buffer is too small.
        ///
        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            to: *mut c_void, room: size_t, size: size_t, n: size_t, f: *mut FILE,
        ) -> size_t {
            // SAFETY: passed on.
            unsafe {
                if size.checked_mul(n).is_none_or(|total| total > room) {
                    return $next(to, room, size, n, f);
                }
                $plain(to, size, n, f)
            }
        }
    )+};
}

checked! {
    __fread_chk, next_fread_chk, fread;
    __fread_unlocked_chk, next_fread_unlocked_chk, fread_unlocked;
}

macro_rules! puts {
    ($($name:ident, $next:ident, $write:ident;)+) => {$(
        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(text: *const c_char, f: *mut FILE) -> c_int {
            // SAFETY: passed on; the program's string.
            unsafe {
                if !may_be_missing(text.cast()) {
                    return $next(text, f);
                }
                let bytes = libc::strlen(text);
                let written = $write(text.cast_mut().cast(), 1, bytes, f);
                if written == bytes { 1 } else { libc::EOF }
            }
        }
    )+};
}

puts! {
    fputs, next_fputs, fwrite;
    fputs_unlocked, next_fputs_unlocked, fwrite_unlocked;
}

/// # Safety
/// C contract of `puts`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn puts(text: *const c_char) -> c_int {
    // SAFETY: passed on; the C library's own stream.
    unsafe {
        if !may_be_missing(text.cast()) {
            return next_puts(text);
        }
        flockfile(stdout);
        let all = fputs_unlocked(text, stdout) != libc::EOF
            && putchar_unlocked(c_int::from(b'\n')) != libc::EOF;
        funlockfile(stdout);
        if all { 1 } else { libc::EOF }
    }
}

/// The buffer that the program names for a stream, unless the kernel may not find it: then the
/// stream gets one of its own, as C allows.
fn buffer(buf: *mut c_char) -> Option<*mut c_char> {
    (!may_be_missing(buf.cast())).then_some(buf)
}

/// # Safety
/// C contract of `setvbuf`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn setvbuf(
    f: *mut FILE,
    buf: *mut c_char,
    mode: c_int,
    size: size_t,
) -> c_int {
    let buf = buffer(buf).unwrap_or_default();
    // SAFETY: passed on.
    unsafe { next_setvbuf(f, buf, mode, size) }
}

/// # Safety
/// C contract of `setbuffer`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn setbuffer(f: *mut FILE, buf: *mut c_char, size: size_t) {
    // SAFETY: passed on. Null would leave the stream without a buffer.
    unsafe {
        if buffer(buf).is_some() {
            next_setbuffer(f, buf, size);
        }
    }
}

/// # Safety
/// C contract of `setbuf`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn setbuf(f: *mut FILE, buf: *mut c_char) {
    // SAFETY: as above.
    unsafe {
        if buffer(buf).is_some() {
            next_setbuf(f, buf);
        }
    }
}

macro_rules! opens {
    ($($symbol:literal $name:ident = $next:ident
       ($($arg:ident: $type:ty),*) -> $ret:ty, $buffers:expr
       $(, then |$stream:ident| $then:expr)?;)+) => {$(
        next!($next: $symbol($($arg: $type),*) -> $ret);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> $ret {
            // SAFETY: passed on.
            let opened = with_pages($buffers, || in_signal_mode(|| unsafe { $next($($arg),*) }));
            $(
                let $stream = opened;
                // SAFETY: the path is the program's, and the stream nobody's yet.
                unsafe { $then }
            )?
            opened
        }
    )+};
}

/// What is to be done when a stream of a file was opened, if it was.
///
/// # Safety
/// As [`leave_out_own_threads`].
unsafe fn opened(path: *const c_char, stream: *mut FILE) {
    if !stream.is_null() {
        affinity::opened(path);
        // SAFETY: passed on.
        unsafe { leave_out_own_threads(path, stream) };
    }
}

// A stream off the device never takes the place of the page that the kernel is about to use. Into
// a directory's the kernel writes its entries.
opens! {
    c"fopen" fopen = next_fopen(path: *const c_char, mode: *const c_char) -> *mut FILE,
        Text(path), then |stream| opened(path, stream);
    c"fopen64" fopen64 = next_fopen64(path: *const c_char, mode: *const c_char) -> *mut FILE,
        Text(path), then |stream| opened(path, stream);
    c"fdopen" fdopen = next_fdopen(fd: c_int, mode: *const c_char) -> *mut FILE, Text(mode);
    c"tmpfile" tmpfile = next_tmpfile() -> *mut FILE, ();
    c"tmpfile64" tmpfile64 = next_tmpfile64() -> *mut FILE, ();
    c"opendir" opendir = next_opendir(path: *const c_char) -> *mut DIR, Text(path);
    c"fdopendir" fdopendir = next_fdopendir(fd: c_int) -> *mut DIR, ();
}

macro_rules! opens_again {
    ($($symbol:literal $name:ident = $next:ident;)+) => {$(
        next!($next: $symbol
            (path: *const c_char, mode: *const c_char, f: *mut FILE) -> *mut FILE);

        /// The stream is closed before the file is opened, so that no second try can be made: the
        /// kernel reads a copy of the path.
        ///
        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            path: *const c_char, mode: *const c_char, f: *mut FILE,
        ) -> *mut FILE {
            let (place, placed) = (Place::new(), may_be_missing(path.cast()));
            // SAFETY: the program's string, or a copy that is as long; its stream.
            unsafe {
                let bytes = if placed { libc::strlen(path) + 1 } else { 0 };
                let copy = Side::new(&place, path.cast_mut().cast(), bytes, Way::Out);
                in_signal_mode(|| $next(copy.at().cast(), mode, f))
            }
        }
    )+};
}

opens_again! {
    c"freopen" freopen = next_freopen;
    c"freopen64" freopen64 = next_freopen64;
}

next!(next_popen: c"popen"(command: *const c_char, mode: *const c_char) -> *mut FILE);

/// # Safety
/// C contract of `popen`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn popen(command: *const c_char, mode: *const c_char) -> *mut FILE {
    let stream = with_command(command, |command| {
        // SAFETY: passed on, or a copy of it.
        in_signal_mode(|| making(|| unsafe { next_popen(command, mode) }))
    });
    if !stream.is_null() {
        started();
    }
    stream
}

next!(next_pclose: c"pclose"(stream: *mut FILE) -> c_int);

/// # Safety
/// C contract of `pclose`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pclose(stream: *mut FILE) -> c_int {
    // SAFETY: passed on.
    let status = unsafe { next_pclose(stream) };
    note_status(status);
    status
}
