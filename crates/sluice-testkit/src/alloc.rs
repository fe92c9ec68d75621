//! An allocator that counts, to prove that code does not allocate.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The system's allocator with counters. Declare one as `#[global_allocator]`.
///
/// Counts those of all threads, so a test binary with it should hold a single test.
pub struct CountingAlloc {
    calls: AtomicU64,
    touched_bytes: AtomicU64,
    zeroed_bytes: AtomicU64,
}

/// What was asked of the allocator so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Calls that allocate, grow or shrink.
    pub calls: u64,
    /// Bytes given out to be written by the caller.
    pub touched_bytes: u64,
    /// Bytes asked for as zeroes, which the operating system gives without touching them.
    pub zeroed_bytes: u64,
}

impl CountingAlloc {
    /// An allocator that has counted nothing yet.
    #[expect(clippy::new_without_default, reason = "a static cannot use Default")]
    pub const fn new() -> CountingAlloc {
        CountingAlloc {
            calls: AtomicU64::new(0),
            touched_bytes: AtomicU64::new(0),
            zeroed_bytes: AtomicU64::new(0),
        }
    }

    /// What was asked so far.
    pub fn counts(&self) -> Counts {
        Counts {
            calls: self.calls.load(Relaxed),
            touched_bytes: self.touched_bytes.load(Relaxed),
            zeroed_bytes: self.zeroed_bytes.load(Relaxed),
        }
    }
}

// SAFETY: every call goes unchanged to the system's allocator, which keeps the contract; the
// counters allocate nothing. Needed because only a global allocator sees all allocations.
unsafe impl GlobalAlloc for CountingAlloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.calls.fetch_add(1, Relaxed);
        self.touched_bytes.fetch_add(layout.size() as u64, Relaxed);
        // SAFETY: the caller's guarantees are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.calls.fetch_add(1, Relaxed);
        self.zeroed_bytes.fetch_add(layout.size() as u64, Relaxed);
        // SAFETY: the caller's guarantees are those that the system's allocator asks for.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        self.calls.fetch_add(1, Relaxed);
        self.touched_bytes.fetch_add(new_size as u64, Relaxed);
        // SAFETY: the caller's guarantees are those that the system's allocator asks for.
        unsafe { System.realloc(ptr, layout, new_size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's guarantees are those that the system's allocator asks for.
        unsafe { System.dealloc(ptr, layout) }
    }
}
