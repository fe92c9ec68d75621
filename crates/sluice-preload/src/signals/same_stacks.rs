//! Alternate stacks that several threads have set, for signal mode. Varnish has one for all of its
//! threads: natively only a crash needs it. Here each miss does, and two threads that miss at once
//! would destroy each other's record. So all threads but the first have ours in its place.

use core::sync::atomic::{AtomicI32, AtomicUsize, Ordering::*};
use libc::stack_t;

/// Threads with a stack that the program has set. More of them are not watched.
const MOST: usize = 1024;

/// What a thread has set. The thread is known by its stack of ours; only it writes here.
struct Slot {
    thread: AtomicUsize,
    start: AtomicUsize,
    bytes: AtomicUsize,
    flags: AtomicI32,
    /// Ours is in its place.
    is_replaced: AtomicUsize,
}

static SLOTS: [Slot; MOST] = [const {
    Slot {
        thread: AtomicUsize::new(0),
        start: AtomicUsize::new(0),
        bytes: AtomicUsize::new(0),
        flags: AtomicI32::new(0),
        is_replaced: AtomicUsize::new(0),
    }
}; MOST];

/// What a thread has set, and whether ours is in its place.
pub type Set = Option<(stack_t, bool)>;

fn slot(thread: usize) -> Option<&'static Slot> {
    let is_its = |slot: &&Slot| slot.thread.load(SeqCst) == thread;
    SLOTS.iter().find(is_its)
}

/// What this thread has set.
pub fn of(thread: usize) -> Set {
    let slot = slot(thread)?;
    let set = stack_t {
        ss_sp: slot.start.load(SeqCst) as *mut _,
        ss_flags: slot.flags.load(SeqCst),
        ss_size: slot.bytes.load(SeqCst),
    };
    Some((set, slot.is_replaced.load(SeqCst) != 0))
}

/// Notes what this thread sets. Returns whether another one has set the same.
pub fn note(thread: usize, set: &stack_t) -> bool {
    let take = |slot: &&Slot| {
        slot.thread
            .compare_exchange(0, thread, SeqCst, SeqCst)
            .is_ok()
    };
    let Some(slot) = slot(thread).or_else(|| SLOTS.iter().find(take)) else {
        return false;
    };
    let start = set.ss_sp as usize;
    slot.bytes.store(set.ss_size, SeqCst);
    slot.flags.store(set.ss_flags, SeqCst);
    slot.start.store(start, SeqCst);
    let is_same = |other: &Slot| {
        let of = other.thread.load(SeqCst);
        of != 0 && of != thread && other.start.load(SeqCst) == start
    };
    let is_shared = SLOTS.iter().any(is_same);
    slot.is_replaced.store(is_shared.into(), SeqCst);
    is_shared
}

/// Notes again what this thread had set before.
pub fn put_back(thread: usize, before: Set) {
    forget(thread);
    if let Some((set, is_replaced)) = before {
        note(thread, &set);
        if let Some(slot) = slot(thread) {
            slot.is_replaced.store(is_replaced.into(), SeqCst);
        }
    }
}

/// Forgets what this thread has set.
pub fn forget(thread: usize) {
    if let Some(slot) = slot(thread) {
        slot.start.store(0, SeqCst);
        slot.thread.store(0, SeqCst);
    }
}

/// In the child of a fork, there is only this thread.
pub fn forget_others(thread: usize) {
    for slot in &SLOTS {
        let other = slot.thread.load(SeqCst);
        if other != 0 && other != thread {
            forget(other);
        }
    }
}
