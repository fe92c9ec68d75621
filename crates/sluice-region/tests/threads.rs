//! Threads that the C library does not know of. The only test of its process: no other starts any.

use libc::{CLONE_FILES, CLONE_FS, CLONE_SIGHAND, CLONE_SYSVSEM, CLONE_THREAD, CLONE_VM};
use sluice_region::{Mapping, ThreadCount};
use std::sync::atomic::{AtomicBool, Ordering::*};

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

/// Whether one more user of this process's memory is noticed while it is there.
fn is_noticed(count: &ThreadCount, flags: i32) -> bool {
    let before = (1..).find(|&most| count.are_at_most(most)).unwrap();
    let stack = Mapping::anonymous(1 << 16).unwrap();
    let top = (stack.addr() + stack.len()) as *mut libc::c_void;
    ENDS.store(false, Release);
    // SAFETY: the stack is the new thread's alone and outlives it; `wait` needs nothing else.
    let made = unsafe { libc::clone(wait, top, flags, core::ptr::null_mut()) };
    assert!(made > 0);
    let are_more = !count.are_at_most(before);
    ENDS.store(true, Release);
    while !count.are_at_most(before) {
        std::thread::yield_now();
    }
    are_more
}

/// Only the kernel could tell of it, and a store of its was lost if a page left meanwhile.
#[test]
fn a_thread_made_behind_the_librarys_back_is_noticed_at_once() {
    let mut count = ThreadCount::open().unwrap();
    assert!(is_noticed(&count, THREAD));
    // A child has one thread, of which the kernel is asked in another way.
    // SAFETY: the child makes system calls and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let is_one = count.reopen().is_ok() && count.are_at_most(1);
        let all = is_one && is_noticed(&count, THREAD) && is_noticed(&count, CLONE_VM);
        // SAFETY: ends the child without what its parent would do at its end.
        unsafe { libc::_exit(i32::from(!all)) };
    }
    let mut status = -1;
    // SAFETY: our own child, which nobody else waits for.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
}
