//! Memory that a program takes from the device by name, whatever else is placed.

use crate::allocator::heap::{give, is_in_use, is_lockable, take};
use crate::allocator::profile;
use crate::bytes::buffers::set_errno;
use crate::device::engine;
use crate::memory::map::pointer;
use crate::memory::parts::of_arena;
use libc::{c_int, c_void, size_t};

/// Takes whole pages of zeros. Takes the place of the function of that name in
/// `libsluice_control.so`.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_alloc(bytes: size_t) -> *mut c_void {
    let taken = match engine() {
        None => Err(libc::ENODEV),
        Some(engine) if engine.arena().1 == 0 => Err(libc::ENOTSUP),
        Some(_) if bytes == 0 => Err(libc::EINVAL),
        Some(_) => take(bytes)
            .ok_or(libc::ENOMEM)
            .and_then(|addr| is_lockable(addr, bytes).then_some(addr).ok_or(libc::EAGAIN))
            .inspect(|addr| profile::allocated(*addr, bytes)),
    };
    match taken {
        Ok(addr) => pointer(Ok(addr)),
        Err(errno) => {
            set_errno(errno);
            core::ptr::null_mut()
        }
    }
}

/// Gives back what [`sluice_alloc`] gave. Takes the place of the function of that name in
/// `libsluice_control.so`.
///
/// # Safety
/// Nothing uses the memory any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_free(memory: *mut c_void, bytes: size_t) -> c_int {
    if memory.is_null() {
        return 0;
    }
    let given = engine().and_then(|engine| {
        let part = of_arena(engine, memory as usize, bytes)?;
        let is_known = part.is_whole && is_in_use(engine, part.addr, part.len);
        is_known.then(|| give(part.addr, part.len))
    });
    match given {
        Some(()) => 0,
        None => {
            set_errno(libc::EINVAL);
            -1
        }
    }
}
