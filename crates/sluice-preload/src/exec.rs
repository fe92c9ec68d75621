//! Programs that the program becomes or starts. They have the preload library as well, unless they
//! have another loader, none, or an environment without it; so all are counted.

use crate::buffers::{Buffers, One, Text, Texts, set_errno, signal_engine, with_pages};
use crate::device::{engine, refuse};
use crate::next;
use libc::{c_char, c_int, c_long, c_uint, c_void, pid_t};
use sluice_region::errno;
use sluice_runtime::Engine;

unsafe extern "C" {
    #[link_name = "environ"]
    static ENVIRONMENT: *const *const c_char;
}

/// The strings that a program started without a list of its own inherits.
struct Environment;

impl Buffers for Environment {
    fn touch(&self, engine: &Engine) -> bool {
        // SAFETY: the C library's own list.
        Texts(unsafe { ENVIRONMENT }).touch(engine)
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
        pub unsafe extern "C" fn $name($($arg: $type),*) -> c_int {
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

/// Notes a child that is another program.
pub fn started() {
    if let Some(engine) = engine() {
        engine.started_program();
    }
}

/// Brings what the C library's own `posix_spawn` reads for a shell. It does not say that it met a
/// missing page.
pub fn bring_for_shell(command: *const c_char) {
    if let Some(engine) = signal_engine() {
        (Text(command), Environment).touch(engine);
    }
}

next!(next_system: c"system"(command: *const c_char) -> c_int);

/// # Safety
/// C contract of `system`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn system(command: *const c_char) -> c_int {
    bring_for_shell(command);
    if !command.is_null() {
        started();
    }
    // SAFETY: passed on.
    unsafe { next_system(command) }
}

/// What the child of `posix_spawn` reads with all signals blocked, so that a trap would end it.
struct Actions {
    actions: *const c_void,
    attributes: *const c_void,
}

impl Buffers for Actions {
    /// The C library's binary interface: how many actions there are at 4, a pointer to them at 8.
    fn touch(&self, engine: &Engine) -> bool {
        const HEAD_BYTES: usize = size_of::<libc::posix_spawn_file_actions_t>();
        const ACTION_BYTES: usize = 32;
        let attributes = One(self.attributes.cast::<libc::posix_spawnattr_t>()).touch(engine);
        if self.actions.is_null() {
            return attributes;
        }
        let head = (self.actions, HEAD_BYTES).touch(engine);
        // SAFETY: the program's actions.
        let list = unsafe {
            let used = self.actions.byte_add(4).cast::<c_int>().read().max(0) as usize;
            let list = self.actions.byte_add(8).cast::<*const c_void>().read();
            (list, used * ACTION_BYTES).touch(engine)
        };
        attributes | head | list
    }
}

macro_rules! spawns {
    ($($symbol:literal $name:ident = $next:ident;)+) => {$(
        next!($next: $symbol(pid: *mut c_int, path: *const c_char, actions: *const c_void,
            attributes: *const c_void, args: *const *const c_char, env: *const *const c_char
        ) -> c_int);

        /// # Safety
        /// C contract of the function of this name, which returns its error.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            pid: *mut c_int,
            path: *const c_char,
            actions: *const c_void,
            attributes: *const c_void,
            args: *const *const c_char,
            env: *const *const c_char,
        ) -> c_int {
            let before = errno();
            if let Some(engine) = signal_engine() {
                Actions { actions, attributes }.touch(engine);
            }
            let buffers = (Text(path), Texts(args), Texts(env));
            let error = with_pages(buffers, || {
                // SAFETY: passed on.
                match unsafe { $next(pid, path, actions, attributes, args, env) } {
                    0 => 0,
                    error => {
                        set_errno(error);
                        -1
                    }
                }
            });
            let error = if error == 0 { 0 } else { errno() };
            if error == 0 {
                started();
            }
            set_errno(before);
            error
        }
    )+};
}

spawns! {
    c"posix_spawn" posix_spawn = next_posix_spawn;
    c"posix_spawnp" posix_spawnp = next_posix_spawnp;
}

next!(next_ptrace: c"ptrace"(
    request: c_uint, pid: pid_t, at: *mut c_void, data: *mut c_void) -> c_long);

/// A child that is traced stops at a signal until its tracer lets it go on. In signal mode its
/// misses are signals, and the parent of a `vfork` waits, so that both would stand for ever.
///
/// # Safety
/// C contract of `ptrace`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptrace(
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
