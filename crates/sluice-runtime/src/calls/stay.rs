//! Has pages stay while the kernel may read or write words of theirs: see
//! [`Waited`](crate::memory::waited::Waited).

use crate::engine::Engine;
use crate::host::Host;
use crate::process::filter;
use crate::process::witness::Gone;
use crate::session::Trap;
use crate::threads::calm::calm;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;
use sluice_region::sys;

/// Addresses among which memory lies. Programs take locks so often that no more can be asked for
/// each.
struct Reach {
    from: AtomicUsize,
    to: AtomicUsize,
}

impl Reach {
    const fn none() -> Reach {
        Reach {
            from: AtomicUsize::new(usize::MAX),
            to: AtomicUsize::new(0),
        }
    }

    fn add(&self, start: usize, len: usize) {
        self.from.fetch_min(start, Relaxed);
        self.to.fetch_max(start + len, Relaxed);
    }

    #[inline]
    fn has(&self, addr: usize) -> bool {
        (self.from.load(Relaxed)..self.to.load(Relaxed)).contains(&addr)
    }
}

/// All memory of the device.
static ALL: Reach = Reach::none();
/// The same in signal mode, and none in event mode.
static SIGNAL: Reach = Reach::none();

/// Whether an address may be one of the device's.
#[inline]
pub fn may_be_placed(addr: usize) -> bool {
    ALL.has(addr)
}

/// Whether a wait at a word of this address may need its page to stay.
#[inline]
pub fn may_stay(addr: usize) -> bool {
    SIGNAL.has(addr)
}

impl Engine {
    /// Memory of the device is going to be at these addresses.
    pub(crate) fn reach(trap: Trap, start: usize, len: usize) {
        if len > 0 {
            ALL.add(start, len);
        }
        if trap == Trap::Signal && len > 0 {
            SIGNAL.add(start, len);
        }
    }

    /// Has the pages with these addresses stay from their next use on, because a thread is going to
    /// wait at words of theirs.
    pub fn begin_wait(&self, at: &[usize]) {
        self.with_pages(at, |host, lpn| host.progress.waited.add(lpn));
    }

    /// Ends what [`begin_wait`](Self::begin_wait) began.
    pub fn end_wait(&self, at: &[usize]) {
        self.with_pages(at, |host, lpn| {
            if host.progress.waited.remove(lpn) {
                host.stays_no_more(lpn);
            }
        });
    }

    /// Has the pages with these addresses stay from their next use on, because a thread is going to
    /// have a mutex there, with which it may end.
    pub fn hold(&self, thread: u32, at: &[usize]) {
        self.with_pages(at, |host, lpn| host.progress.waited.hold(thread, lpn));
    }

    /// The thread has it no longer.
    pub fn let_go(&self, thread: u32, at: &[usize]) {
        self.with_pages(at, |host, lpn| {
            if host.progress.waited.let_go(thread, lpn) {
                host.stays_no_more(lpn);
            }
        });
    }

    /// Looks which threads are gone that had mutexes: somebody has found one of them.
    pub fn forget_gone(&self) {
        calm(|| self.core.lock().host.forget_gone());
    }

    fn with_pages(&self, at: &[usize], change: impl Fn(&mut Host, u64)) {
        calm(|| {
            let mut core = self.core.lock();
            for at in at {
                if let Some(lpn) = core.host.lpn(*at) {
                    change(&mut core.host, lpn);
                }
            }
            if core.host.progress.waited.has_many() {
                core.host.forget_gone();
            }
        });
    }
}

impl Host {
    /// What a thread had that is gone stays no longer. The kernel has looked at it by then.
    fn forget_gone(&mut self) {
        // SAFETY: no pointers; no signal is sent.
        let process = unsafe { libc::getpid() };
        let gone = Gone::now();
        let is_gone = |thread: u32| {
            // A filter may end the thread for the question.
            if gone.has(thread) || filter::is_set() {
                return gone.has(thread);
            }
            // SAFETY: as above.
            let asked = unsafe { sys!(libc::SYS_tgkill, process, thread, 0) };
            asked == Err(libc::ESRCH)
        };
        for lpn in self.progress.waited.take_gone(is_gone) {
            self.stays_no_more(lpn);
        }
        gone.release();
    }
}
