//! How many threads of the program miss at present.

use core::sync::atomic::{AtomicU64, Ordering::*};

/// Threads that are told apart, by the low bits of their numbers.
const THREADS: usize = 128;
/// A thread that did not miss for so long is not counted.
const ACTIVE_NS: u64 = 2_000_000;

/// When threads missed last.
struct Seen([AtomicU64; THREADS]);

static SEEN: Seen = Seen::nobody();

/// In the child of a fork: no other thread is there.
pub fn after_fork_in_child() {
    SEEN.0.iter().for_each(|seen| seen.store(0, Relaxed));
}

/// Notes that a thread misses now.
pub fn note(thread: u32, now_ns: u64) {
    SEEN.note(thread, now_ns);
}

/// How many threads missed lately.
pub fn count(now_ns: u64) -> usize {
    SEEN.count(now_ns)
}

impl Seen {
    const fn nobody() -> Seen {
        Seen([const { AtomicU64::new(0) }; THREADS])
    }

    fn note(&self, thread: u32, now_ns: u64) {
        self.0[thread as usize % THREADS].store(now_ns, Relaxed);
    }

    fn count(&self, now_ns: u64) -> usize {
        let is_active = |seen: &&AtomicU64| seen.load(Relaxed) + ACTIVE_NS > now_ns;
        self.0.iter().filter(is_active).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_count_once_and_for_a_while() {
        const START: u64 = 10 * ACTIVE_NS;
        let seen = Seen::nobody();
        assert_eq!(seen.count(START), 0);
        for thread in [7, 8, 7] {
            seen.note(thread, START);
        }
        seen.note(9, START + 100);
        assert_eq!(seen.count(START + 100), 3);
        assert_eq!(seen.count(START + ACTIVE_NS - 1), 3);
        assert_eq!(seen.count(START + ACTIVE_NS), 1, "two are over");
        assert_eq!(seen.count(START + ACTIVE_NS + 100), 0);
    }
}
