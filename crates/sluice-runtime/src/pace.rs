//! Waiting for a deadline: spinning as a CPU stalled on CXL.mem does, or sleeping.

use crate::clock::{now_ns, sleep_until};

/// A sleeper is awake this long before its deadline and spins the rest.
const WAKE_EARLY_NS: u64 = 120_000;
/// Waits longer than this are slept even without a long-delay hint: nobody stalls a CPU for a
/// millisecond of emulated erase when the wait is as exact either way.
const SPIN_AT_MOST_NS: u64 = 400_000;

/// Waits until `deadline_ns` and returns the time then. With `may_sleep` the CPU is given away
/// while the wait is long.
pub fn wait_until(deadline_ns: u64, may_sleep: bool) -> u64 {
    loop {
        let now = now_ns();
        if now >= deadline_ns {
            return now;
        }
        if worth_sleeping(deadline_ns - now, may_sleep) {
            sleep_until(deadline_ns - WAKE_EARLY_NS);
        } else {
            core::hint::spin_loop();
        }
    }
}

fn worth_sleeping(left_ns: u64, may_sleep: bool) -> bool {
    left_ns > SPIN_AT_MOST_NS || (may_sleep && left_ns > 2 * WAKE_EARLY_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_wait_ends_before_its_deadline() {
        for wait in [0, 1_000, 50_000, 700_000] {
            for may_sleep in [false, true] {
                let deadline = now_ns() + wait;
                assert!(wait_until(deadline, may_sleep) >= deadline);
                assert!(now_ns() >= deadline);
            }
        }
    }

    #[test]
    fn only_long_waits_give_the_cpu_away() {
        assert!(!worth_sleeping(40_000, true));
        assert!(!worth_sleeping(300_000, false));
        assert!(worth_sleeping(300_000, true));
        assert!(worth_sleeping(2_000_000, false));
    }
}
