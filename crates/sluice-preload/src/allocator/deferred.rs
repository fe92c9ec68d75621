//! Memory that is given back by a handler of a signal which came in the midst of an allocation of
//! its own thread. That thread has the heap's lock, so the next one that takes memory frees it.
//!
//! Such a handler is not allowed to use the heap at all. With the C library alone it most often
//! gets away with it, as a program with one thread takes no lock there.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering::*};

/// The last one that was given back. Each holds the address of the one before.
static LAST: AtomicPtr<u8> = AtomicPtr::new(null_mut());

/// Gives a chunk back.
///
/// # Safety
/// It is the caller's, has room for an address, and nobody uses it any more.
pub unsafe fn give(chunk: *mut u8) {
    let mut before = LAST.load(Relaxed);
    loop {
        // SAFETY: by contract.
        unsafe { chunk.cast::<*mut u8>().write(before) };
        match LAST.compare_exchange_weak(before, chunk, Release, Relaxed) {
            Ok(_) => return,
            Err(now) => before = now,
        }
    }
}

/// Frees what was given back.
#[inline]
pub fn free_all(free: impl FnMut(*mut u8)) {
    if !LAST.load(Relaxed).is_null() {
        free_each(free);
    }
}

#[cold]
fn free_each(mut free: impl FnMut(*mut u8)) {
    let mut chunk = LAST.swap(null_mut(), Acquire);
    while !chunk.is_null() {
        // SAFETY: `give` wrote it there, and nobody has changed it since.
        let before = unsafe { chunk.cast::<*mut u8>().read() };
        free(chunk);
        chunk = before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_given_back_is_freed_once() {
        let mut chunks = [[0u64; 3]; 5];
        let expected: Vec<*mut u8> = chunks
            .iter_mut()
            .rev()
            .map(|c| c.as_mut_ptr().cast())
            .collect();
        for chunk in expected.iter().rev() {
            // SAFETY: the test's own.
            unsafe { give(*chunk) };
        }
        let mut freed = Vec::new();
        free_all(|chunk| freed.push(chunk));
        assert_eq!(freed, expected);
        free_all(|_| panic!("there is nothing more"));
    }
}
