//! Contexts of the program's own (`ucontext.h`), in signal mode.
//!
//! Each has a stack, on which signals may come, and a mask, which must let SIGBUS through.

use crate::bytes::buffers::signal_engine;
use crate::jump::jump;
use crate::next::Next;
use crate::signals::altstack::keep_off_device;
use crate::signals::mask::without_bus;
use crate::signals::saved_masks::keep_mask;
use libc::ucontext_t;

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

jump!(makecontext(), before_make);

static NEXT_SET: Next = Next::new(c"setcontext");
static NEXT_SWAP: Next = Next::new(c"swapcontext");

/// Takes SIGBUS out of the mask of a context that is to go on. The kernel reads that mask, and
/// writes the one of a context that is left: their pages leave the device.
unsafe fn prepare(left: *const ucontext_t, to: *mut ucontext_t) {
    // SAFETY: the program's contexts, or null.
    unsafe {
        if signal_engine().is_none() || to.is_null() {
            return;
        }
        keep_mask(&raw const (*to).uc_sigmask);
        if !left.is_null() {
            keep_mask(&raw const (*left).uc_sigmask);
        }
        if let Some(mask) = without_bus(libc::SIG_SETMASK, &raw const (*to).uc_sigmask)
            && libc::sigismember(&raw const (*to).uc_sigmask, libc::SIGBUS) == 1
        {
            (*to).uc_sigmask = mask;
        }
    }
}

static NEXT_GET: Next = Next::new(c"getcontext");

unsafe extern "C" fn before_get(to: *mut ucontext_t) -> usize {
    if !to.is_null() {
        // SAFETY: of the program's memory, only the address.
        keep_mask(unsafe { &raw const (*to).uc_sigmask });
    }
    NEXT_GET.address()
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

jump!(getcontext(to: *mut ucontext_t), before_get);
jump!(setcontext(to: *mut ucontext_t), before_set);
jump!(swapcontext(left: *mut ucontext_t, to: *const ucontext_t), before_swap);
