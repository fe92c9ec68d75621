//! How a thread that serves a fault comes to the core, also while a thread forks.

use crate::clock::{now_ns, sleep_until};
use crate::engine::Engine;
use crate::engine::state::Core;
use crate::lock::Guard;
use core::sync::atomic::{AtomicU32, Ordering::*};

/// Beside the number of the thread that forks: a fault of its own is being served.
const SERVING: u32 = 1 << 31;
/// A thread that waits until that is over looks again after this.
const LOOK_NS: u64 = 2_000;

/// The core, locked or already held for the thread that is served.
pub(crate) enum Entry<'a> {
    /// Locked for this call.
    Locked(Guard<'a, Core>),
    /// Held by the thread that forks, which waits in the fault being served.
    Held(Held<'a>),
}

/// The core, until the fault of the thread that forks is served.
pub(crate) struct Held<'a> {
    core: &'a mut Core,
    forking: &'a AtomicU32,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.forking.fetch_and(!SERVING, Release);
    }
}

impl Entry<'_> {
    /// Whether a thread that forks is served.
    pub(crate) fn is_held(&self) -> bool {
        matches!(self, Entry::Held(_))
    }
}

impl core::ops::Deref for Entry<'_> {
    type Target = Core;
    fn deref(&self) -> &Core {
        match self {
            Entry::Locked(guard) => guard,
            Entry::Held(held) => held.core,
        }
    }
}

impl core::ops::DerefMut for Entry<'_> {
    fn deref_mut(&mut self) -> &mut Core {
        match self {
            Entry::Locked(guard) => guard,
            Entry::Held(held) => held.core,
        }
    }
}

impl Engine {
    /// The thread that forks; 0 for none.
    pub(crate) fn forking(&self) -> u32 {
        self.forking.load(Acquire) & !SERVING
    }

    /// By the thread that forks: waits until its last fault was served to the end. It goes on as
    /// soon as its page is there, and a child must not have the core as it is in between.
    pub fn finish_serving(&self) {
        while self.forking.load(Acquire) & SERVING != 0 {
            sleep_until(now_ns() + LOOK_NS);
        }
    }

    /// The core on behalf of a faulting thread.
    ///
    /// The thread that forks holds the lock until the child exists, and the C library touches
    /// memory in between. Its own faults are served under the lock that it holds, since it cannot
    /// use the core while it waits for them.
    pub(crate) fn enter(&self, thread: impl Fn() -> u32) -> Option<Entry<'_>> {
        loop {
            match self.forking.load(Acquire) {
                0 => {}
                forking if forking & !SERVING == thread() => {
                    if let Some(held) = self.hold_for(forking & !SERVING) {
                        return Some(Entry::Held(held));
                    }
                    // Another handler is about to be done with the fault before this one.
                    sleep_until(now_ns() + LOOK_NS);
                    continue;
                }
                _ => return None,
            }
            if let Some(guard) = self.core.try_lock_briefly() {
                return Some(Entry::Locked(guard));
            }
        }
    }

    /// The core on behalf of the thread that forks, unless another fault of it is being served.
    fn hold_for(&self, forking: u32) -> Option<Held<'_>> {
        let serving = forking | SERVING;
        let begun = self
            .forking
            .compare_exchange(forking, serving, AcqRel, Relaxed);
        begun.ok()?;
        // SAFETY: the holder of the lock waits in the fault being served, or until it is over.
        let core = unsafe { self.core.get_held() };
        let forking = &self.forking;
        Some(Held { core, forking })
    }
}
