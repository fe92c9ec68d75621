//! How many threads of the program miss at present.

use core::sync::atomic::{AtomicU64, Ordering::*};

/// Threads that are told apart, by the low bits of their numbers.
const THREADS: usize = 128;
/// A thread that did not miss for so long is not counted.
const ACTIVE_NS: u64 = 2_000_000;

/// When threads missed last.
static SEEN_NS: [AtomicU64; THREADS] = [const { AtomicU64::new(0) }; THREADS];

/// In the child of a fork: no other thread is there.
pub fn after_fork_in_child() {
    SEEN_NS.iter().for_each(|seen| seen.store(0, Relaxed));
}

/// Notes that a thread misses now.
pub fn note(thread: u32, now_ns: u64) {
    SEEN_NS[thread as usize % THREADS].store(now_ns, Relaxed);
}

/// How many threads missed lately.
pub fn count(now_ns: u64) -> usize {
    let is_active = |seen: &&AtomicU64| seen.load(Relaxed) + ACTIVE_NS > now_ns;
    SEEN_NS.iter().filter(is_active).count()
}
