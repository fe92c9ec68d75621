//! Memory that a program wants to stay in memory. That of the device does: it is memory, not swap.
//!
//! The kernel must not be asked. It would bring every page of a range at once, and move none of
//! them any more.

use crate::change::{mapped, status};
use crate::device::engine;
use libc::{c_int, c_long, c_uint, c_void, size_t};
use sluice_region::sys;

/// The answer for a range of the device, or else the kernel's.
fn lock(number: c_long, addr: *const c_void, len: size_t, flags: c_uint) -> c_int {
    match engine().and_then(|engine| mapped(engine, addr as usize, len)) {
        Some(range) => status(range.map(|_| ())),
        // SAFETY: the program's own request; no memory changes.
        None => status(unsafe { sys!(number, addr, len, flags) }.map(drop)),
    }
}

/// # Safety
/// C contract of `mlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mlock(addr: *const c_void, len: size_t) -> c_int {
    lock(libc::SYS_mlock, addr, len, 0)
}

/// # Safety
/// C contract of `mlock2`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mlock2(addr: *const c_void, len: size_t, flags: c_uint) -> c_int {
    lock(libc::SYS_mlock2, addr, len, flags)
}

/// # Safety
/// C contract of `munlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn munlock(addr: *const c_void, len: size_t) -> c_int {
    lock(libc::SYS_munlock, addr, len, 0)
}

/// All memory is the device's and that of its emulation, which is much more, besides some that
/// needs no lock to be there. What cannot be asked for is refused as by the kernel.
///
/// # Safety
/// C contract of `mlockall`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mlockall(flags: c_int) -> c_int {
    let all = libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT;
    let is_asked = flags & (libc::MCL_CURRENT | libc::MCL_FUTURE) != 0 && flags & !all == 0;
    if is_asked && engine().is_some() {
        return 0;
    }
    // SAFETY: the program's own request; no memory changes.
    status(unsafe { sys!(libc::SYS_mlockall, flags) }.map(drop))
}
