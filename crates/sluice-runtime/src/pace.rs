//! Waiting for a deadline: spinning as a CPU stalled on CXL.mem does, or sleeping.

use crate::active;
use crate::clock::{now_ns, sleep_until};
use core::sync::atomic::{AtomicU64, Ordering::*};
use sluice_region::{CpuSet, thread_id, yield_cpu};

/// A sleeper is awake this long before its deadline and spins the rest.
const WAKE_EARLY_NS: u64 = 120_000;
/// Waits longer than this are slept even without a long-delay hint: nobody stalls a CPU for a
/// millisecond of emulated erase when the wait is as exact either way.
const SPIN_AT_MOST_NS: u64 = 400_000;

/// Who gives way is away for the time of some misses of others, not for longer than this ..
const AWAY_MAX_NS: u64 = 2_000_000;
/// .. or else gives way no more for so long.
const KEEP_NS: u64 = 10_000_000;
static KEEPS_UNTIL_NS: AtomicU64 = AtomicU64::new(0);

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

/// Waits until a moment if more threads miss than there are CPUs, and lets the others run
/// meanwhile. Says whether there are so many; if not, it has not waited.
///
/// A thread that spins has its CPU to itself, as a load that stalls has. With more threads than
/// CPUs it would keep the others from missing at all, which a device with many dies would serve
/// meanwhile. Where a timer costs 13 µs, as in virtual machines, a switch to another thread and
/// back costs a fifth of a sleep.
pub fn wait_among(deadline_ns: u64) -> bool {
    let now = now_ns();
    active::note(thread_id(), now);
    let cpus = CpuSet::of(0).map_or(usize::MAX, |set| set.count());
    if active::count(now) <= cpus {
        return false;
    }
    let mut now = now;
    while now < deadline_ns {
        now = match KEEPS_UNTIL_NS.load(Relaxed) > now {
            true => {
                core::hint::spin_loop();
                now_ns()
            }
            false => give_way(now),
        };
    }
    true
}

/// Lets another thread have the CPU. If that takes very long, others than the program's want it,
/// and nobody gives way for a while.
fn give_way(now: u64) -> u64 {
    yield_cpu();
    let back_ns = now_ns();
    if back_ns > now + AWAY_MAX_NS {
        KEEPS_UNTIL_NS.store(back_ns + KEEP_NS, Relaxed);
    }
    back_ns
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

    /// The test stands for all threads that miss: no other one of this file's does.
    #[test]
    fn only_a_crowd_waits_and_not_for_less_than_it_should() {
        active::after_fork_in_child();
        let asked = now_ns();
        assert!(!wait_among(asked + 1_000_000_000), "it has a CPU to itself");
        assert!(now_ns() < asked + 1_000_000_000);
        for wait in [0, 50_000, 3_000_000] {
            let now = now_ns();
            (0..100).for_each(|thread| active::note(thread, now + wait));
            assert!(wait_among(now + wait));
            assert!(now_ns() >= now + wait);
        }
        active::after_fork_in_child();
    }

    #[test]
    fn only_long_waits_give_the_cpu_away() {
        assert!(!worth_sleeping(40_000, true));
        assert!(!worth_sleeping(300_000, false));
        assert!(worth_sleeping(300_000, true));
        assert!(worth_sleeping(2_000_000, false));
    }
}
