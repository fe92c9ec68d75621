//! Mutexes of which the kernel itself reads and writes words, in both modes: robust ones, and ones
//! that inherit priorities.
//!
//! The kernel goes through the robust mutexes of a thread that ends, and waits for no page then:
//! where one is missing, who waits for that mutex waits for ever. Nor does it wait where it gives a
//! mutex to who has the highest priority. So the pages of such a mutex stay as long as a thread has
//! it. A thread that is gone has none: the kernel is through with it.

use crate::next;
use crate::words::stay::Hold;
use libc::{c_int, pthread_barrier_t, pthread_cond_t, pthread_mutex_t, pthread_rwlock_t, sem_t};

/// Where the C library keeps the kind of a mutex, as its binary interface has it.
const KIND_AT: usize = 16;
/// The kinds.
const ROBUST: c_int = 16;
const INHERITS: c_int = 32;

/// Whether a mutex is one of these kinds.
#[inline(always)]
fn is_kernels(lock: *const pthread_mutex_t) -> bool {
    // SAFETY: the program's mutex, which is about to be read anyway.
    let kind = unsafe { lock.byte_add(KIND_AT).cast::<c_int>().read_volatile() };
    kind & (ROBUST | INHERITS) != 0
}

/// Takes such a mutex by a call.
pub fn take(hold: &Hold, call: impl FnOnce() -> c_int) -> c_int {
    hold.begin();
    let result = call();
    match result {
        0 => {}
        libc::EOWNERDEAD => hold.take_over(),
        _ => hold.end(),
    }
    result
}

next!(next_trylock: c"pthread_mutex_trylock"(lock: *mut pthread_mutex_t) -> c_int);
next!(next_unlock: c"pthread_mutex_unlock"(lock: *mut pthread_mutex_t) -> c_int);

/// # Safety
/// C contract of `pthread_mutex_trylock`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_trylock(lock: *mut pthread_mutex_t) -> c_int {
    // SAFETY: passed on.
    let call = || unsafe { next_trylock(lock) };
    match lock.owned() {
        None => call(),
        Some(hold) => take(&hold, call),
    }
}

/// # Safety
/// C contract of `pthread_mutex_unlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_unlock(lock: *mut pthread_mutex_t) -> c_int {
    // SAFETY: passed on.
    let call = || unsafe { next_unlock(lock) };
    match lock.owned() {
        None => call(),
        Some(hold) => give_back(&hold, call),
    }
}

/// Gives such a mutex back by a call. Afterwards it may be gone.
fn give_back(hold: &Hold, call: impl FnOnce() -> c_int) -> c_int {
    let result = call();
    if result == 0 {
        hold.end();
    }
    result
}

/// What threads wait at.
pub trait Lock {
    /// The pages of such a mutex that is on the device.
    fn owned(self) -> Option<Hold>;
}

impl Lock for *mut pthread_mutex_t {
    #[inline(always)]
    fn owned(self) -> Option<Hold> {
        match is_kernels(self) {
            true => Hold::of(self),
            false => None,
        }
    }
}

impl Lock for *mut pthread_rwlock_t {
    #[inline(always)]
    fn owned(self) -> Option<Hold> {
        None
    }
}

impl Lock for *mut sem_t {
    #[inline(always)]
    fn owned(self) -> Option<Hold> {
        None
    }
}

/// What a call waits at that is no attempt first.
pub trait Wait: Sized {
    /// Makes the call.
    #[inline(always)]
    fn over(self, call: impl FnOnce() -> c_int) -> c_int {
        call()
    }
}

impl Wait for (*mut pthread_cond_t,) {}
impl Wait for (*mut pthread_barrier_t,) {}
impl Wait for (*mut pthread_mutex_t,) {}

impl Wait for (*mut pthread_cond_t, *mut pthread_mutex_t) {
    /// The pages of the mutex stay meanwhile. Afterwards the thread has it again, unless nobody can
    /// have it.
    fn over(self, call: impl FnOnce() -> c_int) -> c_int {
        let hold = self.1.owned();
        let result = call();
        match (hold, result) {
            (Some(hold), libc::EOWNERDEAD) => hold.take_over(),
            (Some(hold), libc::ENOTRECOVERABLE) => hold.end(),
            _ => {}
        }
        result
    }
}
