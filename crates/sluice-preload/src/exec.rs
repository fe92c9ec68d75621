//! Programs that the program becomes or starts. They have the preload library as well, unless they
//! have another loader, none, or an environment without it; so all are counted.

use crate::buffers::{Buffers, Text, Texts, signal_engine, with_pages};
use crate::device::{engine, refuse};
use crate::next;
use crate::spawn::bring_environment;
use libc::{c_char, c_int, c_long, c_uint, c_void, pid_t};
use sluice_runtime::Engine;

/// The strings that a program started without a list of its own inherits.
struct Environment;

impl Buffers for Environment {
    fn touch(&self, engine: &Engine) -> bool {
        bring_environment(engine)
    }
}

/// Makes a call that returns only if this process did not become another program.
fn becoming(call: impl FnOnce() -> c_int) -> c_int {
    let start = engine().map(Engine::become_program);
    let result = call();
    if let Some(start) = start {
        start.failed();
    }
    result
}

macro_rules! becomes {
    ($($symbol:literal $name:ident = $next:ident
       ($($arg:ident: $type:ty),*), $buffers:expr;)+) => {$(
        next!($next: $symbol($($arg: $type),*) -> c_int);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> c_int {
            // SAFETY: passed on.
            becoming(|| with_pages($buffers, || unsafe { $next($($arg),*) }))
        }
    )+};
}

becomes! {
    c"execve" execve = next_execve
        (path: *const c_char, args: *const *const c_char, env: *const *const c_char),
        (Text(path), Texts(args), Texts(env));
    c"execv" execv = next_execv(path: *const c_char, args: *const *const c_char),
        (Text(path), Texts(args), Environment);
    c"execvp" execvp = next_execvp(file: *const c_char, args: *const *const c_char),
        (Text(file), Texts(args), Environment);
    c"execvpe" execvpe = next_execvpe
        (file: *const c_char, args: *const *const c_char, env: *const *const c_char),
        (Text(file), Texts(args), Texts(env));
    c"fexecve" fexecve = next_fexecve
        (fd: c_int, args: *const *const c_char, env: *const *const c_char),
        (Texts(args), Texts(env));
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
    // SAFETY: passed on.
    unsafe { next_ptrace(request, pid, at, data) }
}
