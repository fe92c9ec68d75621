//! Locks, semaphores and conditions, for signal mode.
//!
//! A thread that waits there has the kernel read a word of it. If its page is missing, the C
//! library ends the program: no other program has such a word. So its pages stay until the wait is
//! over. A lock that is free costs no more than the attempt.
//!
//! Some mutexes are the kernel's in both modes: see [`crate::words::owned`].

use crate::bytes::buffers::signal_engine;
use crate::bytes::held::Held;
use crate::next;
use crate::words::owned::{Lock, Wait, take};
use crate::words::stay::{Stay, value};
use libc::{c_int, clockid_t, pthread_barrier_t, pthread_cond_t, pthread_mutex_t};
use libc::{pthread_rwlock_t, sem_t, timespec};
use sluice_region::errno;
use sluice_runtime::may_stay;

/// Whether a wait at a value may need its pages to stay.
#[inline]
fn may_need<T>(of: *const T) -> bool {
    let at = of as usize;
    may_stay(at) || may_stay(at.wrapping_add(size_of::<T>() - 1))
}

/// Has what of some values lies on the device stay there, in signal mode.
fn stay<const N: usize>(values: [(*const libc::c_void, usize); N]) -> Option<Stay> {
    Stay::of(signal_engine()?, values)
}

unsafe extern "C-unwind" {
    fn pthread_testcancel();
}

/// Hooks of functions that take a lock: first by an attempt that does not
/// wait.
macro_rules! locks {
    ($($symbol:literal $name:ident = $next:ident
       ($lock:ident: $type:ty $(, by $clock:ident)? $(, until $time:ident)?),
       $attempt:literal $try:ident;)+) => {$(
        next!($next: $symbol(
            $lock: $type $(, $clock: clockid_t)? $(, $time: *const timespec)?
        ) -> c_int);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            $lock: $type $(, $clock: clockid_t)? $(, $time: *const timespec)?
        ) -> c_int {
            next!(attempt: $attempt($lock: $type) -> c_int);
            // SAFETY: passed on; null or the program's time.
            unsafe {
                if let Some(hold) = $lock.owned() {
                    $(let mut $time = Held::of($time);)?
                    return take(&hold, || $next($lock $(, $clock)? $(, $time.at())?));
                }
                if !may_need($lock) {
                    return $next($lock $(, $clock)? $(, $time)?);
                }
                if let Some(result) = $try(|| attempt($lock)) {
                    return result;
                }
                let _stay = stay([value($lock.cast_const())]);
                $(let mut $time = Held::of($time);)?
                $next($lock $(, $clock)? $(, $time.at())?)
            }
        }
    )+};
}

/// What the attempt at a lock says, unless it would have to wait.
fn lock(attempt: impl Fn() -> c_int) -> Option<c_int> {
    Some(attempt()).filter(|result| *result != libc::EBUSY)
}

/// What the attempt at a semaphore says, unless it would have to wait. A thread can be cancelled
/// there.
fn semaphore(attempt: impl Fn() -> c_int) -> Option<c_int> {
    let before = errno();
    // SAFETY: no arguments.
    unsafe { pthread_testcancel() };
    let result = Some(attempt()).filter(|result| *result == 0);
    crate::bytes::buffers::set_errno(before);
    result
}

