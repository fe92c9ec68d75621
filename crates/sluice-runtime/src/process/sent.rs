//! Signals that wait while a thread of the program's does work of the runtime, or forks.
//!
//! It has locks by then that the program's handlers may need. One that came in the midst would wait
//! for its own thread. So every signal is blocked, also those that instructions send: when they are
//! sent, they wait as well. The runtime's own instructions send none; if one does all the same, the
//! kernel ends the program. Two signals cannot always be blocked:
//!
//! - SIGBUS in signal mode. The program's stack, and what a fork touches, may be missing. But the
//!   runtime's own handler is there first. It notes what was only sent, and the thread sends that
//!   to itself when it is done. In event mode no miss comes as a signal. (One that is sent to a
//!   thread, and not to its process, is lost while a miss's own is on its way there: the kernel
//!   keeps one of a kind for each thread, and leaves no trace of the other.)
//! - SIGSYS, once the program has it sent for system calls. Its handler may answer those of the
//!   runtime as well, and the kernel does not say before which is which. So one that is only sent
//!   does not wait in such a program.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use libc::siginfo_t;
use sluice_region::{sys, thread_id};

/// The signals that are not blocked, as the kernel's set.
static OPEN: AtomicU64 = AtomicU64::new(0);

/// Has a signal come also while others wait.
pub fn leave_open(signal: i32) {
    OPEN.fetch_or(1 << (signal - 1), Relaxed);
}

/// Holds signals back. Returns the mask as it was.
pub fn hold_signals() -> u64 {
    let mut before = 0u64;
    let all = !OPEN.load(Relaxed);
    set_mask(libc::SIG_BLOCK, &all, &raw mut before);
    before
}

/// Lets signals come as they did, first what was put off meanwhile.
pub fn restore_signals(before: u64, put_off: Option<Sent>) {
    set_mask(libc::SIG_SETMASK, &before, core::ptr::null_mut());
    if let Some(sent) = put_off {
        sent.come_again();
    }
}

/// Changes the calling thread's mask; `before` is null or takes what it was.
pub fn set_mask(how: i32, mask: &u64, before: *mut u64) {
    // SAFETY: the kernel's sets are 8 bytes; the second is null or live.
    let _ = unsafe { sys!(libc::SYS_rt_sigprocmask, how, &raw const *mask, before, 8) };
}

/// A signal that somebody sent, with all that its handler learns.
pub struct Sent(siginfo_t);

impl Sent {
    /// Sends it to the calling thread.
    #[cold]
    fn come_again(&self) {
        let (call, info) = (libc::SYS_rt_tgsigqueueinfo, &raw const self.0);
        // SAFETY: a live record. A thread may send itself what looks as if others had sent it.
        let _ = unsafe { sys!(call, libc::getpid(), thread_id(), self.0.si_signo, info) };
    }
}

/// Room for a signal that is put off. Only one thread uses it at a time, and its handlers.
pub struct Place(UnsafeCell<MaybeUninit<siginfo_t>>);

// SAFETY: see its note.
unsafe impl Sync for Place {}

impl Place {
    /// Nothing is in it.
    pub const fn new() -> Place {
        Place(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// # Safety
    /// By the thread that has the place.
    pub unsafe fn put(&self, info: &siginfo_t) {
        // SAFETY: nobody else looks at it.
        unsafe { (*self.0.get()).write(*info) };
    }

    /// # Safety
    /// By the thread that has the place, in which something is.
    pub unsafe fn sent(&self) -> Sent {
        // SAFETY: nobody else looks at it.
        Sent(unsafe { (*self.0.get()).assume_init_read() })
    }
}

/// The thread that forks; 0 for none.
static FORKER: AtomicU32 = AtomicU32::new(0);
/// Beside its number: a signal for it is put off.
const NOTED: u32 = 1 << 31;
static FORKERS: Place = Place::new();

/// Notes that the calling thread forks. It holds signals back, and has a lock that all need who do.
pub fn begin_fork() {
    FORKER.store(thread_id(), Release);
}

/// In the child: its thread has another number. What was sent to its parent is not the child's.
pub fn begin_in_child() {
    FORKER.store(thread_id(), Release);
}

/// Notes that the thread that forks is done. Returns what was put off.
pub fn end_fork() -> Option<Sent> {
    loop {
        let forker = FORKER.load(Acquire);
        // SAFETY: the caller's own, and something is there.
        let put_off = (forker & NOTED != 0).then(|| unsafe { FORKERS.sent() });
        // Another may come just now.
        let ended = FORKER.compare_exchange(forker, 0, AcqRel, Relaxed);
        if ended.is_ok() {
            return put_off;
        }
    }
}

/// Whether the calling thread forks.
pub fn is_forker() -> bool {
    let forker = FORKER.load(Acquire) & !NOTED;
    forker != 0 && forker == thread_id()
}

/// Puts off a signal if the calling thread forks. By its handler.
pub fn put_off_for_fork(info: &siginfo_t) -> bool {
    let is_forker = is_forker();
    if is_forker && FORKER.load(Acquire) & NOTED == 0 {
        // SAFETY: the place is the forking thread's, which this handler interrupts.
        unsafe { FORKERS.put(info) };
        FORKER.fetch_or(NOTED, Release);
    }
    is_forker
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is sent by a number and a value.
    fn sent(signal: i32, value: u8) -> siginfo_t {
        // SAFETY: plain data, for which zeros are valid.
        let mut info: siginfo_t = unsafe { core::mem::zeroed() };
        (info.si_signo, info.si_code, info.si_errno) = (signal, libc::SI_QUEUE, value.into());
        info
    }

    #[test]
    fn what_is_sent_to_a_thread_that_forks_comes_when_it_is_done() {
        assert!(!is_forker() && !put_off_for_fork(&sent(libc::SIGUSR1, 1)));
        begin_fork();
        assert!(is_forker() && !std::thread::spawn(is_forker).join().expect("no panic"));
        assert!(end_fork().is_none());
        begin_fork();
        assert!(
            [5, 6]
                .iter()
                .all(|n| put_off_for_fork(&sent(libc::SIGUSR1, *n)))
        );
        assert!(is_forker());
        let before = hold_signals();
        let put_off = end_fork();
        assert!(!is_forker());
        put_off.expect("it was put off").come_again();
        let only = 1u64 << (libc::SIGUSR1 - 1);
        let mut info = sent(0, 0);
        let to = &raw mut info;
        // SAFETY: a live set, and a live output.
        let came = unsafe { sys!(libc::SYS_rt_sigtimedwait, &raw const only, to, 0, 8) };
        restore_signals(before, None);
        assert_eq!(came, Ok(libc::SIGUSR1 as usize));
        assert_eq!((info.si_code, info.si_errno), (libc::SI_QUEUE, 5));
    }
}
