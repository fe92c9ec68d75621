//! Programs that the program becomes or starts. They have the preload library as well, unless they
//! have another loader, none, or an environment without it; so all are counted.

use crate::allocator::limits;
use crate::bytes::answers::answer;
use crate::bytes::buffers::{Buffers, Text, Texts, signal_engine, with_pages};
use crate::bytes::named::Record;
use crate::device::{engine, refuse};
use crate::next;
use crate::processes::spawn::{bring_environment, environment};
use crate::processes::{beside, ends};
use crate::threads::affinity;
use core::ffi::CStr;
use libc::{c_char, c_int, c_long, c_uint, c_void, pid_t};
use sluice_region::sys;
use sluice_runtime::Engine;

/// The strings that a program started without a list of its own inherits.
struct Environment;

impl Buffers for Environment {
    fn touch(&self, engine: &Engine) -> bool {
        bring_environment(engine)
    }
}

/// Makes a call that returns only if this process did not become another program. Limits that are
/// lowered for a program that is not there might not be raised again.
///
/// # Safety
/// The environment of that program, as the C library takes it.
unsafe fn becoming(
    is_there: impl FnOnce() -> bool,
    env: *const *const c_char,
    call: impl FnOnce(*const *const c_char) -> c_int,
) -> c_int {
    let start = engine().map(Engine::become_program);
    let call = |env| leaving(|| call(env));
    let result = match !limits::has_seen() || !is_there() {
        true => call(env),
        // SAFETY: as the caller says.
        false => unsafe { limits::handed_on(env, call) },
    };
    if let Some(start) = start {
        start.failed();
    }
    result
}

/// Makes a call after which this program is here no more, if the call does not fail.
pub fn leaving<R>(call: impl FnOnce() -> R) -> R {
    ends::say_so();
    match engine() {
        Some(engine) => beside::becoming(engine, || affinity::leaving(engine, call)),
        None => call(),
    }
}

/// Whether there may be a program of this name.
fn is_program(path: *const c_char) -> bool {
    is_program_at(libc::AT_FDCWD, path, 0)
}

/// Whether there may be one of this name in a folder.
fn is_program_at(dir: c_int, path: *const c_char, flags: c_int) -> bool {
    let flags = flags & (libc::AT_EMPTY_PATH | libc::AT_SYMLINK_NOFOLLOW);
    // SAFETY: zeros are valid plain data.
    let mut file: libc::stat = unsafe { core::mem::zeroed() };
    let to = &raw mut file;
    // SAFETY: the output is live, and the kernel checks the other address.
    match unsafe { sys!(libc::SYS_newfstatat, dir, path, to, flags) } {
        Ok(_) => file.st_mode & libc::S_IFMT == libc::S_IFREG && file.st_mode & 0o111 != 0,
        Err(errno) => errno == libc::EFAULT,
    }
}

/// Whether one of the folders of `PATH` may have a program of this name.
fn is_found(name: *const c_char) -> bool {
    if name.is_null() {
        return true;
    }
    // SAFETY: the program's string, and one of its environment.
    let (name, path) = unsafe {
        let path = libc::getenv(c"PATH".as_ptr());
        let path = (!path.is_null()).then(|| CStr::from_ptr(path).to_bytes());
        (CStr::from_ptr(name).to_bytes(), path)
    };
    let Some(path) = path.filter(|_| !name.contains(&b'/')) else {
        return true;
    };
    path.split(|byte| *byte == b':').any(|folder| {
        let mut whole = [0u8; libc::PATH_MAX as usize];
        let end = folder.len() + 1 + name.len();
        if folder.is_empty() || end >= whole.len() {
            return true;
        }
        whole[..folder.len()].copy_from_slice(folder);
        whole[folder.len()] = b'/';
        whole[folder.len() + 1..end].copy_from_slice(name);
        is_program(whole.as_ptr().cast())
    })
}

/// `execveat` where the C library has none: before its version 2.34.
fn by_number(
    dir: c_int,
    path: *const c_char,
    args: *const *const c_char,
    env: *const *const c_char,
    flags: c_int,
) -> c_int {
    // SAFETY: the kernel checks the addresses.
    answer(unsafe { sys!(libc::SYS_execveat, dir, path, args, env, flags) }) as c_int
}

macro_rules! becomes {
    ($($symbol:literal $name:ident = $next:ident
       ($($arg:ident: $type:ty),*) $(or $missing:expr)?, $is_there:expr, $buffers:expr,
       $env:expr, $list:ident => $call:expr;)+) => {$(
        next!($next: $symbol($($arg: $type),*) -> c_int $(, or $missing)?);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> c_int {
            // SAFETY: passed on, with another environment if need be.
            unsafe {
                becoming(|| $is_there, $env, |$list| with_pages($buffers, || $call))
            }
        }
    )+};
}

becomes! {
    c"execve" execve = next_execve
        (path: *const c_char, args: *const *const c_char, env: *const *const c_char),
        is_program(path), (Text(path), Texts(args), Texts(env)),
        env, list => next_execve(path, args, list);
    c"execv" execv = next_execv(path: *const c_char, args: *const *const c_char),
        is_program(path), (Text(path), Texts(args), Environment),
        environment(), list => match list == environment() {
            true => next_execv(path, args),
            false => next_execve(path, args, list),
        };
    c"execvp" execvp = next_execvp(file: *const c_char, args: *const *const c_char),
        is_found(file), (Text(file), Texts(args), Environment),
        environment(), list => match list == environment() {
            true => next_execvp(file, args),
            false => next_execvpe(file, args, list),
        };
    c"execvpe" execvpe = next_execvpe
        (file: *const c_char, args: *const *const c_char, env: *const *const c_char),
        is_found(file), (Text(file), Texts(args), Texts(env)),
        env, list => next_execvpe(file, args, list);
    c"fexecve" fexecve = next_fexecve
        (fd: c_int, args: *const *const c_char, env: *const *const c_char),
        true, (Texts(args), Texts(env)),
        env, list => next_fexecve(fd, args, list);
    c"execveat" execveat = next_execveat
        (dir: c_int, path: *const c_char, args: *const *const c_char,
         env: *const *const c_char, flags: c_int) or by_number(dir, path, args, env, flags),
        is_program_at(dir, path, flags), (Text(path), Texts(args), Texts(env)),
        env, list => next_execveat(dir, path, args, list, flags);
}

next!(next_ptrace: c"ptrace"(
    request: c_uint, pid: pid_t, at: *mut c_void, data: *mut c_void) -> c_long);

/// A child that is traced stops at a signal until its tracer lets it go on. In signal mode its
/// misses are signals, and the parent of a `vfork` waits, so that both would stand for ever.
///
/// # Safety
/// C contract of `ptrace`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ptrace(
    request: c_uint,
    pid: pid_t,
    at: *mut c_void,
    data: *mut c_void,
) -> c_long {
    let is_traced = request == libc::PTRACE_TRACEME;
    if is_traced && signal_engine().is_some_and(|engine| !engine.is_callers()) {
        refuse("a child of vfork cannot be traced in signal mode; use --trap event");
    }
    /// Of the registers of a thread.
    const LONGEST: usize = 512;
    // SAFETY: passed on.
    let call = || unsafe { next_ptrace(request, pid, at, data) };
    with_pages(Record::new(data, LONGEST), call)
}