locks! {
    c"pthread_mutex_lock" pthread_mutex_lock = next_mutex(at: *mut pthread_mutex_t),
        c"pthread_mutex_trylock" lock;
    c"pthread_mutex_timedlock" pthread_mutex_timedlock = next_mutex_timed
        (at: *mut pthread_mutex_t, until time), c"pthread_mutex_trylock" lock;
    c"pthread_mutex_clocklock" pthread_mutex_clocklock = next_mutex_clock
        (at: *mut pthread_mutex_t, by clock, until time), c"pthread_mutex_trylock" lock;
    c"pthread_rwlock_rdlock" pthread_rwlock_rdlock = next_read(at: *mut pthread_rwlock_t),
        c"pthread_rwlock_tryrdlock" lock;
    c"pthread_rwlock_timedrdlock" pthread_rwlock_timedrdlock = next_read_timed
        (at: *mut pthread_rwlock_t, until time), c"pthread_rwlock_tryrdlock" lock;
    c"pthread_rwlock_clockrdlock" pthread_rwlock_clockrdlock = next_read_clock
        (at: *mut pthread_rwlock_t, by clock, until time),
        c"pthread_rwlock_tryrdlock" lock;
    c"pthread_rwlock_wrlock" pthread_rwlock_wrlock = next_write(at: *mut pthread_rwlock_t),
        c"pthread_rwlock_trywrlock" lock;
    c"pthread_rwlock_timedwrlock" pthread_rwlock_timedwrlock = next_write_timed
        (at: *mut pthread_rwlock_t, until time), c"pthread_rwlock_trywrlock" lock;
    c"pthread_rwlock_clockwrlock" pthread_rwlock_clockwrlock = next_write_clock
        (at: *mut pthread_rwlock_t, by clock, until time),
        c"pthread_rwlock_trywrlock" lock;
    c"sem_wait" sem_wait = next_sem(at: *mut sem_t), c"sem_trywait" semaphore;
    c"sem_timedwait" sem_timedwait = next_sem_timed(at: *mut sem_t, until time),
        c"sem_trywait" semaphore;
    c"sem_clockwait" sem_clockwait = next_sem_clock
        (at: *mut sem_t, by clock, until time), c"sem_trywait" semaphore;
}

/// Hooks of functions that may wait in any case.
macro_rules! waits {
    ($($symbol:literal $name:ident = $next:ident
       ($($at:ident: $type:ty),+ $(; by $clock:ident)? $(; until $time:ident)?);)+) => {$(
        next!($next: $symbol(
            $($at: $type),+ $(, $clock: clockid_t)? $(, $time: *const timespec)?
        ) -> c_int);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            $($at: $type),+ $(, $clock: clockid_t)? $(, $time: *const timespec)?
        ) -> c_int {
            // SAFETY: passed on; null or the program's time.
            unsafe {
                let stays = $(may_need($at) ||)+ false;
                let _stay = stays.then(|| stay([$(value($at.cast_const())),+])).flatten();
                $(let mut $time = Held::of($time);)?
                ($($at,)+).over(|| $next($($at),+ $(, $clock)? $(, $time.at())?))
            }
        }
    )+};
}

waits! {
    c"pthread_cond_wait" pthread_cond_wait = next_cond
        (at: *mut pthread_cond_t, lock: *mut pthread_mutex_t);
    c"pthread_cond_timedwait" pthread_cond_timedwait = next_cond_timed
        (at: *mut pthread_cond_t, lock: *mut pthread_mutex_t; until time);
    c"pthread_cond_clockwait" pthread_cond_clockwait = next_cond_clock
        (at: *mut pthread_cond_t, lock: *mut pthread_mutex_t; by clock; until time);
    c"pthread_cond_signal" pthread_cond_signal = next_signal(at: *mut pthread_cond_t);
    c"pthread_cond_broadcast" pthread_cond_broadcast = next_broadcast(at: *mut pthread_cond_t);
    c"pthread_cond_destroy" pthread_cond_destroy = next_destroy(at: *mut pthread_cond_t);
    c"pthread_barrier_wait" pthread_barrier_wait = next_barrier(at: *mut pthread_barrier_t);
    c"cnd_wait" cnd_wait = next_cnd(at: *mut pthread_cond_t, lock: *mut pthread_mutex_t);
    c"cnd_timedwait" cnd_timedwait = next_cnd_timed
        (at: *mut pthread_cond_t, lock: *mut pthread_mutex_t; until time);
    c"cnd_signal" cnd_signal = next_cnd_signal(at: *mut pthread_cond_t);
    c"cnd_broadcast" cnd_broadcast = next_cnd_broadcast(at: *mut pthread_cond_t);
    c"mtx_lock" mtx_lock = next_mtx(at: *mut pthread_mutex_t);
    c"mtx_timedlock" mtx_timedlock = next_mtx_timed(at: *mut pthread_mutex_t; until time);
}
