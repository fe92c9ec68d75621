//! Whether the program has set a filter of system calls: then its threads make no call for the
//! runtime that can be left out.

use crate::sent::leave_open;
use core::sync::atomic::{AtomicBool, Ordering::*};

static IS_SET: AtomicBool = AtomicBool::new(false);

/// Notes that the program sets one.
pub fn note() {
    IS_SET.store(true, Release);
    leave_open(libc::SIGSYS);
}

/// Whether it has, or a process that it was forked from.
pub fn is_set() -> bool {
    IS_SET.load(Acquire)
}
