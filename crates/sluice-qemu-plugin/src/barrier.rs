//! A flag of many threads and one of all, of which each side sees the other's: at no cost for the
//! many.
//!
//! A thread sets its own flag and looks at the common one; who has set the common one looks at
//! those of the threads. Each of the threads would need a barrier between, thousands of times a
//! millisecond. Instead the kernel has each of them go through one when the common flag is set.

use std::sync::atomic::{Ordering::SeqCst, compiler_fence};
use std::time::Duration;

const REGISTER: i32 = 1 << 4;
const EXPEDITED: i32 = 1 << 3;
/// Without the kernel's help: no store waits for so long.
const LONG: Duration = Duration::from_millis(10);

/// Between a thread's own flag and its look at the common one.
#[inline]
pub fn before_look() {
    compiler_fence(SeqCst);
}

/// Between the common flag and the look at those of the threads.
pub fn everywhere() {
    let done = membarrier(REGISTER) && membarrier(EXPEDITED);
    if !done {
        std::thread::sleep(LONG);
    }
}

fn membarrier(command: i32) -> bool {
    // SAFETY: no pointers.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}
