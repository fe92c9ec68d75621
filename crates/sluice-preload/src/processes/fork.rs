//! Fork: the child keeps a true snapshot of memory and a copy of the device.
//!
//! Our handlers must be the last before a fork and the first after it: other libraries' handlers
//! touch the heap, which works only while faults are served. The C library calls them in reverse
//! order before and in order after, so ours must be registered first; jemalloc registers its own
//! before any constructor of ours runs, hence the hook on the registration itself.

use crate::allocator::heap::{self, SPACE};
use crate::allocator::{limits, system};
use crate::bytes::buffers::set_errno;
use crate::device::{engine, engine_in_any_child, know, know_all, refuse};
use crate::internal;
use crate::next;
use crate::processes::parents;
use crate::signals::altstack;
use crate::threads::affinity;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::*};
use libc::{c_int, c_void};
use sluice_region::{PAGE, errno, forget_all_dispatched};
use sluice_runtime::{begin_fork, begin_in_child, end_fork, hold_signals, restore_signals};

/// What a C library calls around a fork.
pub type Handler = Option<unsafe extern "C" fn()>;

next!(next_register_atfork: c"__register_atfork"(
    prepare: Handler, parent: Handler, child: Handler, dso: *mut c_void) -> c_int);

static STREAMS: next::Next = next::Next::new(c"_IO_list_all");
static REGISTERED: AtomicBool = AtomicBool::new(false);

/// Registers our handlers, once.
pub fn register() {
    if !REGISTERED.swap(true, AcqRel) {
        // Looked up now: between our two handlers the heap is locked.
        STREAMS.address();
        // SAFETY: functions of this library, which is never unloaded.
        unsafe {
            next_register_atfork(
                Some(prepare),
                Some(parent),
                Some(child),
                core::ptr::null_mut(),
            )
        };
    }
}

/// # Safety
/// Contract of the C library's function, which `pthread_atfork` calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __register_atfork(
    prepare: Handler,
    parent: Handler,
    child: Handler,
    dso: *mut c_void,
) -> c_int {
    register();
    // A child reads their list before its faults are served. SAFETY: passed on.
    system::for_system(|| unsafe { next_register_atfork(prepare, parent, child, dso) })
}

/// The mask of the thread that forks. Only the holder of the locks reads or writes it.
static MASK: AtomicU64 = AtomicU64::new(0);
/// Whether that thread took the heap's lock to fork, and had it not before.
static HOLDS_HEAP: AtomicBool = AtomicBool::new(false);
/// The `errno` of the thread that forks. Only what makes the child sets another in between: where
/// it is none, there is a child.
static ERRNO: AtomicI32 = AtomicI32::new(0);

/// Every lock is taken, outermost first, so that the child finds them all at rest.
///
/// Signals wait meanwhile: a handler of the program's that needs one of the locks would find it
/// held by its own thread.
pub unsafe extern "C" fn prepare() {
    let Some(engine) = engine() else { return };
    affinity::makes();
    let before = hold_signals();
    let holds_heap = heap::hold();
    HOLDS_HEAP.store(holds_heap, Relaxed);
    MASK.store(before, Relaxed);
    begin_fork();
    SPACE.acquire();
    limits::hold();
    engine.before_fork();
    // SAFETY: the C library's own list, and the stack of this thread.
    unsafe {
        touch_streams();
        touch_stack();
    }
    heap::touch_own();
    engine.finish_serving();
    internal::lock().acquire();
    ERRNO.store(errno(), Relaxed);
    set_errno(0);
}

/// After a fork, in the parent.
pub unsafe extern "C" fn parent() {
    let Some(engine) = engine() else { return };
    let has_child = errno() == 0;
    let errno_after = if has_child {
        ERRNO.load(Relaxed)
    } else {
        errno()
    };
    internal::lock().release();
    engine.after_fork_in_parent(has_child);
    affinity::made();
    limits::let_go();
    SPACE.release();
    let (before, put_off) = (MASK.load(Relaxed), end_fork());
    if HOLDS_HEAP.load(Relaxed) {
        heap::let_go();
    }
    restore_signals(before, put_off);
    set_errno(errno_after);
}

/// After a fork, in the child.
pub unsafe extern "C" fn child() {
    let Some(engine) = engine_in_any_child() else {
        return;
    };
    begin_in_child();
    parents::forked();
    forget_all_dispatched();
    know();
    altstack::after_fork_in_child();
    let errno_before = ERRNO.load(Relaxed);
    heap::hold_in_child();
    internal::lock().release();
    limits::let_go();
    match engine.after_fork_in_child() {
        Ok(true) => {}
        Ok(false) => know_all(),
        Err(e) => refuse(&e.to_string()),
    }
    SPACE.release();
    let (before, put_off) = (MASK.load(Relaxed), end_fork());
    if HOLDS_HEAP.load(Relaxed) {
        heap::let_go();
    }
    restore_signals(before, put_off);
    set_errno(errno_before);
}

/// Makes what the thread needs of its stack resident, if that is on the device: until the child's
/// own faults are served, a page missing then would read as zeros.
///
/// # Safety
/// The caller holds [`SPACE`].
unsafe fn touch_stack() {
    /// Below, for what is called from here on.
    const BELOW: usize = 4;
    /// Above, for the caller's frames.
    const ABOVE: usize = 4;
    /// At the end of the stack the C library has what it knows of the thread, and its variables:
    /// below that on one architecture, above it on another.
    const BESIDE: usize = 2;
    let here = 0u8;
    let lowest = (&raw const here as usize).saturating_sub(BELOW * PAGE);
    // SAFETY: no pointers.
    let own = unsafe { libc::pthread_self() } as usize;
    // SAFETY: passed on.
    unsafe {
        touch_pages(lowest, BELOW + ABOVE);
        touch_pages(own.saturating_sub(BESIDE * PAGE), 2 * BESIDE + 1);
    }
}

/// Makes pages resident that are the program's and on the device.
///
/// # Safety
/// The caller holds [`SPACE`].
pub unsafe fn touch_pages(at: usize, pages: usize) {
    // SAFETY: the caller holds the lock.
    let (Some(engine), Some(space)) = (engine(), unsafe { SPACE.get_held() }) else {
        return;
    };
    for page in (0..pages).map(|n| at + n * PAGE) {
        let first = page.wrapping_sub(engine.arena().0) / PAGE;
        if engine.in_arena(page) && space.is_open(first) {
            // SAFETY: a page that the program can read.
            unsafe { core::ptr::read_volatile(page as *const u8) };
        }
    }
}

/// Makes the C library's streams resident: the child resets their locks before it runs our
/// handler, and a page missing then would read as zeros.
unsafe fn touch_streams() {
    const CHAIN: usize = 0x68;
    const LOCK: usize = 0x88;
    const MAX_STREAMS: usize = 100_000;
    // SAFETY: `_IO_list_all` heads a list of streams linked at CHAIN, each with a lock at LOCK;
    // the layout is part of the C library's binary interface.
    unsafe {
        let head = STREAMS.address() as *const *const u8;
        if head.is_null() {
            return;
        }
        let mut stream = *head;
        for _ in 0..MAX_STREAMS {
            if stream.is_null() {
                return;
            }
            core::ptr::read_volatile(stream);
            let lock = stream.add(LOCK).cast::<*const u8>().read_volatile();
            if !lock.is_null() {
                core::ptr::read_volatile(lock);
            }
            stream = stream.add(CHAIN).cast::<*const u8>().read_volatile();
        }
    }
}
