//! The library's own memory, apart from the program's heap.
//!
//! The runtime must not touch the device to serve the device. Everything that Rust code in this
//! library allocates comes from one reserved range, by which `free` also recognises its pointers
//! among the program's.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr::{copy_nonoverlapping, null_mut};
use core::sync::atomic::{AtomicUsize, Ordering::*};
use dlmalloc::{Allocator, Dlmalloc};
use sluice_region::{PAGE, dont_need, has_filled, is_valgrind, raw_madvise, raw_mmap, raw_munmap};
use sluice_runtime::fatal::no_memory;
use sluice_runtime::{Lock, Spare, calm};

/// Address space set aside; pages are used as they are needed.
const RANGE_BYTES: usize = 1 << 36;
/// Where that cannot be had (`ulimit -v`) less is taken, but enough to say what is wrong.
const RANGE_BYTES_MIN: usize = 1 << 22;
/// From here on an allocation has pages of its own, which are zeros without being written: the
/// tables of a device cost what is used of them, in memory, at the start, and at each fork. Those
/// of a small device, too: with 128 KiB here each start cleared 90 pages that few programs use.
const LARGE: usize = 1 << 13;

/// How the range is mapped.
const PROT: i32 = libc::PROT_READ | libc::PROT_WRITE;
const FLAGS: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

static BASE: AtomicUsize = AtomicUsize::new(0);
static RANGE: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicUsize = AtomicUsize::new(0);
static HEAP: Lock<Dlmalloc<Range>> = Lock::new(Dlmalloc::new_with_allocator(Range));
/// Addresses of large allocations that have been given back.
static SPARE: Held = Held(UnsafeCell::new(Spare::new()));

/// What only the holder of the heap's lock may use.
struct Held(UnsafeCell<Spare>);

// SAFETY: see its note.
unsafe impl Sync for Held {}

/// Hands out the reserved range from its start and takes nothing back.
struct Range;

fn base() -> usize {
    let base = BASE.load(Acquire);
    if base != 0 {
        return base;
    }
    let mut bytes = match is_valgrind() {
        // It keeps a record of each byte.
        true => RANGE_BYTES_MIN,
        false => RANGE_BYTES,
    };
    while bytes >= RANGE_BYTES_MIN {
        // SAFETY: a fresh mapping. Only the holder of the heap's lock comes here.
        if let Ok(base) = unsafe { raw_mmap(0, bytes, PROT, FLAGS, -1, 0) } {
            if bytes < RANGE_BYTES && bytes > RANGE_BYTES_MIN {
                // There is a limit: as much again is left for all else.
                bytes /= 2;
                // SAFETY: nobody uses it yet.
                let _ = unsafe { raw_munmap(base + bytes, bytes) };
            }
            RANGE.store(bytes, Release);
            BASE.store(base, Release);
            return base;
        }
        bytes /= 2;
    }
    0
}

/// A core of the program would be as large as what is set aside, which is not there for that.
pub fn keep_from_core_files() {
    let bytes = RANGE.load(Acquire);
    // SAFETY: whole pages of the range; their contents stay.
    let _ = unsafe { raw_madvise(base(), bytes, libc::MADV_DONTDUMP) };
}

/// Bytes of address space that are set aside.
pub fn range_bytes() -> u64 {
    RANGE.load(Acquire) as u64
}

/// Gives back most of what is set aside, where there is no device: a limit counts it.
pub fn shrink() {
    calm(|| {
        let _held = HEAP.lock();
        let end = NEXT.load(Relaxed) + RANGE_BYTES_MIN;
        let (base, range) = (BASE.load(Acquire), RANGE.load(Acquire));
        // SAFETY: whole pages of the range that were not handed out.
        if base != 0 && end < range && unsafe { raw_munmap(base + end, range - end) }.is_ok() {
            RANGE.store(end, Release);
        }
    });
}

