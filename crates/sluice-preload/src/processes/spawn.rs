//! Programs that the C library starts for the program: `posix_spawn` and its kin.
//!
//! Their child shares the memory and has all signals blocked, so that in signal mode a trap ends
//! it. What it reads is therefore copied to memory that never leaves, for as long as the call
//! takes: a page that is touched before the call may have left again for those touched after it.

use crate::allocator::limits::{self, Environment};
use crate::bytes::buffers::{Buffers, Texts, is_readable, on_device, set_errno, signal_engine};
use crate::device::engine;
use crate::next;
use crate::processes::children::note_status;
use crate::threads::affinity::making;
use core::ffi::CStr;
use libc::{c_char, c_int, c_void, pid_t};
use sluice_region::{Mapping, PAGE, described_process, errno};
use sluice_runtime::Engine;

unsafe extern "C" {
    #[link_name = "environ"]
    static ENVIRONMENT: *const *const c_char;
}

/// Notes a child that is another program.
pub fn started() {
    if let Some(engine) = engine() {
        engine.started_program();
    }
}

/// Brings the strings that a program started without a list of its own inherits, and among which
/// the child looks for its `PATH`.
pub fn bring_environment(engine: &Engine) -> bool {
    Texts(environment()).touch(engine)
}

/// The strings that a program inherits which is given none.
pub fn environment() -> *const *const c_char {
    // SAFETY: the C library's own list.
    unsafe { ENVIRONMENT }
}

/// Copies of what lies on the device. They are measured first: without memory nothing is written.
struct Copies<'a> {
    engine: &'a Engine,
    memory: Option<Mapping>,
    bytes: usize,
    used: usize,
}

impl<'a> Copies<'a> {
    /// Copies what `lay_out` asks for, and keeps the copies with its result. The error is one of
    /// `posix_spawn`.
    fn with<T>(
        engine: &'a Engine,
        lay_out: impl Fn(&mut Copies<'a>) -> T,
    ) -> Result<(Self, T), i32> {
        let mut copies = Copies {
            engine,
            memory: None,
            bytes: usize::MAX,
            used: 0,
        };
        let laid = lay_out(&mut copies);
        if copies.used == 0 {
            return Ok((copies, laid));
        }
        let bytes = copies.used.next_multiple_of(PAGE);
        let mut copies = Copies {
            memory: Some(Mapping::anonymous(bytes)?),
            bytes,
            used: 0,
            ..copies
        };
        let laid = lay_out(&mut copies);
        Ok((copies, laid))
    }

    /// Where so many bytes of a buffer are copied to; the buffer itself if they find no room,
    /// since another thread has made it longer.
    fn copy<T>(&mut self, from: *const T, bytes: usize) -> *const T {
        let end = self.used.saturating_add(bytes.next_multiple_of(8));
        if end > self.bytes {
            return from;
        }
        let at = core::mem::replace(&mut self.used, end);
        let Some(memory) = &self.memory else {
            return from;
        };
        let to = (memory.addr() + at) as *mut u8;
        // SAFETY: the memory has so many bytes there, which nobody else uses; the program's buffer
        // has them, too.
        unsafe { core::ptr::copy_nonoverlapping(from.cast::<u8>(), to, bytes) };
        to.cast_const().cast::<T>()
    }

    fn copy_if_placed<T>(&mut self, from: *const T, bytes: usize) -> *const T {
        match on_device(self.engine, from as usize) {
            true => self.copy(from, bytes),
            false => from,
        }
    }

    /// A string, null or live.
    fn text(&mut self, text: *const c_char) -> *const c_char {
        if !on_device(self.engine, text as usize) {
            return text;
        }
        // SAFETY: the program's string.
        let bytes = unsafe { libc::strlen(text) } + 1;
        self.copy(text, bytes)
    }

    /// Strings, and the list of them that ends with a null pointer; null or live.
    fn texts(&mut self, list: *const *const c_char) -> *const *const c_char {
        if !is_readable(self.engine, list as usize) {
            return list;
        }
        let mut count = 0;
        let mut is_placed = on_device(self.engine, list as usize);
        // SAFETY: the program's list, to its end.
        unsafe {
            while !(*list.add(count)).is_null() {
                is_placed |= on_device(self.engine, *list.add(count) as usize);
                count += 1;
            }
        }
        if !is_placed {
            return list;
        }
        let copied = self.copy(list, (count + 1) * size_of::<*const c_char>());
        for at in 0..count {
            // SAFETY: one of the list's strings, and its place in the copy.
            unsafe {
                let text = self.text(*list.add(at));
                if copied != list {
                    copied.add(at).cast_mut().write(text);
                }
            }
        }
        copied
    }

    /// File actions, with the strings that they name.
    fn actions(&mut self, actions: *const Actions) -> *const Actions {
        if actions.is_null() {
            return actions;
        }
        // SAFETY: the program's actions.
        let (used, list) = unsafe { ((*actions).used.max(0) as usize, (*actions).list) };
        if used == 0 {
            return self.copy_if_placed(actions, ACTIONS_BYTES);
        }
        let copied = self.copy(actions, ACTIONS_BYTES);
        let copied_list = self.copy(list, used * size_of::<Action>());
        for at in 0..used {
            // SAFETY: one of the program's actions, and its place in the copy.
            unsafe {
                let action = &*list.add(at);
                let Some(slot) = action.slot_of_path() else {
                    continue;
                };
                let path = self.text(action.words[slot] as *const c_char);
                if copied_list != list {
                    (*copied_list.add(at).cast_mut()).words[slot] = path as u64;
                }
            }
        }
        if copied != actions {
            // SAFETY: the copy, which nobody else has.
            unsafe { (*copied.cast_mut()).list = copied_list };
        }
        copied
    }
}

/// The C library's file actions, as its binary interface has them.
#[repr(C)]
struct Actions {
    allocated: c_int,
    used: c_int,
    list: *const Action,
}

/// The whole of them, with what is reserved.
const ACTIONS_BYTES: usize = size_of::<libc::posix_spawn_file_actions_t>();

/// One action: what is to be done, and three words for it.
#[repr(C)]
struct Action {
    tag: c_int,
    words: [u64; 3],
}

impl Action {
    /// Which of the words is a path.
    fn slot_of_path(&self) -> Option<usize> {
        const OPEN: c_int = 2;
        const CHANGE_FOLDER: c_int = 3;
        match self.tag {
            OPEN => Some(1),
            CHANGE_FOLDER => Some(0),
            _ => None,
        }
    }
}

/// What `posix_spawn` is given.
#[derive(Clone, Copy)]
struct Given {
    path: *const c_char,
    actions: *const Actions,
    attributes: *const libc::posix_spawnattr_t,
    args: *const *const c_char,
    env: *const *const c_char,
}

impl Given {
    /// Makes the call with copies of what lies on the device. The answer is its error, or 0.
    fn call(self, call: impl FnOnce(Given) -> c_int) -> c_int {
        let Some(engine) = signal_engine() else {
            return call(self);
        };
        let copied = Copies::with(engine, |copies| Given {
            path: copies.text(self.path),
            actions: copies.actions(self.actions),
            attributes: copies
                .copy_if_placed(self.attributes, size_of::<libc::posix_spawnattr_t>()),
            args: copies.texts(self.args),
            env: copies.texts(self.env),
        });
        match copied {
            Ok((_copies, given)) => {
                bring_environment(engine);
                call(given)
            }
            Err(error) => error,
        }
    }
}

/// Functions that start a program, and which process their answer stands for.
macro_rules! spawns {
    ($($symbol:literal $name:ident = $next:ident $(or $missing:expr)?, $process:expr;)+) => {$(
        next!($next: $symbol(pid: *mut c_int, path: *const c_char, actions: *const c_void,
            attributes: *const c_void, args: *const *const c_char, env: *const *const c_char
        ) -> c_int $(, or $missing)?);

        /// # Safety
        /// C contract of the function of this name, which returns its error.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            pid: *mut c_int,
            path: *const c_char,
            actions: *const c_void,
            attributes: *const c_void,
            args: *const *const c_char,
            env: *const *const c_char,
        ) -> c_int {
            let before = errno();
            let (actions, attributes) = (actions.cast(), attributes.cast());
            let given = Given { path, actions, attributes, args, env };
            let (mut child, mut has_device) = (0, false);
            let error = given.call(|given| {
                let (actions, attributes) = (given.actions.cast(), given.attributes.cast());
                // SAFETY: the program's list.
                let own = unsafe { Environment::of(given.env) };
                let env = own.as_ref().map_or(given.env, Environment::as_ptr);
                let child = &raw mut child;
                has_device = own.is_some();
                // SAFETY: what the program gave, or copies of it.
                making(|| unsafe {
                    $next(child, given.path, actions, attributes, given.args, env)
                })
            });
            if error == 0 {
                if !has_device && limits::has_seen() {
                    let process: fn(c_int) -> Option<pid_t> = $process;
                    process(child).into_iter().for_each(limits::give_to);
                }
                started();
                if !pid.is_null() {
                    // SAFETY: where the program wants it.
                    unsafe { pid.write(child) };
                }
            }
            set_errno(before);
            error
        }
    )+};
}

