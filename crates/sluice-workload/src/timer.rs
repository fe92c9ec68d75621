//! A clock fine enough for one cache hit: the time-stamp counter where it can be trusted,
//! else `CLOCK_MONOTONIC`.

use std::time::{Duration, Instant};

/// Ticks become nanoseconds by one multiplication: `ns = ticks * mult >> SHIFT`.
const SHIFT: u32 = 32;
const CALIBRATION: Duration = Duration::from_millis(20);
const OVERHEAD_SAMPLES: usize = 4_000;

/// A calibrated clock for single accesses.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    counter: bool,
    mult: u64,
    overhead_ticks: u64,
}

/// What a pair of readings measured, still in ticks.
#[derive(Clone, Copy, Debug)]
pub struct Started(u64);

impl Timer {
    /// Measures the counter's rate against `CLOCK_MONOTONIC` for 20 ms, and then what an empty
    /// measurement costs. Allocates nothing.
    #[must_use]
    pub fn calibrate() -> Self {
        let counter = clock::is_counter();
        let mult = if counter { rate() } else { 1 << SHIFT };
        let mut timer = Self {
            counter,
            mult,
            overhead_ticks: 0,
        };
        let mut least = u64::MAX;
        for _ in 0..OVERHEAD_SAMPLES {
            let started = timer.start();
            least = least.min(timer.stop_ticks(started));
        }
        timer.overhead_ticks = least;
        timer
    }

    /// Starts a measurement: nothing that follows begins before it.
    #[inline(always)]
    #[must_use]
    pub fn start(&self) -> Started {
        Started(if self.counter {
            clock::start()
        } else {
            monotonic_ns()
        })
    }

    /// Ends a measurement: every load before it has completed. Nanoseconds, without the cost
    /// of an empty measurement.
    #[inline(always)]
    #[must_use]
    pub fn stop(&self, started: Started) -> u64 {
        let ticks = self.stop_ticks(started).saturating_sub(self.overhead_ticks);
        ((u128::from(ticks) * u128::from(self.mult)) >> SHIFT) as u64
    }

    /// Cost of an empty measurement, already subtracted from every result.
    #[must_use]
    pub fn overhead_ns(&self) -> f64 {
        (u128::from(self.overhead_ticks) * u128::from(self.mult)) as f64 / f64::from(2_u32).powi(32)
    }

    /// Which clock it is: `tsc` or `monotonic`.
    #[must_use]
    pub fn source(&self) -> &'static str {
        if self.counter { "tsc" } else { "monotonic" }
    }

    #[inline(always)]
    fn stop_ticks(&self, started: Started) -> u64 {
        let now = if self.counter {
            clock::stop()
        } else {
            monotonic_ns()
        };
        // A thread that went to a CPU whose counter is behind has measured nothing, not centuries.
        now.saturating_sub(started.0)
    }
}

/// Fixed-point nanoseconds a tick of the counter.
fn rate() -> u64 {
    let (first_ticks, first) = paired();
    while first.elapsed() < CALIBRATION {
        std::hint::spin_loop();
    }
    let (last_ticks, last) = paired();
    let ns = last.duration_since(first).as_nanos();
    let ticks = u128::from(last_ticks.wrapping_sub(first_ticks)).max(1);
    ((ns << SHIFT) / ticks) as u64
}

/// The counter and the clock read together: the tightest of several tries, so that a
/// preemption between the two readings does not bend the rate.
fn paired() -> (u64, Instant) {
    let try_once = || {
        let before = clock::start();
        let now = Instant::now();
        let after = clock::stop();
        let width = after.wrapping_sub(before);
        (width, before.wrapping_add(width / 2), now)
    };
    let mut best = try_once();
    for _ in 0..64 {
        let next = try_once();
        if next.0 < best.0 {
            best = next;
        }
    }
    (best.1, best.2)
}

/// The time-stamp counter. Only used where `is_counter` says that ticks are time.
#[cfg(target_arch = "x86_64")]
mod clock {
    use std::arch::x86_64::{__cpuid, __rdtscp, _mm_lfence, _rdtsc};

    const LEAF_MAX: u32 = 0x8000_0000;
    const LEAF_EXTENDED: u32 = 0x8000_0001;
    const LEAF_POWER: u32 = 0x8000_0007;
    const RDTSCP_BIT: u32 = 1 << 27;
    const INVARIANT_BIT: u32 = 1 << 8;

    /// Invariant, and readable with `rdtscp`.
    pub fn is_counter() -> bool {
        __cpuid(LEAF_MAX).eax >= LEAF_POWER
            && __cpuid(LEAF_EXTENDED).edx & RDTSCP_BIT != 0
            && __cpuid(LEAF_POWER).edx & INVARIANT_BIT != 0
    }

    #[inline(always)]
    pub fn start() -> u64 {
        // SAFETY: these instructions read a register; SSE2 is part of x86_64. Needed because
        // no safe call orders a counter reading against loads.
        unsafe {
            _mm_lfence();
            let ticks = _rdtsc();
            _mm_lfence();
            ticks
        }
    }

