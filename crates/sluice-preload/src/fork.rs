//! Fork: the child keeps a true snapshot of memory and a copy of the device.
//!
//! Our handlers must be the last before a fork and the first after it: other libraries' handlers
//! touch the heap, which works only while faults are served. The C library calls them in reverse
//! order before and in order after, so ours must be registered first; jemalloc registers its own
//! before any constructor of ours runs, hence the hook on the registration itself.

use crate::heap::{HEAP, SPACE};
use crate::init::{engine, off_device, refuse};
use crate::{internal, next};
use core::sync::atomic::{AtomicBool, Ordering::*};
use libc::{c_int, c_void};
use sluice_runtime::Trap;

type Handler = Option<unsafe extern "C" fn()>;

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
    // SAFETY: passed on.
    unsafe { next_register_atfork(prepare, parent, child, dso) }
}

/// Every lock is taken, outermost first, so that the child finds them all at rest.
unsafe extern "C" fn prepare() {
    let Some(engine) = engine() else { return };
    HEAP.acquire();
    SPACE.acquire();
    engine.before_fork();
    // SAFETY: the C library's own list.
    unsafe { touch_streams() };
    internal::lock().acquire();
}

unsafe extern "C" fn parent() {
    let Some(engine) = engine() else { return };
    internal::lock().release();
    engine.after_fork_in_parent();
    SPACE.release();
    HEAP.release();
}

unsafe extern "C" fn child() {
    let Some(engine) = engine() else { return };
    internal::lock().release();
    // What the C library allocates here must not wait for the new handler, nor for our locks.
    off_device(|| {
        if let Err(e) = engine.after_fork_in_child() {
            refuse(&e.0);
        }
        if engine.session.trap == Trap::Event
            && let Err(e) = sluice_runtime::start_handlers(engine)
        {
            refuse(&format!(
                "starting the handler thread after fork: errno {e}"
            ));
        }
        if let Err(e) = sluice_runtime::start_control(engine) {
            refuse(&format!(
                "starting the control thread after fork: errno {e}"
            ));
        }
    });
    SPACE.release();
    HEAP.release();
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
