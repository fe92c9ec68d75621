//! Where functions for C write what they answer.

use core::ffi::c_char;

/// Writes a value, if it is wanted.
///
/// # Safety
/// `to` is null or can be written.
pub unsafe fn put<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: the caller's promise.
        unsafe { to.write(value) };
    }
}

/// Writes as much of a text as fits, and a zero, if it is wanted.
///
/// # Safety
/// `to` is null or of `room` bytes.
pub unsafe fn put_text(text: &str, to: *mut c_char, room: usize) {
    if to.is_null() || room == 0 {
        return;
    }
    let len = text.len().min(room - 1);
    // SAFETY: the caller's promise; `len` and the zero fit.
    unsafe {
        core::ptr::copy_nonoverlapping(text.as_ptr().cast(), to, len);
        to.add(len).write(0);
    }
}
