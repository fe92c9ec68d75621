//! Locks, semaphores and conditions, for signal mode.
//!
//! A thread that waits there has the kernel read a word of it. If its page is missing, the C
//! library ends the program: no other program has such a word. So its pages stay until the wait is
//! over. A lock that is free costs no more than the attempt.

use crate::buffers::signal_engine;
use crate::next;
use crate::waits::Held;
use core::ptr::read_volatile;
use libc::{c_int, c_void, clockid_t, pthread_barrier_t, pthread_cond_t, pthread_mutex_t};
use libc::{pthread_rwlock_t, sem_t, timespec};
use sluice_region::{PAGE, errno};
use sluice_runtime::{Engine, may_stay};

/// Pages of a condition and of its mutex, each of which may lie across two.
const MOST: usize = 4;

/// Pages that stay, until this is dropped: also where a wait ends because its thread is cancelled.
struct Stay {
    engine: &'static Engine,
    pages: [usize; MOST],
    count: usize,
}

impl Stay {
    /// Has what of some values lies on the device stay there, and brings it.
    fn of<const N: usize>(values: [(*const c_void, usize); N]) -> Option<Stay> {
        let engine = signal_engine()?;
        let mut stay = Stay {
            engine,
            pages: [0; MOST],
            count: 0,
        };
        for (at, bytes) in values {
            let (first, last) = (
                at as usize & !(PAGE - 1),
                (at as usize + bytes - 1) & !(PAGE - 1),
            );
            stay.add(first);
            if last != first {
                stay.add(last);
            }
        }
        if stay.count == 0 {
            return None;
        }
        let pages = &stay.pages[..stay.count];
        engine.begin_wait(pages);
        for page in pages {
            // SAFETY: the program's own value is in this page, which the device serves.
            unsafe { read_volatile(*page as *const u8) };
        }
        Some(stay)
    }

    fn add(&mut self, page: usize) {
        if self.engine.is_placed(page) {
            self.pages[self.count] = page;
            self.count += 1;
        }
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.engine.end_wait(&self.pages[..self.count]);
    }
}

fn value<T>(of: *const T) -> (*const c_void, usize) {
    (of.cast(), size_of::<T>())
}

/// Whether a wait at a value may need its pages to stay.
#[inline]
fn may_need<T>(of: *const T) -> bool {
    let at = of as usize;
    may_stay(at) || may_stay(at.wrapping_add(size_of::<T>() - 1))
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
                if !may_need($lock) {
                    return $next($lock $(, $clock)? $(, $time)?);
                }
                if let Some(result) = $try(|| attempt($lock)) {
                    return result;
                }
                let _stay = Stay::of([value($lock.cast_const())]);
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

/// The same of a semaphore, at which a thread can be cancelled.
fn semaphore(attempt: impl Fn() -> c_int) -> Option<c_int> {
    let before = errno();
    // SAFETY: no arguments.
    unsafe { pthread_testcancel() };
    let result = Some(attempt()).filter(|result| *result == 0);
    crate::buffers::set_errno(before);
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
                let _stay = stays.then(|| Stay::of([$(value($at.cast_const())),+])).flatten();
                $(let mut $time = Held::of($time);)?
                $next($($at),+ $(, $clock)? $(, $time.at())?)
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
