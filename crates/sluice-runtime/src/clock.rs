//! The wall clock of the live runtime.
//!
//! It never goes back, whatever a process does to its own: in a time namespace the kernel's clock
//! may be earlier, and moments that were noted before would be long to come.

use core::sync::atomic::{AtomicU64, Ordering::*};
use sluice_region::{monotonic_ns, sys};

/// What the kernel's clock is behind ours. A sum that wraps: it may be ahead.
static BEHIND_NS: AtomicU64 = AtomicU64::new(0);
/// The time just before a fork.
static FORKED_NS: AtomicU64 = AtomicU64::new(0);
/// No call takes longer: the clock is another.
const CALL_MAX_NS: u64 = 60_000_000_000;

/// Nanoseconds of `CLOCK_MONOTONIC`, as it was at the start.
pub fn now_ns() -> u64 {
    monotonic_ns().wrapping_add(BEHIND_NS.load(Relaxed))
}

/// Sleeps in the kernel until a moment of [`now_ns`].
pub fn sleep_until(ns: u64) {
    let behind_ns = BEHIND_NS.load(Relaxed).cast_signed();
    let ns = ns.saturating_add_signed(behind_ns.wrapping_neg());
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

/// Before a fork, under its lock.
pub fn before_fork() {
    FORKED_NS.store(now_ns(), Relaxed);
}

/// In the child of a fork, whose clock may be another.
pub fn after_fork_in_child() {
    go_on_from(FORKED_NS.load(Relaxed));
}

/// Makes a call that may change the kernel's clock of this process.
pub fn with_same_clock<R>(call: impl FnOnce() -> R) -> R {
    let before_ns = now_ns();
    let result = call();
    go_on_from(before_ns);
    result
}

fn go_on_from(before_ns: u64) {
    let behind_ns = behind(before_ns, now_ns());
    BEHIND_NS.fetch_add(behind_ns, Relaxed);
}

/// What a clock is behind that shows `now_ns` right after `before_ns`; 0 if it may be the same.
fn behind(before_ns: u64, now_ns: u64) -> u64 {
    let is_same = (before_ns..=before_ns.saturating_add(CALL_MAX_NS)).contains(&now_ns);
    if is_same {
        0
    } else {
        before_ns.wrapping_sub(now_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_clock_is_behind_or_ahead() {
        const HOUR_NS: u64 = 3_600_000_000_000;
        for now_ns in [HOUR_NS, HOUR_NS + 1, HOUR_NS + CALL_MAX_NS] {
            assert_eq!(behind(HOUR_NS, now_ns), 0);
        }
        for now_ns in [0, HOUR_NS - 1, 2 * HOUR_NS] {
            let behind_ns = behind(HOUR_NS, now_ns);
            assert_eq!(now_ns.wrapping_add(behind_ns), HOUR_NS);
        }
    }
}
