//! Threads of the program whose system calls the kernel sends back to it, by SIGSYS
//! (`PR_SET_SYSCALL_USER_DISPATCH`).
//!
//! That holds for calls from everywhere but one range of the program's choice, while a byte of the
//! program's, the selector, says so. The runtime's own calls in such a thread are not meant: the
//! selector lets them through. The kernel reads it at each call, so it is never on the device.

use crate::tls::pointer;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicUsize, Ordering::*};

/// What a selector says.
const ALLOW: u8 = 0;
const BLOCK: u8 = 1;

/// Threads that can be known at once.
const MOST: usize = 64;

/// A thread whose calls are dispatched, by its pointer; 0 for none.
struct Slot {
    thread: AtomicUsize,
    selector: AtomicPtr<AtomicU8>,
    /// What the range lets through; or what it dispatches, if it is the other way round.
    from: AtomicUsize,
    bytes: AtomicUsize,
    is_inverse: AtomicBool,
    /// In place of a selector, for a thread that has none.
    own: AtomicU8,
}

static SLOTS: [Slot; MOST] = [const { Slot::none() }; MOST];
/// Whether there ever was such a thread.
static IS_ANY: AtomicBool = AtomicBool::new(false);

impl Slot {
    const fn none() -> Slot {
        Slot {
            thread: AtomicUsize::new(0),
            selector: AtomicPtr::new(core::ptr::null_mut()),
            from: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            is_inverse: AtomicBool::new(false),
            own: AtomicU8::new(BLOCK),
        }
    }

    fn selector(&self) -> &AtomicU8 {
        let selector = self.selector.load(Relaxed);
        // SAFETY: null, or the program's selector, which the kernel reads at each call.
        unsafe { selector.as_ref() }.unwrap_or(&self.own)
    }
}

fn own_slot() -> Option<&'static Slot> {
    let thread = pointer();
    SLOTS
        .iter()
        .find(|slot| slot.thread.load(Relaxed) == thread)
}

/// What the calling thread is about to ask for: calls from a range are let through, or dispatched
/// if it `is_inverse`. Returns the selector that the kernel is to have; `None` if there are too
/// many such threads.
pub fn note_dispatched(
    range: Range<usize>,
    is_inverse: bool,
    selector: *mut AtomicU8,
) -> Option<*mut AtomicU8> {
    let free = |slot: &&Slot| {
        let thread = slot.thread.compare_exchange(0, pointer(), AcqRel, Relaxed);
        thread.is_ok()
    };
    let slot = own_slot().or_else(|| SLOTS.iter().find(free))?;
    slot.selector.store(selector, Relaxed);
    slot.from.store(range.start, Relaxed);
    slot.bytes.store(range.len(), Relaxed);
    slot.is_inverse.store(is_inverse, Relaxed);
    slot.own.store(BLOCK, Relaxed);
    IS_ANY.store(true, Release);
    Some(core::ptr::from_ref(slot.selector()).cast_mut())
}

/// The calling thread's calls are not dispatched, or no longer.
pub fn forget_dispatched() {
    if let Some(slot) = own_slot().filter(|_| is_any()) {
        slot.thread.store(0, Release);
    }
}

/// In the child of a fork: the kernel dispatches no calls there.
pub fn forget_all_dispatched() {
    SLOTS.iter().for_each(|slot| slot.thread.store(0, Release));
    IS_ANY.store(false, Release);
}

/// Whether a call of the calling thread's from this address would be sent back: always, or now.
pub fn is_dispatched(at: usize, now: bool) -> bool {
    let is_sent_back = |slot: &Slot| {
        let offset = at.wrapping_sub(slot.from.load(Relaxed));
        let is_inside = offset < slot.bytes.load(Relaxed);
        let is_on = !now || slot.selector().load(Relaxed) == BLOCK;
        is_inside == slot.is_inverse.load(Relaxed) && is_on
    };
    is_any() && own_slot().is_some_and(is_sent_back)
}

/// Whether there may be such threads.
#[inline(always)]
pub(crate) fn is_any() -> bool {
    IS_ANY.load(Relaxed)
}

/// Makes a call of the runtime's own, which is let through.
#[cold]
pub(crate) fn let_through<R>(call: impl FnOnce() -> R) -> R {
    let Some(slot) = own_slot() else {
        return call();
    };
    let before = slot.selector().swap(ALLOW, Relaxed);
    let result = call();
    slot.selector().store(before, Relaxed);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threads_calls_are_dispatched_where_it_said_so() {
        let inside = || {
            std::thread::spawn(|| is_dispatched(5, true))
                .join()
                .expect("no panic")
        };
        let selector = AtomicU8::new(BLOCK);
        let at = core::ptr::from_ref(&selector).cast_mut();
        assert_eq!(note_dispatched(10..20, false, at), Some(at));
        assert!(is_dispatched(9, true) && !is_dispatched(10, true));
        assert!(!is_dispatched(19, true) && is_dispatched(20, true));
        assert!(!inside(), "another thread");
        let_through(|| assert!(!is_dispatched(9, true)));
        assert!(is_dispatched(9, true));
        selector.store(ALLOW, Relaxed);
        assert!(!is_dispatched(9, true) && is_dispatched(9, false));
        let own = note_dispatched(10..20, true, core::ptr::null_mut()).expect("room");
        assert_ne!(own, at);
        assert!(!is_dispatched(9, true) && is_dispatched(10, true));
        forget_dispatched();
        assert!(!is_dispatched(10, true));
    }
}
