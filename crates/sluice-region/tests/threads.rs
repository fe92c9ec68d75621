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

/// Only the kernel could tell of it, and a store of its was lost if a page left meanwhile.
#[test]
fn a_thread_made_behind_the_librarys_back_is_noticed_at_once() {
    const THREAD: i32 =
        CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    let count = ThreadCount::open().unwrap();
    let before = (1..).find(|&most| count.are_at_most(most)).unwrap();
    let stack = Mapping::anonymous(1 << 16).unwrap();
    let top = (stack.addr() + stack.len()) as *mut libc::c_void;
    // SAFETY: the stack is the new thread's alone and outlives it; `wait` needs nothing else.
    let made = unsafe { libc::clone(wait, top, THREAD, core::ptr::null_mut()) };
    assert!(made > 0);
    let are_more = !count.are_at_most(before);
    let are_two = count.are_at_most(before + 1);
    ENDS.store(true, Release);
    while !count.are_at_most(before) {
        std::thread::yield_now();
    }
    assert!(are_more && are_two);
}
