//! The end of a program by single ends of its threads.
//!
//! A process ends with its last thread. The C library ends it with the last thread that it knows
//! of. A program can go past that and end each of its threads by the system call for one thread;
//! then threads of the runtime would keep the process there for ever.

use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};
use sluice_region::{Ended, OwnStat, futex_wait_either, futex_wake, sys};

/// How often to look once the first thread has ended.
const LOOK_NS: u64 = 20_000_000;
/// How often to look where the kernel does not say when the leader has ended.
const LOOK_WITHOUT_WORD_NS: u64 = 1_000_000_000;

/// The word that the kernel clears at the end of the process's first thread.
static WORD: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());

/// Notes the calling thread as the process's first one.
pub fn note() {
    const PR_GET_TID_ADDRESS: i32 = 40;
    let mut word: *mut AtomicU32 = core::ptr::null_mut();
    // SAFETY: a live output.
    let asked = unsafe { sys!(libc::SYS_prctl, PR_GET_TID_ADDRESS, &raw mut word) };
    let word = asked.map_or(core::ptr::null_mut(), |_| word);
    WORD.store(word, Release);
}

/// Waits while `bell` has a value, and no longer than a limit, if there is one; ends the process
/// when only `own` threads are left of it besides its first one, which has ended.
pub fn wait(bell: &AtomicU32, value: u32, own: u64, limit_ns: Option<u64>, stat: &OwnStat) {
    // SAFETY: null, or a word of the C library's record of a thread, which the kernel uses as well.
    let word = unsafe { WORD.load(Acquire).as_ref() };
    let Some(word) = word else {
        let limit_ns = limit_ns.unwrap_or(LOOK_WITHOUT_WORD_NS);
        sluice_region::futex_wait(bell, value, Some(limit_ns));
        return end_if_alone(own, stat);
    };
    let running = word.load(Acquire);
    if let Some(limit_ns) = limit_ns.filter(|_| running != 0) {
        sluice_region::futex_wait(bell, value, Some(limit_ns));
        return;
    }
    if running != 0 {
        futex_wait_either([(bell, value), (word, running)]);
        if word.load(Acquire) == 0 {
            // The kernel wakes one thread: another one may wait for the first thread's end.
            futex_wake(word);
        }
        return;
    }
    sluice_region::futex_wait(bell, value, Some(LOOK_NS));
    end_if_alone(own, stat);
}

fn end_if_alone(own: u64, stat: &OwnStat) {
    let Some((threads, ended)) = stat.of_ended_first_thread() else {
        return;
    };
    // The first thread stays in the list until the process is gone.
    if threads <= own + 1 {
        end_as(ended);
    }
}

/// Ends this process, which has nothing left to do, as its first thread has ended.
fn end_as(ended: Ended) {
    let status = match ended {
        Ended::Exit(status) => status,
        Ended::Signal(signal) => crate::fatal::die_by(signal),
    };
    // SAFETY: ends this process.
    let _ = unsafe { sys!(libc::SYS_exit_group, status) };
}
