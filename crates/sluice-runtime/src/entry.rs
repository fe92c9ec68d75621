//! How a thread that serves a fault comes to the core, also while a thread forks.

use crate::engine::Engine;
use crate::lock::Guard;
use crate::state::Core;
use core::sync::atomic::Ordering::*;

/// The core, locked or already held for the thread that is served.
pub(crate) enum Entry<'a> {
    /// Locked for this call.
    Locked(Guard<'a, Core>),
    /// Held by the thread that forks, which waits in the fault being served.
    Held(&'a mut Core),
}

impl core::ops::Deref for Entry<'_> {
    type Target = Core;
    fn deref(&self) -> &Core {
        match self {
            Entry::Locked(guard) => guard,
            Entry::Held(core) => core,
        }
    }
}

impl core::ops::DerefMut for Entry<'_> {
    fn deref_mut(&mut self) -> &mut Core {
        match self {
            Entry::Locked(guard) => guard,
            Entry::Held(core) => core,
        }
    }
}

impl Engine {
    /// The thread that forks; 0 for none.
    pub(crate) fn forking(&self) -> u32 {
        self.forking.load(Acquire)
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
                forking if forking == thread() => {
                    // SAFETY: the holder of the lock is blocked in the fault being served.
                    let core = unsafe { self.core.get_held() };
                    return Some(Entry::Held(core));
                }
                _ => return None,
            }
            if let Some(guard) = self.core.try_lock_briefly() {
                return Some(Entry::Locked(guard));
            }
        }
    }
}
