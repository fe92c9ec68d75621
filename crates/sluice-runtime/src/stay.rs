//! Has pages stay while a thread of the program waits at words of theirs: see
//! [`Waited`](crate::waited::Waited).

use crate::calm;
use crate::engine::Engine;
use crate::session::Trap;
use crate::waited::Waited;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

/// Among which addresses all memory of the device lies in signal mode: none in event mode. Programs
/// take locks so often that no more can be asked for each.
static FROM: AtomicUsize = AtomicUsize::new(usize::MAX);
static TO: AtomicUsize = AtomicUsize::new(0);

/// Whether a wait at a word of this address may need its page to stay.
#[inline]
pub fn may_stay(addr: usize) -> bool {
    (FROM.load(Relaxed)..TO.load(Relaxed)).contains(&addr)
}

impl Engine {
    /// Memory of the device is going to be at these addresses.
    pub(crate) fn reach(trap: Trap, start: usize, len: usize) {
        if trap == Trap::Signal && len > 0 {
            FROM.fetch_min(start, Relaxed);
            TO.fetch_max(start + len, Relaxed);
        }
    }

    /// Has the pages with these addresses stay from their next use on, because a thread is going to
    /// wait at words of theirs.
    pub fn begin_wait(&self, at: &[usize]) {
        self.with_waited(at, Waited::add);
    }

    /// Ends what [`begin_wait`](Self::begin_wait) began.
    pub fn end_wait(&self, at: &[usize]) {
        self.with_waited(at, Waited::remove);
    }

    fn with_waited(&self, at: &[usize], change: fn(&mut Waited, u64)) {
        calm(|| {
            let mut core = self.core.lock();
            let host = &mut core.host;
            for at in at {
                if let Some(lpn) = host.lpn(*at) {
                    change(&mut host.progress.waited, lpn);
                }
            }
        });
    }
}
