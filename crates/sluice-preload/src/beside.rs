//! Processes that use the program's memory beside it: children of `clone` with `CLONE_VM`.
//!
//! In event mode the program's own process has the threads that bring pages in. A child that
//! outlives it would read zeros where a page had left, so it is killed when the program ends.

use core::ffi::c_void;
use core::sync::atomic::{AtomicI32, Ordering::*};
use libc::{c_int, pid_t};
use sluice_region::{sys, thread_id};
use sluice_runtime::{Engine, Trap};

/// The first function of such a child.
pub type Function = extern "C" fn(*mut c_void) -> c_int;

/// The last child that has chosen a signal itself: it is not ours to take back.
static ASKED: AtomicI32 = AtomicI32::new(0);

/// What the child begins with, at the top of its stack.
struct Begun {
    function: Function,
    argument: *mut c_void,
    parent: pid_t,
}

/// Whether a child with these flags uses this memory and has to end with this process.
///
/// The kernel sends the signal when the thread ends that made the child. For other threads than
/// the first that would be too early, unless they wait for the child.
pub fn must_end_too(engine: &Engine, flags: c_int) -> bool {
    const NO_CHILD: c_int = libc::CLONE_THREAD | libc::CLONE_PARENT;
    let shares = flags & libc::CLONE_VM != 0 && flags & NO_CHILD == 0;
    let lives_on = || flags & libc::CLONE_VFORK != 0 || thread_id() as pid_t == process();
    shares && engine.session.trap == Trap::Event && lives_on()
}

/// Puts what the child needs on its stack. Returns the function to make it with, and an address
/// that is both its stack and its argument.
///
/// # Safety
/// The upper end of a stack that nobody uses.
pub unsafe fn begin_on(
    stack: *mut c_void,
    function: Function,
    argument: *mut c_void,
) -> (Function, *mut c_void) {
    let at = (stack as usize - size_of::<Begun>()) & !15;
    let begun = Begun {
        function,
        argument,
        parent: process(),
    };
    // SAFETY: as the caller says.
    unsafe { (at as *mut Begun).write(begun) };
    (begin, at as *mut c_void)
}

extern "C" fn begin(begun: *mut c_void) -> c_int {
    // SAFETY: `begin_on` put it there, above all that this function has.
    let begun = unsafe { begun.cast::<Begun>().read() };
    end_with_parent(true);
    // SAFETY: no arguments.
    let parent = unsafe { libc::getppid() };
    // 0 is a parent in another namespace, which the kernel does not name.
    if parent != begun.parent && parent != 0 {
        // SAFETY: no pointers; this process.
        let _ = unsafe { sys!(libc::SYS_kill, process(), libc::SIGKILL) };
    }
    (begun.function)(begun.argument)
}

/// Calls what turns such a child into another program, which has memory of its own.
pub fn becoming<R>(engine: &Engine, call: impl FnOnce() -> R) -> R {
    let is_one = becomes(engine);
    let result = call();
    if is_one {
        end_with_parent(true);
    }
    result
}

/// The caller is about to become another program. Says whether it is such a child, which now may
/// outlive its parent.
pub fn becomes(engine: &Engine) -> bool {
    let is_one = engine.session.trap == Trap::Event
        && !engine.is_callers()
        && ASKED.load(Acquire) != process()
        && ends_with_parent();
    if is_one {
        end_with_parent(false);
    }
    is_one
}

/// The caller chooses what signal it gets when its parent ends.
pub fn asks(engine: &Engine) {
    if !engine.is_callers() {
        ASKED.store(process(), Release);
    }
}

fn ends_with_parent() -> bool {
    let mut signal: c_int = 0;
    // SAFETY: a live output.
    let asked = unsafe { sys!(libc::SYS_prctl, libc::PR_GET_PDEATHSIG, &raw mut signal) };
    asked.is_ok() && signal == libc::SIGKILL
}

fn end_with_parent(ends: bool) {
    let signal = if ends { libc::SIGKILL } else { 0 };
    // SAFETY: no pointers.
    let _ = unsafe { sys!(libc::SYS_prctl, libc::PR_SET_PDEATHSIG, signal) };
}

fn process() -> pid_t {
    // SAFETY: no arguments.
    unsafe { libc::getpid() }
}
