//! Further C libraries in the same process, which `dlmopen` loads beside the first.
//!
//! No hook is before their functions. A child that one of them forks lacks the device, unless that
//! library calls what ours does around a fork. A program reaches its functions by looking them up,
//! so that is when it learns whom to call.

use crate::device::engine;
use crate::next::{Next, lookup};
use crate::processes::fork::{Handler, child, parent, prepare};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::*};
use libc::{c_int, c_void};
use sluice_runtime::is_forker;

/// As many as the dynamic loader has namespaces.
const MOST: usize = 16;

static NEXT: Next = Next::new(c"dlmopen");
static IS_ANY: AtomicBool = AtomicBool::new(false);
/// Their functions `__register_atfork`, of those that know whom to call.
static KNOWN: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];
/// Calls within the first of a fork. The thread that forks has the locks.
static MORE: AtomicU32 = AtomicU32::new(0);

/// Before the program loads one. It may be where one was that is gone: a library is asked again
/// then, and calls twice.
extern "C" fn onward() -> usize {
    KNOWN.iter().for_each(|known| known.store(0, Release));
    IS_ANY.store(true, Release);
    NEXT.address()
}

/// Goes on by a jump: where a library is looked for depends on the caller.
///
/// # Safety
/// C contract of `dlmopen`.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn dlmopen() -> *mut c_void {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "push rdx",
        "call {onward}",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        onward = sym onward,
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-48]!",
        "stp x0, x1, [sp, #16]",
        "str x2, [sp, #32]",
        "bl {onward}",
        "mov x16, x0",
        "ldr x2, [sp, #32]",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #48",
        "br x16",
        onward = sym onward,
    );
}

/// The program looks something up by a handle.
pub fn meet(handle: *mut c_void) {
    if IS_ANY.load(Acquire) && handle != libc::RTLD_NEXT && engine().is_some() {
        introduce(handle);
    }
}

/// Has the C library that is behind a handle call us around its forks, if it is another one.
fn introduce(handle: *mut c_void) {
    type Register = unsafe extern "C" fn(Handler, Handler, Handler, *mut c_void) -> c_int;
    const NAME: &core::ffi::CStr = c"__register_atfork";
    // SAFETY: the program's handle, and ours.
    let [theirs, own, libcs] = [handle, libc::RTLD_DEFAULT, libc::RTLD_NEXT]
        .map(|from| unsafe { lookup()(from, NAME.as_ptr()) } as usize);
    if [0, own, libcs].contains(&theirs) {
        return;
    }
    for known in &KNOWN {
        match known.compare_exchange(0, theirs, AcqRel, Acquire) {
            Ok(_) => break,
            Err(same) if same == theirs => return,
            Err(_) => {}
        }
    }
    // SAFETY: each C library has this function with this type; ours is never unloaded.
    unsafe {
        let register = core::mem::transmute::<usize, Register>(theirs);
        register(
            Some(before),
            Some(in_parent),
            Some(in_child),
            core::ptr::null_mut(),
        );
    }
}

unsafe extern "C" fn before() {
    match is_forker() {
        true => _ = MORE.fetch_add(1, Relaxed),
        // SAFETY: around a fork, in the order of `fork`.
        false => unsafe { prepare() },
    }
}

/// Whether this is the last of the calls after a fork.
fn is_last() -> bool {
    let less = MORE.fetch_update(Relaxed, Relaxed, |more: u32| more.checked_sub(1));
    less.is_err()
}

unsafe extern "C" fn in_parent() {
    if is_last() {
        // SAFETY: as above.
        unsafe { parent() };
    }
}

unsafe extern "C" fn in_child() {
    if is_last() {
        // SAFETY: as above.
        unsafe { child() };
    }
}
