//! The malloc family.
//!
//! Three sources: the library's own range before there is a device, the device after that, or the
//! next allocator when the program brings one of its own (jemalloc, tcmalloc), whose mappings are
//! placed instead, and when the heap is not placed.

use crate::heap::HEAP;
use crate::init::{Heap, heap};
use crate::{internal, next};
use core::alloc::{GlobalAlloc, Layout};
use core::ptr::{copy_nonoverlapping, null_mut};
use libc::{c_int, c_void, size_t};
use sluice_region::PAGE;

/// Every pointer is aligned for the largest scalar.
const MIN_ALIGN: usize = 16;
/// A word before each of our own early allocations holds its size.
const HEADER: usize = MIN_ALIGN;

next!(next_malloc: c"malloc"(size: size_t) -> *mut c_void);
next!(next_free: c"free"(p: *mut c_void) -> ());
next!(next_calloc: c"calloc"(n: size_t, size: size_t) -> *mut c_void);
next!(next_realloc: c"realloc"(p: *mut c_void, size: size_t) -> *mut c_void);
next!(next_memalign: c"memalign"(align: size_t, size: size_t) -> *mut c_void);
next!(next_usable: c"malloc_usable_size"(p: *mut c_void) -> size_t);

/// Whether the C library's own `malloc` is the next one.
pub fn next_is_libc() -> bool {
    next::Next::new(c"malloc").is_libc()
}

fn no_memory() -> *mut c_void {
    // SAFETY: this thread's errno.
    unsafe { *libc::__errno_location() = libc::ENOMEM };
    null_mut()
}

fn or_no_memory(p: *mut u8) -> *mut c_void {
    if p.is_null() { no_memory() } else { p.cast() }
}

/// Allocates early memory with its size in front.
unsafe fn early(align: usize, size: usize) -> *mut u8 {
    let Some(total) = size.checked_add(align.max(HEADER)) else {
        return null_mut();
    };
    let Ok(layout) = Layout::from_size_align(total, align.max(HEADER)) else {
        return null_mut();
    };
    // SAFETY: the size is not zero.
    let base = unsafe { internal::Internal.alloc_zeroed(layout) };
    if base.is_null() {
        return base;
    }
    let p = base.wrapping_add(align.max(HEADER));
    // SAFETY: there are HEADER bytes before `p`.
    unsafe { p.sub(8).cast::<usize>().write(size) };
    p
}

/// Size of an early allocation. They are few and are not given back.
unsafe fn early_size(p: *mut u8) -> usize {
    // SAFETY: `early` wrote it there.
    unsafe { p.sub(8).cast::<usize>().read() }
}

unsafe fn allocate(align: usize, size: usize) -> *mut u8 {
    // SAFETY: any size is allowed; `align` is a power of two.
    unsafe {
        match heap() {
            Heap::Device if align <= MIN_ALIGN => HEAP.lock().c_malloc(size),
            Heap::Device => HEAP.lock().c_memalign(align, size),
            Heap::Next if align <= MIN_ALIGN => next_malloc(size).cast(),
            Heap::Next => next_memalign(align, size).cast(),
            Heap::Early => early(align, size),
        }
    }
}

/// Bytes of a chunk that its owner may use: dlmalloc keeps the chunk's size, with flags in its low
/// bits, in the word before the pointer; a chunk with neither in-use flag has a mapping of its own.
unsafe fn device_usable(p: *mut u8) -> usize {
    const FLAGS: usize = 7;
    const IN_USE: usize = 3;
    // SAFETY: the pointer came from dlmalloc.
    let head = unsafe { p.sub(8).cast::<usize>().read() };
    let overhead = if head & IN_USE == 0 { 16 } else { 8 };
    (head & !FLAGS) - overhead
}

fn on_device(p: *mut u8) -> bool {
    crate::init::engine().is_some_and(|e| e.in_arena(p as usize))
}