/// Whole pages of zeros that nobody has. Ends the program when there are none left: no part of this
/// library could go on without, and the standard library's way to say so may hang in here.
fn fresh(size: usize) -> *mut u8 {
    let base = base();
    // SAFETY: only the holder of the heap's lock comes here.
    if let Some(start) = unsafe { (*SPARE.0.get()).take(size) } {
        return start as *mut u8;
    }
    let at = NEXT.load(Relaxed);
    match at.checked_add(size) {
        Some(end) if base != 0 && end <= RANGE.load(Acquire) => {
            NEXT.store(end, Relaxed);
            (base + at) as *mut u8
        }
        _ => no_memory(size),
    }
}

/// Makes zeros of whole pages that were handed out.
///
/// # Safety
/// Nobody uses them any more.
unsafe fn clear(start: usize, len: usize) -> Result<(), i32> {
    // SAFETY: passed on.
    unsafe {
        match has_filled() {
            true => {
                let (prot, flags) = (PROT, FLAGS | libc::MAP_FIXED);
                raw_mmap(start, len, prot, flags, -1, 0).map(drop)
            }
            false => dont_need(start, len),
        }
    }
}

// SAFETY: ranges handed out are distinct, zeroed and never taken back.
unsafe impl Allocator for Range {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let size = size.next_multiple_of(PAGE);
        (fresh(size), size, 0)
    }
    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        null_mut()
    }
    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }
    fn free(&self, _: *mut u8, _: usize) -> bool {
        false
    }
    fn can_release_part(&self, _: u32) -> bool {
        false
    }
    fn allocates_zeros(&self) -> bool {
        true
    }
    fn page_size(&self) -> usize {
        PAGE
    }
}

/// Whether a pointer came from here.
pub fn owns(pointer: *mut u8) -> bool {
    let base = BASE.load(Acquire);
    base != 0 && (pointer as usize).wrapping_sub(base) < RANGE.load(Relaxed)
}

/// The lock, to be held across a fork.
pub fn lock() -> &'static Lock<Dlmalloc<impl Allocator>> {
    &HEAP
}

/// Uses the heap alone, and with signals held back: a handler of the program's may fork, or move
/// bytes by way of this memory.
fn with_heap<R>(use_heap: impl FnOnce(&mut Dlmalloc<Range>) -> R) -> R {
    calm(|| use_heap(&mut HEAP.lock()))
}

/// The allocator of this library's Rust code.
pub struct Internal;

/// Whether an allocation has pages of its own. Pages are aligned for all but the oddest.
fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE && layout.align() <= PAGE
}

// SAFETY: dlmalloc keeps the contract, and the lock makes it exclusive; pages of their own are
// handed out once.
unsafe impl GlobalAlloc for Internal {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            return with_heap(|_| fresh(layout.size().next_multiple_of(PAGE)));
        }
        // SAFETY: any size and alignment are allowed.
        with_heap(|heap| unsafe { heap.malloc(layout.size(), layout.align()) })
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            // SAFETY: as above; such pages are zeros.
            return unsafe { self.alloc(layout) };
        }
        // SAFETY: as above.
        with_heap(|heap| unsafe { heap.calloc(layout.size(), layout.align()) })
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if is_large(layout) {
            let (start, len) = (pointer as usize, layout.size().next_multiple_of(PAGE));
            // SAFETY: as above, under the lock. Pages that are not zeros are not handed out again.
            return with_heap(|_| unsafe {
                if clear(start, len).is_ok() {
                    (*SPARE.0.get()).give(start, len);
                }
            });
        }
        // SAFETY: the caller got the pointer from here with this layout.
        with_heap(|heap| unsafe { heap.free(pointer, layout.size(), layout.align()) })
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller vouches for the new size.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if !is_large(layout) && !is_large(new) {
            // SAFETY: as above.
            return with_heap(|heap| unsafe {
                heap.realloc(pointer, layout.size(), layout.align(), size)
            });
        }
        // SAFETY: as above; the two do not overlap.
        unsafe {
            let moved = self.alloc(new);
            if !moved.is_null() {
                copy_nonoverlapping(pointer, moved, layout.size().min(size));
                self.dealloc(pointer, layout);
            }
            moved
        }
    }
}
