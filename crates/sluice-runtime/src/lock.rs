//! A lock of one word that may be taken on the path of a fault and held across a fork.
//!
//! The standard library's mutex would do but for the fork: the child must be able to declare the
//! lock free whatever thread held it.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU32, Ordering::*};

const FREE: u32 = 0;
const HELD: u32 = 1;
const WAITED_FOR: u32 = 2;
/// Tries before sleeping; the lock is held for microseconds.
const SPINS: u32 = 200;

/// A value behind a futex.
#[derive(Debug)]
pub struct Lock<T> {
    state: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through the lock.
unsafe impl<T: Send> Sync for Lock<T> {}

/// The value while the lock is held.
#[derive(Debug)]
pub struct Guard<'a, T> {
    lock: &'a Lock<T>,
}

impl<T> Lock<T> {
    /// A free lock.
    pub const fn new(value: T) -> Lock<T> {
        Lock {
            state: AtomicU32::new(FREE),
            value: UnsafeCell::new(value),
        }
    }

    /// Takes the lock.
    pub fn lock(&self) -> Guard<'_, T> {
        self.acquire();
        Guard { lock: self }
    }

    /// Takes the lock if it is or soon becomes free.
    pub fn try_lock_briefly(&self) -> Option<Guard<'_, T>> {
        for _ in 0..SPINS {
            if self
                .state
                .compare_exchange_weak(FREE, HELD, Acquire, Relaxed)
                .is_ok()
            {
                return Some(Guard { lock: self });
            }
            core::hint::spin_loop();
        }
        // SAFETY: no arguments. Its holder may need this CPU.
        unsafe { libc::sched_yield() };
        None
    }

    /// Takes the lock without a guard; `release` gives it back. For `fork`.
    pub fn acquire(&self) {
        for _ in 0..SPINS {
            if self
                .state
                .compare_exchange_weak(FREE, HELD, Acquire, Relaxed)
                .is_ok()
            {
                return;
            }
            core::hint::spin_loop();
        }
        while self.state.swap(WAITED_FOR, Acquire) != FREE {
            self.futex(libc::FUTEX_WAIT, WAITED_FOR);
        }
    }

    /// Gives the lock back. Only for its holder, or for the child of a fork by its holder.
    pub fn release(&self) {
        if self.state.swap(FREE, Release) == WAITED_FOR {
            self.futex(libc::FUTEX_WAKE, 1);
        }
    }

    /// The value, for the thread that took the lock by [`Lock::acquire`].
    ///
    /// # Safety
    /// The calling thread holds the lock and has no other reference to the value.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn get_held(&self) -> &mut T {
        // SAFETY: the caller holds the lock.
        unsafe { &mut *self.value.get() }
    }

    fn futex(&self, op: i32, value: u32) {
        let word = self.state.as_ptr();
        let op = op | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the word outlives the call; a null timeout waits without end.
        unsafe {
            let none = core::ptr::null::<libc::timespec>();
            libc::syscall(libc::SYS_futex, word, op, value, none)
        };
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: a guard exists only while the lock is held.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed exclusively.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.lock.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_threads_lose_no_increment() {
        let lock = Lock::new(0u64);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..20_000).for_each(|_| *lock.lock() += 1));
            }
        });
        assert_eq!(*lock.lock(), 160_000);
    }
}