    #[inline(always)]
    pub fn stop() -> u64 {
        let mut cpu = 0;
        // SAFETY: `is_counter` saw RDTSCP in CPUID; `cpu` is ours. Needed as in `start`.
        unsafe {
            let ticks = __rdtscp(&raw mut cpu);
            _mm_lfence();
            ticks
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod clock {
    pub fn is_counter() -> bool {
        false
    }

    pub fn start() -> u64 {
        super::monotonic_ns()
    }

    pub fn stop() -> u64 {
        super::monotonic_ns()
    }
}

fn monotonic_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is ours and valid. `Instant` hides the number that ticks need.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    (now.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(now.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_monotonic_clock() {
        let timer = Timer::calibrate();
        // A preemption can only fall between the two clocks' readings; the best of several
        // rounds is free of it.
        let error = (0..5)
            .map(|_| {
                let wall = Instant::now();
                let started = timer.start();
                while wall.elapsed() < Duration::from_millis(5) {}
                let ns = timer.stop(started);
                ns.abs_diff(wall.elapsed().as_nanos() as u64)
            })
            .min();
        assert!(
            error.is_some_and(|e| e < 50_000),
            "off by {error:?} ns in 5 ms"
        );
    }

    #[test]
    fn an_empty_measurement_is_nearly_nothing() {
        let timer = Timer::calibrate();
        let least = (0..1_000).map(|_| timer.stop(timer.start())).min();
        assert!(least.is_some_and(|ns| ns < 50), "{least:?} ns");
        assert!(timer.overhead_ns() < 10_000.0);
    }

    fn timer(mult: u64, overhead_ticks: u64) -> Timer {
        Timer {
            counter: false,
            mult,
            overhead_ticks,
        }
    }

    /// A tick of one and a half nanoseconds, ten of them for an empty measurement.
    #[test]
    fn ticks_become_nanoseconds_less_an_empty_measurement() {
        let one_and_a_half = 3 << (SHIFT - 1);
        assert_eq!(timer(one_and_a_half, 10).overhead_ns(), 15.0);
        let ended = |ticks: u64| Started(monotonic_ns() - ticks);
        let second = 1_000_000_000;
        for (mult, overhead, least) in [
            (1 << SHIFT, 0, second),
            (one_and_a_half, 0, second / 2 * 3),
            (1 << SHIFT, second / 2, second / 2),
            (one_and_a_half, second / 2, second / 4 * 3),
        ] {
            let ns = timer(mult, overhead).stop(ended(second));
            assert!(
                (least..least + second / 8).contains(&ns),
                "{ns} for {least}"
            );
        }
        // Less than nothing is nothing, and so is what ends before it began.
        let ahead = Started(monotonic_ns() + second);
        assert_eq!(timer(1 << SHIFT, 0).stop(ahead), 0);
        assert_eq!(timer(1 << SHIFT, u64::MAX).stop(ended(second)), 0);
    }

    #[test]
    fn a_timer_of_either_clock_measures_a_wait() {
        let plain = timer(1 << SHIFT, 0);
        assert_eq!(
            (plain.source(), timer(1, 0).source()),
            ("monotonic", "monotonic")
        );
        for timer in [plain, Timer::calibrate()] {
            let (wall, started) = (Instant::now(), timer.start());
            while wall.elapsed() < Duration::from_millis(3) {}
            let ns = timer.stop(started);
            let most = wall.elapsed().as_nanos() as u64;
            // The rate is known to a part in some thousand.
            assert!(ns >= 2_990_000 && ns <= most + most / 100, "{ns} of {most}");
        }
    }

    #[test]
    fn the_monotonic_clock_is_that_of_the_system() {
        let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
        let seconds: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
        // Both begin when the system does; a system that slept counts that in one of them alone.
        let now = monotonic_ns() as f64 / 1e9;
        assert!(now > 0.0 && now <= seconds + 1.0, "{now} s of {seconds}");
        let (wall, first) = (Instant::now(), monotonic_ns());
        while wall.elapsed() < Duration::from_millis(2) {}
        let ns = monotonic_ns() - first;
        assert!(ns.abs_diff(2_000_000) < 1_000_000_000, "{ns}");
        assert!(ns >= 1_990_000, "{ns}");
    }

    /// Linux uses the counter for time under the same conditions, and lists them.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_counter_is_used_where_linux_trusts_it() {
        let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let line = cpus.lines().find(|line| line.starts_with("flags"));
        let flags: Vec<&str> = line.expect("flags").split(' ').collect();
        let trusted = ["rdtscp", "constant_tsc", "nonstop_tsc"]
            .iter()
            .all(|flag| flags.contains(flag));
        assert_eq!(Timer::calibrate().source() == "tsc", trusted);
    }

    /// What a reading of the pair cost lies within the two readings of the counter around it.
    #[test]
    fn the_counter_is_read_in_the_middle_of_the_clock() {
        let before = clock::start();
        let (ticks, _) = paired();
        let after = clock::stop();
        assert!(
            (before..=after).contains(&ticks),
            "{ticks} in {before}..={after}"
        );
    }
}
