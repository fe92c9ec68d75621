//! Words of shared memory on which processes wait for each other.

use crate::sys;
use core::ptr::null;
use core::sync::atomic::AtomicU32;

const NS: u64 = 1_000_000_000;

/// Waits while the word has a value, at most `limit_ns`. `false` once that is over; `true` if the
/// word has another value, or for no reason at all.
pub fn futex_wait(word: &AtomicU32, value: u32, limit_ns: Option<u64>) -> bool {
    let limit = limit_ns.map(|ns| libc::timespec {
        tv_sec: (ns / NS) as libc::time_t,
        tv_nsec: (ns % NS) as _,
    });
    let limit = limit.as_ref().map_or(null(), core::ptr::from_ref);
    let op = libc::FUTEX_WAIT;
    // SAFETY: word and time outlive the call.
    let waited = unsafe { sys!(libc::SYS_futex, word.as_ptr(), op, value, limit) };
    waited != Err(libc::ETIMEDOUT)
}

/// Waits while two words have these values; each may be of this process or shared.
pub fn futex_wait_either(words: [(&AtomicU32, u32); 2]) {
    const FUTEX2_SIZE_U32: u32 = 2;
    #[repr(C)]
    struct Waited {
        value: u64,
        address: u64,
        flags: u32,
        reserved: u32,
    }
    let waited = words.map(|(word, value)| Waited {
        value: value.into(),
        address: word.as_ptr() as u64,
        flags: FUTEX2_SIZE_U32,
        reserved: 0,
    });
    // SAFETY: the list is live, and its words outlive the call.
    let _ = unsafe { sys!(libc::SYS_futex_waitv, waited.as_ptr(), words.len(), 0, 0, 0) };
}

/// Wakes all threads that wait on a word.
pub fn futex_wake(word: &AtomicU32) {
    // SAFETY: the word outlives the call.
    let _ = unsafe { sys!(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// Calls a function in which the calling thread's sleeps end when they should. The thread may be
/// the program's, whose own sleeps stay as they were.
pub fn with_exact_sleep(function: impl FnOnce()) {
    // SAFETY: no pointers.
    let before = unsafe { sys!(libc::SYS_prctl, libc::PR_GET_TIMERSLACK) };
    sleep_exactly();
    function();
    if let Ok(before) = before {
        // SAFETY: no pointers.
        let _ = unsafe { sys!(libc::SYS_prctl, libc::PR_SET_TIMERSLACK, before) };
    }
}

/// From now on the calling thread's sleeps end when they should, and not up to 50 us later.
pub fn sleep_exactly() {
    // SAFETY: no pointers.
    let _ = unsafe { sys!(libc::SYS_prctl, libc::PR_SET_TIMERSLACK, 1u64) };
}
