//! Threads that the C library does not know of. The only test of its process: no other starts any.

use libc::{CLONE_FILES, CLONE_FS, CLONE_SIGHAND, CLONE_SYSVSEM, CLONE_THREAD, CLONE_VM};
use sluice_region::{LibraryCount, Mapping, ThreadCount};
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::{Duration, Instant};

/// Far more than a thread needs to end, for a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

static ENDS: AtomicBool = AtomicBool::new(false);

/// Calls nothing of the C library, whose thread-local storage it would share with its maker.
extern "C" fn wait(_: *mut libc::c_void) -> libc::c_int {
    while !ENDS.load(Acquire) {
        core::hint::spin_loop();
    }
    0
}

const THREAD: i32 =
    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;

/// Whether one more user of this process's memory is noticed while it is there. With `is_own` it
/// is a thread of the runtime's, which does not count.
fn is_noticed(count: &mut ThreadCount, flags: i32, is_own: bool) -> bool {
    let stack = Mapping::anonymous(1 << 16).unwrap();
    let top = (stack.addr() + stack.len()) as *mut libc::c_void;
    ENDS.store(false, Release);
    // SAFETY: the stack is the new thread's alone and outlives it; `wait` needs nothing else.
    let made = unsafe { libc::clone(wait, top, flags, core::ptr::null_mut()) };
    assert!(made > 0);
    if is_own {
        count.set_own(1);
    }
    let are_more = !count.is_one();
    ENDS.store(true, Release);
    count.set_own(0);
    let started = Instant::now();
    while !count.is_one() {
        assert!(started.elapsed() < LIMIT, "the thread never ended");
        std::thread::yield_now();
    }
    are_more
}

/// Only the kernel knew of the thread, and a store of the thread was lost if its page left
/// meanwhile.
#[test]
fn a_thread_made_behind_the_librarys_back_is_noticed_at_once() {
    let library = LibraryCount::find();
    let mut count = ThreadCount::open(library, 0).unwrap();
    assert!(!count.is_one() && !count.is_known_as_one());
    // A child has one thread.
    // SAFETY: the child makes system calls and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let is_one = count.reopen(0, true).is_ok() && count.is_one();
        let all = is_one
            && is_noticed(&mut count, THREAD, false)
            && is_noticed(&mut count, CLONE_VM, false)
            && !is_noticed(&mut count, THREAD, true);
        // SAFETY: ends the child without what its parent would do at its end.
        unsafe { libc::_exit(i32::from(!all)) };
    }
    let mut status = -1;
    // SAFETY: our own child, which nobody else waits for.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
}
