//! Contexts of the program's own (`ucontext.h`), in signal mode.
//!
//! Each has a stack, on which signals may come, and a mask, which must let SIGBUS through.

use crate::altstack::keep_off_device;
use crate::buffers::{One, bring, signal_engine};
use crate::mask::without_bus;
use crate::next::Next;
use libc::{c_int, ucontext_t};

static NEXT_MAKE: Next = Next::new(c"makecontext");

/// Takes the stack of a context off the device: a signal of the program's that comes while it runs
/// is written there by the kernel, which does not wait for a page. Returns the function to go on
/// with.
extern "C" fn before_make(context: *const ucontext_t) -> usize {
    if let Some(engine) = signal_engine() {
        // SAFETY: the program's context, whose stack it has set.
        let stack = unsafe { (*context).uc_stack };
        keep_off_device(engine, stack.ss_sp as usize, stack.ss_size);
    }
    NEXT_MAKE.address()
}

/// Goes on by a jump: nobody knows how many arguments there are.
///
/// # Safety
/// C contract of `makecontext`.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn makecontext() {
    core::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "push rax",
        "call {before}",
        "mov r11, rax",
        "pop rax",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "jmp r11",
        before = sym before_make,
    );
}

/// `makecontext` of the C library, before which its stack is noted; see the other architecture.
///
/// # Safety
/// As above.
#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn makecontext() {
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-80]!",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "stp x6, x7, [sp, #64]",
        "bl {before}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x2, x3, [sp, #32]",
        "ldp x4, x5, [sp, #48]",
        "ldp x6, x7, [sp, #64]",
        "ldp x29, x30, [sp], #80",
        "br x16",
        before = sym before_make,
    );
}

static NEXT_SET: Next = Next::new(c"setcontext");
static NEXT_SWAP: Next = Next::new(c"swapcontext");

/// Takes SIGBUS out of the mask of a context that is to go on. The kernel reads that mask, and
/// writes the one of a context that is left.
unsafe fn prepare(left: *const ucontext_t, to: *mut ucontext_t) {
    // SAFETY: the program's contexts, or null.
    unsafe {
        if signal_engine().is_none() || to.is_null() {
            return;
        }
        bring(&One(left));
        if let Some(mask) = without_bus(libc::SIG_SETMASK, &raw const (*to).uc_sigmask)
            && libc::sigismember(&raw const (*to).uc_sigmask, libc::SIGBUS) == 1
        {
            (*to).uc_sigmask = mask;
        }
    }
}

unsafe extern "C" fn before_set(to: *mut ucontext_t) -> usize {
    // SAFETY: passed on.
    unsafe { prepare(core::ptr::null(), to) };
    NEXT_SET.address()
}

unsafe extern "C" fn before_swap(left: *const ucontext_t, to: *mut ucontext_t) -> usize {
    // SAFETY: passed on.
    unsafe { prepare(left, to) };
    NEXT_SWAP.address()
}

/// Defines a function that goes on by a jump: what is next saves the registers of who calls.
macro_rules! with_context {
    ($name:ident($($arg:ident: $type:ty),*), $before:ident) => {
        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> c_int {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                "push rdi",
                "push rsi",
                "sub rsp, 8",
                "call {before}",
                "add rsp, 8",
                "pop rsi",
                "pop rdi",
                "jmp rax",
                before = sym $before,
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(
                "stp x29, x30, [sp, #-32]!",
                "stp x0, x1, [sp, #16]",
                "bl {before}",
                "mov x16, x0",
                "ldp x0, x1, [sp, #16]",
                "ldp x29, x30, [sp], #32",
                "br x16",
                before = sym $before,
            );
        }
    };
}

with_context!(setcontext(to: *mut ucontext_t), before_set);
with_context!(swapcontext(left: *mut ucontext_t, to: *const ucontext_t), before_swap);
