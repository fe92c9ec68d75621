//! The wall clock of the live runtime.

use sluice_region::sys;

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub fn now_ns() -> u64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the timespec is live; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Sleeps in the kernel until a moment of `CLOCK_MONOTONIC`.
pub fn sleep_until(ns: u64) {
    let t = libc::timespec {
        tv_sec: (ns / 1_000_000_000) as i64,
        tv_nsec: (ns % 1_000_000_000) as i64,
    };
    // SAFETY: the timespec is live; an early return by a signal is allowed by the callers.
    let _ = unsafe {
        let (clock, at) = (libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME);
        sys!(libc::SYS_clock_nanosleep, clock, at, &raw const t, 0)
    };
}
