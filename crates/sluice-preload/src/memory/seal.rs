//! `mseal`, which fixes mappings for good. The runtime changes those of the device all the time.

use crate::bytes::answers::status;
use crate::device::engine;
use crate::memory::behind;
use crate::memory::parts::{of_arena, touches_window};
use libc::{c_int, c_ulong, c_void, size_t};

/// For memory of the device, the answer of a kernel without it.
///
/// # Safety
/// C contract of `mseal`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mseal(addr: *mut c_void, len: size_t, flags: c_ulong) -> c_int {
    let is_devices = engine().is_some_and(|engine| {
        let addr = addr as usize;
        of_arena(engine, addr, len).is_some() || touches_window(engine, addr, len)
    });
    status(match is_devices {
        true => Err(libc::ENOSYS),
        // SAFETY: the program's own request.
        false => unsafe { behind::mseal(addr as usize, len, flags) },
    })
}
