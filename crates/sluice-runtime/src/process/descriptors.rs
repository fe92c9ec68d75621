//! Descriptors of the runtime in signal mode. They are in the program's table, for the thread that
//! misses is the program's own and needs them itself.
//!
//! They have high numbers, so that the program gets the numbers that it would get without them. The
//! hooks on `close` and its kin pass them over; what closes them in another way is noticed at their
//! next use, which ends the program.

use crate::process::limits::{self, Limit, with_raised};
use core::sync::atomic::{AtomicI32, Ordering::*};
use sluice_region::sys;

/// How many there can be.
const MOST: usize = 48;
/// Numbers are sought from here on, or a little below the program's limit if that is lower.
const FROM: u64 = 4_096;
/// The descriptor of the lock on the session gets this number or a higher one in each mode:
/// programs count on low ones.
pub const LOCK_FD: u64 = 512;
/// Room for them below a limit that cannot be raised.
const ROOM: u64 = 64;

static GUARDED: [AtomicI32; MOST] = [const { AtomicI32::new(-1) }; MOST];

/// Whether a number of the program's table is the runtime's.
pub fn is_guarded(fd: i32) -> bool {
    fd >= 0 && GUARDED.iter().any(|slot| slot.load(Relaxed) == fd)
}

/// The lowest number of the runtime's from `from` to `to`.
pub fn first_guarded(from: u32, to: u32) -> Option<u32> {
    let numbers = GUARDED.iter().map(|slot| slot.load(Relaxed));
    let numbers = numbers.filter_map(|fd| u32::try_from(fd).ok());
    numbers.filter(|fd| (from..=to).contains(fd)).min()
}

/// Moves a descriptor to a high number, where hooks guard it.
pub fn guard(fd: &mut i32) -> Result<(), i32> {
    let free = |slot: &&AtomicI32| slot.compare_exchange(-1, *fd, AcqRel, Relaxed).is_ok();
    let slot = GUARDED.iter().find(free).ok_or(libc::EMFILE)?;
    let moved = with_room(|from| {
        // SAFETY: no pointers.
        unsafe { sys!(libc::SYS_fcntl, *fd, libc::F_DUPFD_CLOEXEC, from) }
    });
    slot.store(moved.map_or(-1, |number| number as i32), Release);
    // SAFETY: our own descriptor, which has another number now.
    let _ = unsafe { sys!(libc::SYS_close, *fd) };
    *fd = moved? as i32;
    Ok(())
}

/// Forgets a number that is to be the program's.
pub fn forget(number: i32) {
    let slot = GUARDED.iter().find(|slot| slot.load(Relaxed) == number);
    if let Some(slot) = slot {
        slot.store(-1, Release);
    }
}

/// Forgets all but one: in the child of a fork its parent's are closed.
pub fn forget_all_but(kept: Option<i32>) {
    for slot in &GUARDED {
        if Some(slot.load(Relaxed)) != kept {
            slot.store(-1, Release);
        }
    }
}

/// Has the table reach as far as the runtime's descriptors will. The kernel does so at once while
/// one thread alone has it; whoever lengthens one that a second thread has waits for milliseconds.
/// `guards` says whether some are moved to high numbers.
pub fn make_room(guards: bool) {
    // SAFETY: no pointers.
    let Ok(fd) = (unsafe { sys!(libc::SYS_eventfd2, 0, libc::EFD_CLOEXEC) }) else {
        return;
    };
    let copy = |from: u64| {
        // SAFETY: no pointers.
        unsafe { sys!(libc::SYS_fcntl, fd, libc::F_DUPFD_CLOEXEC, from) }
    };
    let copied = match guards {
        true => with_room(copy),
        false => copy(LOCK_FD),
    };
    for own in [Ok(fd), copied].into_iter().flatten() {
        // SAFETY: our own descriptors.
        let _ = unsafe { sys!(libc::SYS_close, own) };
    }
}

/// Calls with the number from which a high one is to be sought, and with room for it.
fn with_room<R>(call: impl FnOnce(u64) -> R) -> R {
    let Some(limit) = limit() else {
        return call(FROM);
    };
    let from = limit.rlim_cur.min(FROM);
    let enough = from + ROOM;
    if enough <= limit.rlim_cur {
        call(from)
    } else if enough <= limit.rlim_max {
        with_all_numbers(|| call(from))
    } else {
        call(limit.rlim_cur.saturating_sub(ROOM))
    }
}

/// Calls with the program's limit of descriptors raised as far as it may be.
///
/// Numbers above the limit stay valid afterwards. The program cannot get them, but may have some
/// from before it lowered its limit.
pub fn with_all_numbers<R>(call: impl FnOnce() -> R) -> R {
    with_raised(Limit::Descriptors, call)
}

/// The program's limit of descriptors.
fn limit() -> Option<libc::rlimit> {
    limits::get(Limit::Descriptors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guarded_descriptor_has_a_high_number_and_works() {
        // SAFETY: no pointers.
        let mut fd = unsafe { sys!(libc::SYS_eventfd2, 7, 0) }.unwrap() as i32;
        let low = fd;
        guard(&mut fd).unwrap();
        assert!(fd > 500 && is_guarded(fd) && !is_guarded(low), "{fd}");
        assert_eq!(first_guarded(0, u32::MAX), Some(fd as u32));
        assert_eq!(first_guarded(fd as u32 + 1, u32::MAX), None);
        let mut value = 0u64;
        // SAFETY: a live output.
        let read = unsafe { sys!(libc::SYS_read, fd, &raw mut value, 8) };
        assert_eq!((read, value), (Ok(8), 7));
        // SAFETY: our own descriptor.
        unsafe { sys!(libc::SYS_close, fd) }.unwrap();
        forget_all_but(None);
        assert!(!is_guarded(fd));
    }
}
