//! The malloc family.
//!
//! Memory has three sources: the library's own range before there is a device, the device after
//! that, or the next allocator. The next allocator serves when the heap is not placed, and when the
//! program brings one of its own (jemalloc, tcmalloc), whose mappings are placed instead. What the
//! dynamic loader and `setlocale` allocate is from the library's own range always, see
//! [`super::system`]. So is what a handler of a signal allocates in the midst of an allocation of
//! its thread.

use crate::allocator::heap::{allocations, allocations_to_take};
use crate::allocator::{deferred, profile, system};
use crate::bytes::buffers::set_errno;
use crate::device::{Heap, heap};
use crate::internal;
use crate::next;
use core::alloc::{GlobalAlloc, Layout};
use core::ptr::{copy_nonoverlapping, null_mut};
use libc::{c_int, c_void, size_t};
use sluice_region::PAGE;

/// Every pointer is aligned for the largest scalar.
const MIN_ALIGN: usize = 16;
/// Before each allocation of our own range are its alignment and its size.
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

/// Defines a function that hands its caller's address on as one more argument. Rust has no other
/// way to learn it.
macro_rules! with_caller {
    ($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),*) -> $ret:ty,
     $x86_64:literal, $aarch64:literal, $to:ident) => {
        $(#[$doc])*
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> $ret {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(concat!("mov ", $x86_64, ", [rsp]"), "jmp {to}", to = sym $to);
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(concat!("mov ", $aarch64, ", x30"), "b {to}", to = sym $to);
        }
    };
}

fn no_memory() -> *mut c_void {
    set_errno(libc::ENOMEM);
    null_mut()
}

fn or_no_memory(p: *mut u8) -> *mut c_void {
    if p.is_null() { no_memory() } else { p.cast() }
}

/// An allocation of our own range.
struct Own {
    align: usize,
    size: usize,
}

impl Own {
    fn layout(&self) -> Option<Layout> {
        let total = self.size.checked_add(self.align)?;
        Layout::from_size_align(total, self.align).ok()
    }

    unsafe fn allocate(align: usize, size: usize) -> *mut u8 {
        let align = align.max(HEADER);
        let own = Own { align, size };
        let Some(layout) = own.layout() else {
            return null_mut();
        };
        // SAFETY: the size is not zero.
        let base = unsafe { internal::Internal.alloc_zeroed(layout) };
        if base.is_null() {
            return base;
        }
        let p = base.wrapping_add(align);
        // SAFETY: there are HEADER bytes before `p`, which is aligned for them.
        unsafe { p.sub(HEADER).cast::<Own>().write(own) };
        p
    }

    unsafe fn of(p: *mut u8) -> Own {
        // SAFETY: `allocate` wrote it there.
        unsafe { p.sub(HEADER).cast::<Own>().read() }
    }

    unsafe fn free(p: *mut u8) {
        // SAFETY: as `allocate` made it.
        unsafe {
            let own = Own::of(p);
            if let Some(layout) = own.layout() {
                internal::Internal.dealloc(p.sub(own.align), layout);
            }
        }
    }
}

/// Where the memory for a call comes from.
fn source(caller: usize) -> Heap {
    match heap() {
        Heap::Early => Heap::Early,
        _ if system::asks(caller) => Heap::Early,
        other => other,
    }
}

unsafe fn allocate(align: usize, size: usize, caller: usize) -> *mut u8 {
    // SAFETY: any size is allowed; `align` is a power of two.
    let made = unsafe {
        match source(caller) {
            Heap::Device => match allocations_to_take() {
                Some(mut heap) if align <= MIN_ALIGN => heap.c_malloc(size),
                Some(mut heap) => heap.c_memalign(align, size),
                None => Own::allocate(align, size),
            },
            Heap::Next if align <= MIN_ALIGN => next_malloc(size).cast(),
            Heap::Next => next_memalign(align, size).cast(),
            Heap::Early => Own::allocate(align, size),
        }
    };
    profile::allocated(made as usize, size);
    made
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

/// A chunk of the device goes: its pages are no allocation's any more.
unsafe fn forget(p: *mut u8) {
    if profile::is_on() {
        // SAFETY: the pointer came from dlmalloc.
        profile::freed(p as usize, unsafe { device_usable(p) });
    }
}

fn on_device(p: *mut u8) -> bool {
    crate::device::engine().is_some_and(|e| e.in_arena(p as usize))
}

with_caller! {
    /// # Safety
    /// C contract of `malloc`.
    malloc(size: size_t) -> *mut c_void, "rsi", "x1", malloc_for
}

/// # Safety
/// C contract of `malloc`.
pub unsafe extern "C" fn malloc_for(size: size_t, caller: usize) -> *mut c_void {
    // SAFETY: any size is allowed.
    or_no_memory(unsafe { allocate(MIN_ALIGN, size, caller) })
}

/// # Safety
/// C contract of `free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(p: *mut c_void) {
    // SAFETY: passed on.
    unsafe { free_by(p, next_free) }
}

