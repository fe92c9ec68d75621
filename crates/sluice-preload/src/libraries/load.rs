//! Libraries that the program loads while it runs.
//!
//! One that is loaded with `RTLD_DEEPBIND`, as PHP's are, finds the C library's functions before
//! ours, and would free there what was allocated here. So none is bound that way.

use crate::device::{Heap, heap};
use crate::next::Next;
use libc::{c_char, c_int, c_void};

static NEXT: Next = Next::new(c"dlopen");

/// The function to go on with, and its flags.
#[repr(C)]
struct Onward {
    function: usize,
    flags: usize,
}

extern "C" fn onward(_: *const c_char, flags: c_int) -> Onward {
    let flags = match heap() {
        Heap::Next => flags,
        Heap::Early | Heap::Device => flags & !libc::RTLD_DEEPBIND,
    };
    Onward {
        function: NEXT.address(),
        flags: flags as usize,
    }
}

/// Goes on by a jump: where a library is looked for depends on the caller.
///
/// # Safety
/// C contract of `dlopen`.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!(
        "push rdi",
        "sub rsp, 16",
        "call {onward}",
        "add rsp, 16",
        "pop rdi",
        "mov esi, edx",
        "jmp rax",
        onward = sym onward,
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        "stp x29, x30, [sp, -32]!",
        "str x0, [sp, 16]",
        "bl {onward}",
        "mov x16, x0",
        "ldr x0, [sp, 16]",
        "ldp x29, x30, [sp], 32",
        "br x16",
        onward = sym onward,
    );
}
