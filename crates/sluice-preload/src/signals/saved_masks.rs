//! Masks that the C library keeps for a jump (`setjmp.h`), in signal mode.
//!
//! It hands the program's memory to the kernel, and takes a refusal for no mask: a thread that
//! jumped there would go on with another mask than it had. No hook comes between the two, and
//! another thread may have a page leave meanwhile. So the page leaves the device.

use crate::bytes::buffers::{set_errno, signal_engine};
use crate::jump::jump;
use crate::next::Next;
use crate::signals::altstack::keep_off_device;
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

/// Takes a mask's page off the device, if it is there.
pub fn keep_mask<T>(mask: *const T) {
    const BYTES: usize = size_of::<u64>();
    let at = mask as usize;
    if let Some(engine) = signal_engine()
        && engine.next_served(at, at.saturating_add(BYTES)).is_some()
    {
        let before = errno();
        keep_off_device(engine, at, BYTES);
        set_errno(before);
    }
}

unsafe extern "C" fn before_keeping(kept: *const Kept, with_mask: c_int) {
    if with_mask != 0 {
        // SAFETY: of the program's memory, only the address.
        keep_mask(unsafe { &raw const (*kept).mask });
    }
}

unsafe extern "C" fn before_going(kept: *const Kept) {
    // SAFETY: what the program has kept.
    unsafe {
        if signal_engine().is_some() && (*kept).has_mask != 0 {
            keep_mask(&raw const (*kept).mask);
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
