//! Masks that the C library keeps for a jump (`setjmp.h`), in signal mode.
//!
//! It hands the program's memory to the kernel, and takes a refusal for no mask: a thread that
//! jumped there would go on with another mask than it had.

use crate::buffers::{Buffers, One, set_errno, signal_engine};
use crate::jump::jump;
use crate::next::Next;
use libc::c_int;
use sluice_region::errno;

/// Registers that are kept, as words.
const REGISTERS: usize = if cfg!(target_arch = "x86_64") { 8 } else { 22 };

/// The beginning of `struct __jmp_buf_tag` of `setjmp.h`.
#[repr(C)]
pub struct Kept {
    registers: [u64; REGISTERS],
    has_mask: c_int,
    mask: u64,
}

/// Brings the page where a mask is.
unsafe fn bring_mask(kept: *const Kept) {
    if let Some(engine) = signal_engine() {
        let before = errno();
        // SAFETY: of the program's memory, only the address.
        One(unsafe { &raw const (*kept).mask }).touch(engine);
        set_errno(before);
    }
}

unsafe extern "C" fn before_keeping(kept: *const Kept, with_mask: c_int) {
    if with_mask != 0 {
        // SAFETY: passed on.
        unsafe { bring_mask(kept) };
    }
}

unsafe extern "C" fn before_going(kept: *const Kept) {
    // SAFETY: what the program has kept.
    unsafe {
        if signal_engine().is_some() && (*kept).has_mask != 0 {
            bring_mask(kept);
        }
    }
}

/// Hooks of functions that keep or leave: what comes before each, with its arguments.
macro_rules! jumps {
    ($($name:ident $symbol:literal = $inner:ident($($arg:ident: $type:ty),*)
       $before:ident($($given:expr),*);)+) => {$(
        unsafe extern "C" fn $inner($($arg: $type),*) -> usize {
            static NEXT: Next = Next::new($symbol);
            // SAFETY: passed on.
            unsafe { $before($($given),*) };
            NEXT.address()
        }

        jump!($name($($arg: $type),*), $inner);
    )+};
}

jumps! {
    __sigsetjmp c"__sigsetjmp" = in_sigsetjmp(kept: *const Kept, with_mask: c_int)
        before_keeping(kept, with_mask);
    setjmp c"setjmp" = in_setjmp(kept: *const Kept) before_keeping(kept, 1);
    longjmp c"longjmp" = in_longjmp(kept: *const Kept) before_going(kept);
    _longjmp c"_longjmp" = in_plain_longjmp(kept: *const Kept) before_going(kept);
    siglongjmp c"siglongjmp" = in_siglongjmp(kept: *const Kept) before_going(kept);
    __longjmp_chk c"__longjmp_chk" = in_checked_longjmp(kept: *const Kept) before_going(kept);
}
