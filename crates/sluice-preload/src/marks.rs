//! `sluice_mark`: the program says that a part of it begins.

use crate::device::engine;
use core::ffi::{c_char, c_int};
use sluice_abi::{MARK_INVALID, MARK_NAME_MAX, MARK_NOT_HERE};

/// Sets a mark. Takes the place of the function of that name in `libsluice_control.so`.
///
/// # Safety
/// `name` is null or a text that ends in a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_mark(name: *const c_char) -> c_int {
    let Some(engine) = engine() else {
        return MARK_NOT_HERE;
    };
    if name.is_null() {
        return MARK_INVALID;
    }
    // The name may lie on the device: it is read before anything is locked.
    let mut bytes = [0; MARK_NAME_MAX + 1];
    let mut len = 0;
    while len < bytes.len() {
        // SAFETY: the caller's promise; no byte before was the zero.
        let byte = unsafe { name.add(len).read() } as u8;
        if byte == 0 {
            break;
        }
        bytes[len] = byte;
        len += 1;
    }
    // One that is too long is no name, and is refused as such.
    match core::str::from_utf8(&bytes[..len]) {
        Ok(name) => engine.mark(name),
        Err(_) => MARK_INVALID,
    }
}
