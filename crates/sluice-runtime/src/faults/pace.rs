//! Waiting for a deadline: spinning as a CPU stalled on CXL.mem does, or sleeping.

use crate::clock::{now_ns, sleep_until};
use crate::faults::active;
use core::sync::atomic::{AtomicU64, Ordering::*};
use sluice_region::{CpuSet, thread_id, with_exact_sleep, yield_cpu};

/// A sleeper is awake so long before its deadline, at most, and spins the rest.
const EARLY_MAX_NS: u64 = 120_000;
/// A sleeper is awake so long before its deadline, at least.
const EARLY_MIN_NS: u64 = 8_000;
/// A sleep shorter than this is left out.
const SLEEP_MIN_NS: u64 = 8_000;
/// A sleep that is to end so soon is made exact. Others leave the time that timers may be late.
const EXACT_BELOW_NS: u64 = 2 * EARLY_MAX_NS;
/// By how much sleeps ended late of late: 5 µs on a CPU that others use, 60 µs and more on one that
/// a virtual machine has given back to its host.
static LATE_NS: AtomicU64 = AtomicU64::new(EARLY_MAX_NS);

/// A thread that gives way is away for the time of some misses of others, not for longer than this
/// ..
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
        match may_sleep.then(|| sleep_end(now, deadline_ns)).flatten() {
            Some(end_ns) if deadline_ns - now < EXACT_BELOW_NS => {
                with_exact_sleep(|| sleep_until(end_ns));
                slept_until(end_ns);
            }
            Some(end_ns) => {
                sleep_until(end_ns);
                slept_until(end_ns);
            }
            None => core::hint::spin_loop(),
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

/// When a sleep is to end that is to be over by then, as late as sleeps are. It takes half of the
/// time that is left at least. `None` if that is too little to sleep at all.
pub fn sleep_end(now: u64, deadline_ns: u64) -> Option<u64> {
    let left_ns = deadline_ns.saturating_sub(now);
    let early_ns = LATE_NS.load(Relaxed).max(EARLY_MIN_NS).min(left_ns / 2);
    (left_ns - early_ns >= SLEEP_MIN_NS).then_some(deadline_ns - early_ns)
}

/// Learns from a sleep that was to end at `end_ns` and has ended now.
pub fn slept_until(end_ns: u64) {
    let late_ns = now_ns().saturating_sub(end_ns);
    LATE_NS.store(learnt(LATE_NS.load(Relaxed), late_ns), Relaxed);
}

/// Longer at once, shorter by and by.
fn learnt(before_ns: u64, late_ns: u64) -> u64 {
    late_ns.max(before_ns - before_ns / 8).min(EARLY_MAX_NS)
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
    fn a_sleep_leaves_as_much_as_sleeps_are_late_and_at_most_half() {
        for (left, late) in [(1_000_000, EARLY_MAX_NS), (40_000, 20_000)] {
            LATE_NS.store(EARLY_MAX_NS, Relaxed);
            assert_eq!(sleep_end(7, 7 + left), Some(7 + left - late));
        }
        assert_eq!(sleep_end(7, 7 + SLEEP_MIN_NS), None);
        assert_eq!(sleep_end(7, 0), None);
        LATE_NS.store(EARLY_MAX_NS, Relaxed);
    }

    #[test]
    fn how_late_sleeps_are_is_learnt_and_forgotten() {
        let mut late = EARLY_MAX_NS;
        (0..100).for_each(|_| late = learnt(late, 3_000));
        assert!(late < EARLY_MIN_NS, "{late}");
        late = learnt(late, 50_000);
        assert_eq!(late, 50_000);
        assert_eq!(learnt(late, 1 << 40), EARLY_MAX_NS);
    }
}
