//! Has pages stay while a thread of the program waits at words of theirs: see
//! [`Waited`](crate::waited::Waited).

use crate::calm;
use crate::engine::Engine;
use crate::waited::Waited;

impl Engine {
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
