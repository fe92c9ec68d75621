//! The C library's allocator by the names that it has for itself.
//!
//! A program with a `malloc` and a `free` of its own, which count and go on by these, has `calloc`
//! and the others of its libraries from the hooks. What is allocated on the device must be freed
//! there, so these are hooks as well. A program with another allocator has the C library's.

use crate::allocator::malloc::{
    calloc_for, free_by, malloc_for, memalign, pvalloc, realloc_by, valloc,
};
use crate::device::{Heap, heap};
use crate::next;
use libc::{c_void, size_t};

next!(next_malloc: c"__libc_malloc"(size: size_t) -> *mut c_void);
next!(next_free: c"__libc_free"(p: *mut c_void) -> ());
next!(next_calloc: c"__libc_calloc"(n: size_t, size: size_t) -> *mut c_void);
next!(next_realloc: c"__libc_realloc"(p: *mut c_void, size: size_t) -> *mut c_void);
next!(next_memalign: c"__libc_memalign"(align: size_t, size: size_t) -> *mut c_void);
next!(next_valloc: c"__libc_valloc"(size: size_t) -> *mut c_void);
next!(next_pvalloc: c"__libc_pvalloc"(size: size_t) -> *mut c_void);

/// Hooks that allocate: by the function behind them where the heap is not ours.
macro_rules! allocates {
    ($($name:ident($($arg:ident: $type:ty),*), $next:ident, $own:expr;)+) => {$(
        /// # Safety
        /// C contract of the function of this name without its prefix.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> *mut c_void {
            // SAFETY: passed on.
            unsafe {
                match heap() {
                    Heap::Next => $next($($arg),*),
                    Heap::Early | Heap::Device => $own,
                }
            }
        }
    )+};
}

allocates! {
    __libc_malloc(size: size_t), next_malloc, malloc_for(size, 0);
    __libc_calloc(n: size_t, size: size_t), next_calloc, calloc_for(n, size, 0);
    __libc_memalign(align: size_t, size: size_t), next_memalign, memalign(align, size);
    __libc_valloc(size: size_t), next_valloc, valloc(size);
    __libc_pvalloc(size: size_t), next_pvalloc, pvalloc(size);
}

/// # Safety
/// C contract of `realloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __libc_realloc(p: *mut c_void, size: size_t) -> *mut c_void {
    // SAFETY: passed on.
    unsafe {
        match (heap(), p.is_null()) {
            (Heap::Next, true) => next_malloc(size),
            _ => realloc_by(p, size, 0, next_realloc),
        }
    }
}

/// # Safety
/// C contract of `free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __libc_free(p: *mut c_void) {
    // SAFETY: passed on.
    unsafe { free_by(p, next_free) }
}
