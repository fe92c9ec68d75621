//! Waits for the runtime's own threads to be gone.

use crate::clock::{now_ns, sleep_until};
use crate::threads::thread;
use sluice_region::{fatal, threads_of_process};

/// How often to look whether a thread is gone.
const LOOK_NS: u64 = 20_000;
/// The kernel ends a thread within this time. A thread that it does not end is a bug here or there.
const LOOKS_MAX: u32 = 500_000;

/// Ends the service thread, where there is one. The others have ended, and are to.
pub(crate) fn end_service() {
    thread::set_leaving(true);
    if thread::has_service() {
        thread::ring_service();
    }
    // It is counted until the kernel has forgotten it, or does not say.
    await_that(|_| thread::running() == 0 && !threads_of_process().is_ok_and(|all| all > 1));
    thread::set_leaving(false);
}

pub(crate) fn await_that(mut is_so: impl FnMut(u32) -> bool) {
    for look in 0..LOOKS_MAX {
        if is_so(look) {
            return;
        }
        sleep_until(now_ns() + LOOK_NS);
    }
    fatal(format_args!("a thread of the runtime has not ended"));
}