/// # Safety
/// C contract of `malloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(size: size_t) -> *mut c_void {
    // SAFETY: any size is allowed.
    or_no_memory(unsafe { allocate(MIN_ALIGN, size) })
}

/// # Safety
/// C contract of `free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(p: *mut c_void) {
    if p.is_null() || internal::owns(p.cast()) {
        return;
    }
    // SAFETY: the pointer came from one of the two.
    unsafe {
        match (on_device(p.cast()), heap()) {
            (true, Heap::Device) => HEAP.lock().c_free(p.cast()),
            // In the midst of a fork the heap is locked: better to lose a few bytes.
            (true, _) => {}
            (false, _) => next_free(p),
        }
    }
}

/// # Safety
/// C contract of `calloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(n: size_t, size: size_t) -> *mut c_void {
    let Some(total) = n.checked_mul(size) else {
        return no_memory();
    };
    // SAFETY: any size is allowed.
    unsafe {
        match heap() {
            Heap::Device => or_no_memory(HEAP.lock().calloc(total, MIN_ALIGN)),
            Heap::Next => next_calloc(n, size),
            Heap::Early => or_no_memory(early(MIN_ALIGN, total)),
        }
    }
}

/// # Safety
/// C contract of `realloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(p: *mut c_void, size: size_t) -> *mut c_void {
    if p.is_null() {
        // SAFETY: any size is allowed.
        return unsafe { malloc(size) };
    }
    // SAFETY: the pointer came from one of the three.
    unsafe {
        if internal::owns(p.cast()) {
            let new = malloc(size);
            if !new.is_null() {
                let keep = early_size(p.cast()).min(size);
                copy_nonoverlapping(p.cast::<u8>(), new.cast::<u8>(), keep);
            }
            return new;
        }
        if heap() == Heap::Device && on_device(p.cast()) {
            if size == 0 {
                free(p);
                return null_mut();
            }
            return or_no_memory(HEAP.lock().c_realloc(p.cast(), size));
        }
        next_realloc(p, size)
    }
}

/// # Safety
/// C contract of `reallocarray`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn reallocarray(p: *mut c_void, n: size_t, size: size_t) -> *mut c_void {
    match n.checked_mul(size) {
        // SAFETY: passed on.
        Some(total) => unsafe { realloc(p, total) },
        None => no_memory(),
    }
}

/// # Safety
/// C contract of `memalign`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memalign(align: size_t, size: size_t) -> *mut c_void {
    // SAFETY: the alignment is made a power of two, as glibc does.
    or_no_memory(unsafe { allocate(align.next_power_of_two(), size) })
}

/// # Safety
/// C contract of `aligned_alloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aligned_alloc(align: size_t, size: size_t) -> *mut c_void {
    // SAFETY: passed on.
    unsafe { memalign(align, size) }
}

/// # Safety
/// C contract of `posix_memalign`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(
    out: *mut *mut c_void,
    align: size_t,
    size: size_t,
) -> c_int {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    // SAFETY: the alignment is a power of two; the output is the caller's.
    unsafe {
        let p = allocate(align, size);
        if p.is_null() {
            return libc::ENOMEM;
        }
        *out = p.cast();
    }
    0
}

/// # Safety
/// C contract of `valloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn valloc(size: size_t) -> *mut c_void {
    // SAFETY: passed on.
    unsafe { memalign(PAGE, size) }
}

/// # Safety
/// C contract of `pvalloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvalloc(size: size_t) -> *mut c_void {
    // SAFETY: passed on.
    unsafe { memalign(PAGE, size.next_multiple_of(PAGE)) }
}

/// # Safety
/// C contract of `malloc_usable_size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc_usable_size(p: *mut c_void) -> size_t {
    if p.is_null() {
        return 0;
    }
    // SAFETY: the pointer came from one of the three.
    unsafe {
        if internal::owns(p.cast()) {
            early_size(p.cast())
        } else if heap() == Heap::Device && on_device(p.cast()) {
            device_usable(p.cast())
        } else {
            next_usable(p)
        }
    }
}
