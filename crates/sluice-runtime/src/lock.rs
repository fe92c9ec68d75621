//! A lock of one word that may be taken on the path of a fault and held across a fork.
//!
//! The standard library's mutex would do but for the fork: the child must be able to declare the
//! lock free whatever thread held it.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU32, Ordering::*};
use sluice_region::sys;

const FREE: u32 = 0;
/// Somebody sleeps until the lock is given back. The other bits are its holder.
const WAITED_FOR: u32 = 1;
/// The holder of a lock that does not record its holder.
const SOMEBODY: u32 = 1;
/// Tries before sleeping. The lock is held for some 20 µs where a page is taken from several CPUs,
/// and a sleeper would be woken as late again.
const SPINS: u32 = 2_000;
/// A brief wait sleeps at most this long; the lock's release ends it earlier.
const BRIEFLY_NS: i64 = 1_000_000;

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

    /// Takes the lock for a holder, a number above 0, of whom one may ask. `None` if the holder has
    /// it already. That is asked after the first try alone: as a rule nobody has it.
    #[inline]
    pub fn lock_as(&self, holder: u32) -> Option<Guard<'_, T>> {
        if !self.spin(holder) {
            if self.is_held_by(holder) {
                return None;
            }
            self.acquire_as(holder);
        }
        Some(Guard { lock: self })
    }

    /// Takes the lock if it is or soon becomes free.
    ///
    /// A thread that finds it held sleeps and does not yield: since Linux 6.18 a yield forfeits the
    /// rest of a time slice, and on a busy machine a wait of microseconds became one of
    /// milliseconds.
    pub fn try_lock_briefly(&self) -> Option<Guard<'_, T>> {
        let taken = self.spin(SOMEBODY) || {
            let waits_no_more = |state| {
                self.futex(libc::FUTEX_WAIT, state, Some(BRIEFLY_NS));
                self.take_or_mark(SOMEBODY)
            };
            self.take_or_mark(SOMEBODY).or_else(waits_no_more).is_ok()
        };
        taken.then(|| Guard { lock: self })
    }

    /// Takes the lock without a guard; `release` gives it back. For `fork`.
    pub fn acquire(&self) {
        self.acquire_as(SOMEBODY);
    }

    /// The same for a holder of whom one may ask.
    pub fn acquire_as(&self, holder: u32) {
        if self.spin(holder) {
            return;
        }
        while let Err(state) = self.take_or_mark(holder) {
            self.futex(libc::FUTEX_WAIT, state, None);
        }
    }

    /// Whether this holder has the lock.
    pub fn is_held_by(&self, holder: u32) -> bool {
        self.state.load(Relaxed) & !WAITED_FOR == holder << 1
    }

    /// In the child of a fork: its holder has another number there, and nobody waits.
    pub fn hand_to(&self, holder: u32) {
        self.state.store(holder << 1, Relaxed);
    }

    /// Takes the lock, for which others may wait by now. If it is held, marks it as waited for, and
    /// returns what its word is then.
    fn take_or_mark(&self, holder: u32) -> Result<(), u32> {
        let marked = |state| match state {
            FREE => holder << 1 | WAITED_FOR,
            held => held | WAITED_FOR,
        };
        let mut state = self.state.load(Relaxed);
        loop {
            let next = marked(state);
            match self
                .state
                .compare_exchange_weak(state, next, Acquire, Relaxed)
            {
                Ok(FREE) => return Ok(()),
                Ok(_) => return Err(next),
                Err(now) => state = now,
            }
        }
    }

    fn spin(&self, holder: u32) -> bool {
        (0..SPINS).any(|_| {
            let held = holder << 1;
            let free = self
                .state
                .compare_exchange_weak(FREE, held, Acquire, Relaxed);
            if free.is_err() {
                core::hint::spin_loop();
            }
            free.is_ok()
        })
    }

    /// Gives the lock back. Only for its holder, or for the child of a fork by its holder.
    pub fn release(&self) {
        if self.state.swap(FREE, Release) & WAITED_FOR != 0 {
            self.futex(libc::FUTEX_WAKE, 1, None);
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

    fn futex(&self, op: i32, value: u32, limit_ns: Option<i64>) {
        let word = self.state.as_ptr();
        let op = op | libc::FUTEX_PRIVATE_FLAG;
        let limit = limit_ns.map(|tv_nsec| libc::timespec { tv_sec: 0, tv_nsec });
        let limit = limit
            .as_ref()
            .map_or(core::ptr::null(), core::ptr::from_ref);
        // SAFETY: the word outlives the call; a null timeout waits without end.
        let _ = unsafe { sys!(libc::SYS_futex, word, op, value, limit) };
    }
}

impl<T> Guard<'_, T> {
    /// Whether somebody sleeps until the lock is given back.
    pub fn is_waited_for(&self) -> bool {
        self.lock.state.load(Relaxed) & WAITED_FOR != 0
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

    #[test]
    fn a_holder_is_known_also_while_others_wait() {
        let lock = Lock::new(0u64);
        let held = lock.lock_as(7).expect("nobody has it");
        assert!(lock.is_held_by(7) && !lock.is_held_by(3));
        assert!(lock.lock_as(7).is_none(), "it would wait for itself");
        std::thread::scope(|scope| {
            scope.spawn(|| *lock.lock_as(3).expect("another has it") += 1);
            while !held.is_waited_for() {
                std::thread::yield_now();
            }
            assert!(lock.is_held_by(7) && !lock.is_held_by(3));
            assert!(lock.lock_as(7).is_none(), "also while others wait");
            drop(held);
        });
        assert_eq!(*lock.lock(), 1);
        assert!(!lock.is_held_by(3) && !lock.is_held_by(7));
    }

    #[test]
    fn who_waits_briefly_in_vain_leaves_the_lock_held() {
        let lock = Lock::new(());
        let held = lock.lock();
        assert!(lock.try_lock_briefly().is_none());
        assert!(lock.try_lock_briefly().is_none());
        drop(held);
        assert!(lock.try_lock_briefly().is_some());
        // Those who sleep are woken, and none is lost among the sleepers.
        let lock = Lock::new(0u64);
        let add = || loop {
            if let Some(mut sum) = lock.try_lock_briefly() {
                *sum += 1;
                return;
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..5_000).for_each(|_| add()));
            }
        });
        assert_eq!(*lock.lock(), 40_000);
    }
}
