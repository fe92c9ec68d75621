//! An allocator that counts, to prove that code does not allocate.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // Constant and without a destructor, so that counting itself never allocates.
    static COUNTS: Cell<Counts> =
        const { Cell::new(Counts {
            calls: 0, touched_bytes: 0, zeroed_bytes: 0, held_bytes: 0, most_bytes: 0,
        }) };
}

/// The system's allocator, counting for each thread. Declare one as `#[global_allocator]`.
pub struct CountingAlloc;

/// What a thread's calls of the allocator came to so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Calls that allocate, grow or shrink.
    pub calls: u64,
    /// Bytes given out to be written by the caller.
    pub touched_bytes: u64,
    /// Bytes asked for as zeroes, which the operating system gives without touching them.
    pub zeroed_bytes: u64,
    /// Bytes that are not given back; of what another thread was given, none.
    pub held_bytes: u64,
    /// The most that these were.
    pub most_bytes: u64,
}

impl CountingAlloc {
    /// What the calling thread has asked so far.
    pub fn counts(&self) -> Counts {
        COUNTS.get()
    }
}

fn count(touched: usize, zeroed: usize) {
    let mut counts = COUNTS.get();
    counts.calls += 1;
    counts.touched_bytes += touched as u64;
    counts.zeroed_bytes += zeroed as u64;
    counts.held_bytes += (touched + zeroed) as u64;
    counts.most_bytes = counts.most_bytes.max(counts.held_bytes);
    COUNTS.set(counts);
}

fn give_back(bytes: usize) {
    let mut counts = COUNTS.get();
    counts.held_bytes = counts.held_bytes.saturating_sub(bytes as u64);
    COUNTS.set(counts);
}

// SAFETY: every call goes unchanged to the system's allocator, which keeps the contract; the
// counters allocate nothing. Needed because only a global allocator sees all allocations.
unsafe impl GlobalAlloc for CountingAlloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller's guarantees are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(0, layout.size());
        // SAFETY: the caller's guarantees are those that the system's allocator asks for.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        give_back(layout.size());
        count(new_size, 0);
        // SAFETY: the caller's guarantees are those that the system's allocator asks for.
        unsafe { System.realloc(ptr, layout, new_size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        give_back(layout.size());
        // SAFETY: the caller's guarantees are those that the system's allocator asks for.
        unsafe { System.dealloc(ptr, layout) }
    }
}
