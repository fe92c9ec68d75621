//! Semaphores, queues and segments of System V, for signal mode: what their calls read, and what
//! they say of themselves. By these the kernel takes nothing away before it has read all, so that
//! they can be tried again. Messages are [`crate::signal_mode::taken`]'s.

use crate::bytes::buffers::{Buffers, One, with_pages};
use crate::next;
use libc::{c_int, c_ushort, c_void, msqid_ds, sembuf, semid_ds, shmid_ds, size_t, timespec};
use sluice_runtime::Engine;

next!(next_semop: c"semop"(set: c_int, operations: *mut sembuf, n: size_t) -> c_int);
next!(next_semtimedop: c"semtimedop"
    (set: c_int, operations: *mut sembuf, n: size_t, longest: *const timespec) -> c_int);
next!(next_semctl: c"semctl"(set: c_int, which: c_int, what: c_int, with: *mut c_void) -> c_int);
next!(next_msgctl: c"msgctl"(queue: c_int, what: c_int, with: *mut msqid_ds) -> c_int);
next!(next_shmctl: c"shmctl"(segment: c_int, what: c_int, with: *mut shmid_ds) -> c_int);

/// What a call of `semctl` reads or fills.
struct OfSet {
    set: c_int,
    what: c_int,
    at: *mut c_void,
}

impl Buffers for OfSet {
    fn touch(&self, engine: &Engine) -> bool {
        const ALL: [c_int; 2] = [libc::GETALL, libc::SETALL];
        let bytes = match ALL.contains(&self.what) {
            true => semaphores(self.set) * size_of::<c_ushort>(),
            false => size_of::<semid_ds>(),
        };
        (self.at.cast_const(), bytes).touch(engine)
    }
}

/// How many semaphores a set has.
fn semaphores(set: c_int) -> usize {
    // SAFETY: plain data, for which zeros are valid, as the output, off the device.
    unsafe {
        let mut about: semid_ds = core::mem::zeroed();
        match next_semctl(set, 0, libc::IPC_STAT, (&raw mut about).cast()) {
            -1 => 0,
            _ => about.sem_nsems as usize,
        }
    }
}

fn operations(at: *mut sembuf, n: size_t) -> (*const c_void, size_t) {
    (
        at.cast::<c_void>().cast_const(),
        n.saturating_mul(size_of::<sembuf>()),
    )
}

/// # Safety
/// C contract of `semop`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn semop(set: c_int, at: *mut sembuf, n: size_t) -> c_int {
    // SAFETY: passed on.
    with_pages(operations(at, n), || unsafe { next_semop(set, at, n) })
}

/// # Safety
/// C contract of `semtimedop`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn semtimedop(
    set: c_int,
    at: *mut sembuf,
    n: size_t,
    longest: *const timespec,
) -> c_int {
    // SAFETY: passed on.
    let call = || unsafe { next_semtimedop(set, at, n, longest) };
    with_pages((operations(at, n), One(longest)), call)
}

/// Its last argument is passed in a register, whatever it is.
///
/// # Safety
/// C contract of `semctl`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn semctl(
    set: c_int,
    which: c_int,
    what: c_int,
    at: *mut c_void,
) -> c_int {
    // SAFETY: passed on.
    let call = || unsafe { next_semctl(set, which, what, at) };
    with_pages(OfSet { set, what, at }, call)
}

/// # Safety
/// C contract of `msgctl`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn msgctl(queue: c_int, what: c_int, at: *mut msqid_ds) -> c_int {
    // SAFETY: passed on.
    with_pages(One(at.cast_const()), || unsafe {
        next_msgctl(queue, what, at)
    })
}

/// # Safety
/// C contract of `shmctl`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn shmctl(segment: c_int, what: c_int, at: *mut shmid_ds) -> c_int {
    // SAFETY: passed on.
    with_pages(One(at.cast_const()), || unsafe {
        next_shmctl(segment, what, at)
    })
}
