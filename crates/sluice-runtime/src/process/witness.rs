//! Whether a thread is gone, without a question that the program's filter of system calls may
//! forbid.
//!
//! The kernel marks the robust mutexes of a thread that ends. So a thread that takes one has one of
//! ours besides, its witness, which it never gives back. It is the thread's first, and the kernel
//! comes to it last.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering::*};
use libc::{c_int, pthread_mutex_t};

/// Threads with a witness at once. What others have is forgotten where the kernel can be asked.
const MOST: usize = 512;
/// The witness is nobody's, or is being made.
const NOBODY: u32 = 0;
const BEING_MADE: u32 = u32::MAX;
/// Where the C library keeps the kind of a mutex, and the kind, as its binary interface has it.
const KIND_AT: usize = 16;
const ROBUST: c_int = 16;
/// The kernel's mark, in the first word of the mutex.
const OWNER_DIED: u32 = 0x4000_0000;

struct Witness {
    thread: AtomicU32,
    mutex: UnsafeCell<pthread_mutex_t>,
}

// SAFETY: the mutex is written by who has just made the slot its own, and then by the C library and
// the kernel alone.
unsafe impl Sync for Witness {}

static ALL: [Witness; MOST] = [const {
    Witness {
        thread: AtomicU32::new(NOBODY),
        mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
    }
}; MOST];

impl Witness {
    fn has_seen_the_end(&self) -> bool {
        // SAFETY: the mutex's first word, which all change atomically.
        let word = unsafe { AtomicU32::from_ptr(self.mutex.get().cast()) };
        word.load(Acquire) & OWNER_DIED != 0
    }

    /// Makes it the caller's, if it was `of` somebody who needs it no longer.
    fn take(&self, of: u32) -> bool {
        let taken = self
            .thread
            .compare_exchange(of, BEING_MADE, AcqRel, Relaxed);
        taken.is_ok()
    }
}

/// Gives the calling thread its witness, which `lock` locks. Says whether it has one.
pub fn stand_for(thread: u32, lock: impl FnOnce(*mut pthread_mutex_t) -> c_int) -> bool {
    // Who had this number before is gone.
    let before = ALL.iter().find(|one| one.take(thread));
    let Some(one) = before.or_else(|| ALL.iter().find(|one| one.take(NOBODY))) else {
        return false;
    };
    // SAFETY: nobody else's from here on; the kind lies within the mutex.
    let is_locked = unsafe {
        one.mutex.get().write(libc::PTHREAD_MUTEX_INITIALIZER);
        one.mutex
            .get()
            .byte_add(KIND_AT)
            .cast::<c_int>()
            .write(ROBUST);
        lock(one.mutex.get()) == 0
    };
    let of = if is_locked { thread } else { NOBODY };
    one.thread.store(of, Release);
    is_locked
}

/// The witnesses whose threads are gone.
pub struct Gone([bool; MOST]);

impl Gone {
    /// Those who have seen the end of theirs by now.
    pub fn now() -> Gone {
        Gone(core::array::from_fn(|at| {
            let of = ALL[at].thread.load(Acquire);
            !matches!(of, NOBODY | BEING_MADE) && ALL[at].has_seen_the_end()
        }))
    }

    fn all(&self) -> impl Iterator<Item = &'static Witness> {
        ALL.iter()
            .zip(self.0)
            .filter(|(_, is)| *is)
            .map(|(one, _)| one)
    }

    /// Whether a thread is one of these.
    pub fn has(&self, thread: u32) -> bool {
        self.all().any(|one| one.thread.load(Acquire) == thread)
    }

    /// Nobody will ask for them again: the witnesses serve other threads.
    pub fn release(self) {
        for one in self.all() {
            let of = one.thread.load(Acquire);
            // Another thread with this number may just have taken it.
            if of != BEING_MADE && one.has_seen_the_end() {
                let _ = one.thread.compare_exchange(of, NOBODY, AcqRel, Relaxed);
            }
        }
    }
}

/// In the child of a fork: its parent's threads are none of its own.
pub fn after_fork_in_child() {
    ALL.iter().for_each(|one| one.thread.store(NOBODY, Release));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_witness_sees_the_end_of_its_thread_and_serves_the_next() {
        // SAFETY: the witness's own mutex.
        let lock = |mutex| unsafe { libc::pthread_mutex_lock(mutex) };
        let end = || {
            let run = move || {
                let thread = sluice_region::thread_id();
                assert!(stand_for(thread, lock) && !Gone::now().has(thread));
                thread
            };
            std::thread::spawn(run).join().expect("a number")
        };
        let own = sluice_region::thread_id();
        assert!(!Gone::now().has(own), "without a witness");
        for _ in 0..4 {
            let ended: Vec<u32> = (0..MOST / 2).map(|_| end()).collect();
            assert!(ended.iter().all(|thread| Gone::now().has(*thread)));
            Gone::now().release();
        }
    }
}