spawns! {
    c"posix_spawn" posix_spawn = next_posix_spawn, Some;
    c"posix_spawnp" posix_spawnp = next_posix_spawnp, Some;
    // New in version 2.39 of the C library.
    c"pidfd_spawn" pidfd_spawn = next_pidfd_spawn or libc::ENOSYS, described_process;
    c"pidfd_spawnp" pidfd_spawnp = next_pidfd_spawnp or libc::ENOSYS, described_process;
}

/// Calls with a command for the shell, which the C library's own `posix_spawn` is to read. It does
/// not say that it met a missing page.
pub fn with_command<R>(command: *const c_char, call: impl FnOnce(*const c_char) -> R) -> R {
    let first = match command.is_null() {
        true => String::new(),
        false => limits::for_shell(),
    };
    if first.is_empty() {
        return with_copied(command, call);
    }
    let mut text = first.into_bytes();
    // SAFETY: the program's string.
    text.extend(unsafe { CStr::from_ptr(command) }.to_bytes_with_nul());
    with_copied(text.as_ptr().cast(), call)
}

fn with_copied<R>(command: *const c_char, call: impl FnOnce(*const c_char) -> R) -> R {
    let Some(engine) = signal_engine() else {
        return call(command);
    };
    let copied = Copies::with(engine, |copies| copies.text(command));
    bring_environment(engine);
    match copied {
        Ok((_copy, copied)) => call(copied),
        // Without memory for a copy, the shell will find none either.
        Err(_) => call(command),
    }
}

next!(next_system: c"system"(command: *const c_char) -> c_int);

/// # Safety
/// C contract of `system`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn system(command: *const c_char) -> c_int {
    if command.is_null() {
        // SAFETY: passed on; it asks whether there is a shell.
        return unsafe { next_system(command) };
    }
    started();
    let call = |command| {
        // SAFETY: passed on, or a copy of it.
        let call = || unsafe { next_system(command) };
        making(call)
    };
    let status = with_command(command, call);
    note_status(status);
    status
}