/// `free` that goes on by another function, where the memory is another allocator's.
///
/// # Safety
/// C contract of `free`.
pub unsafe fn free_by(p: *mut c_void, next: unsafe fn(*mut c_void)) {
    if p.is_null() {
        return;
    }
    // SAFETY: the pointer came from one of the three.
    unsafe {
        if internal::owns(p.cast()) {
            return Own::free(p.cast());
        }
        match (on_device(p.cast()), heap()) {
            (true, Heap::Device) => {
                forget(p.cast());
                match allocations() {
                    Some(mut heap) => heap.c_free(p.cast()),
                    None => deferred::give(p.cast()),
                }
            }
            // In the midst of a fork the heap is locked: better to lose a few bytes.
            (true, _) => {}
            (false, _) => next(p),
        }
    }
}

with_caller! {
    /// # Safety
    /// C contract of `calloc`.
    calloc(n: size_t, size: size_t) -> *mut c_void, "rdx", "x2", calloc_for
}

/// # Safety
/// C contract of `calloc`.
pub unsafe extern "C" fn calloc_for(n: size_t, size: size_t, caller: usize) -> *mut c_void {
    let Some(total) = n.checked_mul(size) else {
        return no_memory();
    };
    // SAFETY: any size is allowed.
    unsafe {
        match source(caller) {
            Heap::Device => {
                let made = match allocations_to_take() {
                    Some(mut heap) => heap.calloc(total, MIN_ALIGN),
                    None => Own::allocate(MIN_ALIGN, total),
                };
                profile::allocated(made as usize, total);
                or_no_memory(made)
            }
            Heap::Next => next_calloc(n, size),
            Heap::Early => or_no_memory(Own::allocate(MIN_ALIGN, total)),
        }
    }
}

with_caller! {
    /// # Safety
    /// C contract of `realloc`.
    realloc(p: *mut c_void, size: size_t) -> *mut c_void, "rdx", "x2", realloc_for
}

unsafe extern "C" fn realloc_for(p: *mut c_void, size: size_t, caller: usize) -> *mut c_void {
    // SAFETY: passed on.
    unsafe { realloc_by(p, size, caller, next_realloc) }
}

/// `realloc` that goes on by another function, where the memory is another allocator's.
///
/// # Safety
/// C contract of `realloc`.
pub unsafe fn realloc_by(
    p: *mut c_void,
    size: size_t,
    caller: usize,
    next: unsafe fn(*mut c_void, size_t) -> *mut c_void,
) -> *mut c_void {
    if p.is_null() {
        // SAFETY: any size is allowed.
        return unsafe { malloc_for(size, caller) };
    }
    // SAFETY: the pointer came from one of the three.
    unsafe {
        if internal::owns(p.cast()) {
            return move_own(p, size, caller);
        }
        if heap() == Heap::Device && on_device(p.cast()) {
            if size == 0 {
                free(p);
                return null_mut();
            }
            let Some(mut heap) = allocations_to_take() else {
                return move_chunk(p, size, caller);
            };
            forget(p.cast());
            let made = heap.c_realloc(p.cast(), size);
            drop(heap);
            // It may be where it was, and may be what it was. What was copied has missed for no
            // site: its place was not known before.
            let (at, has) = match made.is_null() {
                true => (p.cast(), device_usable(p.cast())),
                false => (made, size),
            };
            profile::allocated(at as usize, has);
            return or_no_memory(made);
        }
        next(p, size)
    }
}

/// Takes a chunk of the device to where its owner can have memory in the midst of an allocation.
unsafe fn move_chunk(p: *mut c_void, size: size_t, caller: usize) -> *mut c_void {
    // SAFETY: the pointer came from dlmalloc.
    unsafe {
        let new = malloc_for(size, caller);
        if !new.is_null() {
            let keep = device_usable(p.cast()).min(size);
            copy_nonoverlapping(p.cast::<u8>(), new.cast::<u8>(), keep);
            free(p);
        }
        new
    }
}

/// Takes an allocation of our own range to where its caller's belong now.
unsafe fn move_own(p: *mut c_void, size: size_t, caller: usize) -> *mut c_void {
    // SAFETY: the pointer is one of our own range.
    unsafe {
        let new = malloc_for(size, caller);
        if !new.is_null() {
            let keep = Own::of(p.cast()).size.min(size);
            copy_nonoverlapping(p.cast::<u8>(), new.cast::<u8>(), keep);
            Own::free(p.cast());
        }
        new
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
    // An allocator after us may have `malloc` go by its `memalign`, which is this one.
    if source(0) == Heap::Next {
        // SAFETY: passed on.
        return unsafe { next_memalign(align, size) };
    }
    // As glibc does, which refuses what no power of two is as large as.
    let Some(align) = align.checked_next_power_of_two() else {
        set_errno(libc::EINVAL);
        return null_mut();
    };
    // SAFETY: a power of two.
    or_no_memory(unsafe { allocate(align, size, 0) })
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
        let p = allocate(align, size, 0);
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
    match size.checked_next_multiple_of(PAGE) {
        // SAFETY: passed on.
        Some(size) => unsafe { memalign(PAGE, size) },
        None => no_memory(),
    }
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
            Own::of(p.cast()).size
        } else if heap() == Heap::Device && on_device(p.cast()) {
            device_usable(p.cast())
        } else {
            next_usable(p)
        }
    }
}
