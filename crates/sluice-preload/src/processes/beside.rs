//! Processes that use the program's memory beside it: children of `vfork`, and of `clone` with
//! `CLONE_VM`.
//!
//! In event mode the program's own process has the threads that bring pages in. A child that
//! outlives it would read zeros where a page had left, so it is killed when the program ends. The
//! kernel does that when the thread ends that made the child, which may be sooner.

use crate::bytes::buffers::set_errno;
use crate::device::engine;
use crate::next::Next;
use crate::signals::dispatch::comes_back;
use crate::threads::affinity;
use core::ffi::c_void;
use core::sync::atomic::{AtomicI32, Ordering::*};
use libc::{c_int, pid_t};
use sluice_region::sys;
use sluice_runtime::{Engine, Trap, has_filter};

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
pub fn must_end_too(engine: &Engine, flags: c_int) -> bool {
    const NO_CHILD: c_int = libc::CLONE_THREAD | libc::CLONE_PARENT;
    let shares = flags & libc::CLONE_VM != 0 && flags & NO_CHILD == 0;
    shares && engine.session.trap == Trap::Event
}

/// The number of this process, if a child of `vfork` has to end with it; or else 0. A filter of
/// system calls may end the child where it says so.
extern "C" fn before_vfork() -> pid_t {
    affinity::await_own();
    let must_end = engine().is_some_and(|engine| must_end_too(engine, libc::CLONE_VM));
    match must_end && !has_filter() && !comes_back() {
        true => process(),
        false => 0,
    }
}

static NEXT_VFORK: Next = Next::new(c"vfork");

extern "C" fn libcs_vfork() -> usize {
    NEXT_VFORK.address()
}

extern "C" fn vfork_failed(errno: c_int) -> pid_t {
    set_errno(errno);
    -1
}

/// The C library's, but that the child asks to end with its parent before it goes on. It uses the
/// stack of its parent, of which the return address is kept in a register meanwhile.
///
/// # Safety
/// C contract of `vfork`.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn vfork() -> pid_t {
    core::arch::naked_asm!(
        "sub rsp, 8",
        "call {before}",
        "test eax, eax",
        "je 5f",
        "add rsp, 8",
        "mov r8d, eax",
        "pop r9",
        "mov eax, {vfork}",
        "syscall",
        "push r9",
        "test rax, rax",
        "je 2f",
        "js 4f",
        "ret",
        // The child. Its parent may have ended by now; one in another namespace has no number.
        "2:",
        "mov eax, {prctl}",
        "mov edi, {death}",
        "mov esi, {kill_signal}",
        "syscall",
        "mov eax, {getppid}",
        "syscall",
        "test eax, eax",
        "je 3f",
        "cmp eax, r8d",
        "je 3f",
        "mov eax, {getpid}",
        "syscall",
        "mov edi, eax",
        "mov esi, {kill_signal}",
        "mov eax, {kill}",
        "syscall",
        "3:",
        "xor eax, eax",
        "ret",
        "4:",
        "neg eax",
        "mov edi, eax",
        "jmp {failed}",
        "5:",
        "call {libcs}",
        "add rsp, 8",
        "jmp rax",
        before = sym before_vfork,
        libcs = sym libcs_vfork,
        failed = sym vfork_failed,
        vfork = const libc::SYS_vfork,
        prctl = const libc::SYS_prctl,
        getpid = const libc::SYS_getpid,
        getppid = const libc::SYS_getppid,
        kill = const libc::SYS_kill,
        death = const libc::PR_SET_PDEATHSIG,
        kill_signal = const libc::SIGKILL,
    );
}

/// As above, for the other architecture, whose kernel knows this call as a kind of `clone`. The
/// return address is in a register all along.
///
/// # Safety
/// C contract of `vfork`.
#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn vfork() -> pid_t {
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "bl {before}",
        "ldp x29, x30, [sp], #16",
        "cbz w0, 5f",
        "mov w9, w0",
        "mov x0, #{flags}",
        "mov x1, #0",
        "mov x8, #{clone}",
        "svc #0",
        "cbz x0, 2f",
        "tbnz x0, #63, 4f",
        "ret",
        // The child. Its parent may have ended by now; one in another namespace has no number.
        "2:",
        "mov x0, #{death}",
        "mov x1, #{kill_signal}",
        "mov x8, #{prctl}",
        "svc #0",
        "mov x8, #{getppid}",
        "svc #0",
        "cbz w0, 3f",
        "cmp w0, w9",
        "b.eq 3f",
        "mov x8, #{getpid}",
        "svc #0",
        "mov x1, #{kill_signal}",
        "mov x8, #{kill}",
        "svc #0",
        "3:",
        "mov x0, #0",
        "ret",
        "4:",
        "neg w0, w0",
        "b {failed}",
        "5:",
        "stp x29, x30, [sp, #-16]!",
        "bl {libcs}",
        "mov x16, x0",
        "ldp x29, x30, [sp], #16",
        "br x16",
        before = sym before_vfork,
        libcs = sym libcs_vfork,
        failed = sym vfork_failed,
        flags = const libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
        clone = const libc::SYS_clone,
        prctl = const libc::SYS_prctl,
        getpid = const libc::SYS_getpid,
        getppid = const libc::SYS_getppid,
        kill = const libc::SYS_kill,
        death = const libc::PR_SET_PDEATHSIG,
        kill_signal = const libc::SIGKILL,
    );
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
fn becomes(engine: &Engine) -> bool {
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
