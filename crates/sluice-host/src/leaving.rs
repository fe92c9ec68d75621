//! Lines on their way out of a host's caches.

use super::artifact::Artifact;
use super::system::Host;
use super::tags::line_of;
use sluice_units::{LINE_BYTES, Ps};

impl<A: Artifact> Host<'_, A> {
    /// A written line leaves an L2.
    pub(super) fn write_back(&mut self, line: Option<u32>, at: Ps) {
        if let Some(line) = line
            && !self.artifact.loses_l2_victims()
        {
            self.put(line, at);
        }
    }

    /// The L3 gets a written line.
    pub(super) fn put(&mut self, line: u32, at: Ps) {
        if self.memory.shares(line) {
            return self.put_shared(line);
        }
        if !self.l3.is_there() {
            return self.leave(line, at);
        }
        let victim = self.l3.take(line);
        self.displaced(victim, at);
    }

    /// An entry has left the L3 for another line; 0 if none had to.
    #[inline]
    pub(super) fn displaced(&mut self, victim: u32, at: Ps) {
        if victim == 0 {
            return;
        }
        let line = line_of(victim);
        if self.memory.shares(line) {
            return self.give_up(line, at);
        }
        if let Some(line) = self.l3.written(victim) {
            self.leave(line, at);
        }
    }

    /// A written line leaves the last cache.
    pub(super) fn leave(&mut self, victim: u32, at: Ps) {
        let addr = u64::from(victim) * LINE_BYTES;
        if self.is_outside(addr) {
            return self.send(addr, at, None);
        }
        self.memory.write(at, addr);
    }
}
