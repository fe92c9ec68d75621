//! Lines that a program sends to memory, and waits for (`clwb`, `sfence`).

use super::artifact::Artifact;
use super::core::{Core, Pause, Sent};
use super::system::Host;
use super::tags::{DIRTY, PENDING, Tags, line_of};
use sluice_units::Ps;

/// Lines of a core on their way to memory at once. A flush more waits at retirement.
const FLUSHES_MAX: u32 = 1024;

impl<A: Artifact> Core<A> {
    /// Sends a line to memory, from the L2 on at a later event. It stays in the caches.
    ///
    /// # Errors
    /// It is still being fetched, or too many are on their way.
    pub(super) fn flush(&mut self, line: u32, at: u64) -> Result<(), Pause> {
        let Some(ready) = self.line_ready(line) else {
            return Err(Pause::Blocked);
        };
        if self.flushing == FLUSHES_MAX {
            return Err(Pause::Blocked);
        }
        let mut dirty = false;
        for level in [&mut self.l1, &mut self.l2] {
            dirty |= level.peek(line).is_some_and(Tags::clean);
        }
        self.stats.levels[1].write_backs += u64::from(dirty);
        self.flushing += 1;
        self.sends = true;
        let leaves = self.time(at.max(ready) + self.l2_ticks);
        self.sent.push((leaves, Sent { line, dirty }));
        Ok(())
    }

    /// From when on the core has a line that it has asked for; `None` if it has not come.
    fn line_ready(&mut self, line: u32) -> Option<u64> {
        // It may have left the L1 while it is on its way.
        let levels = [&mut self.l1, &mut self.l2].into_iter();
        let mut entries = levels.filter_map(|level| level.peek(line));
        let pending = entries.any(|entry| *entry & PENDING != 0);
        match self.misses.find(line).filter(|_| pending) {
            Some(miss) if self.misses.is_open(miss) => None,
            Some(miss) => Some(self.misses.get(miss).due),
            None => Some(0),
        }
    }

    /// A line is newer than its memory from now on. Says whether the core has it still.
    ///
    /// Stores of a program that sends lines to memory say so when they retire. Elsewhere lines are
    /// marked when a store is executed, which may be before an older flush retires.
    pub(super) fn written(&mut self, line: u32) -> bool {
        let mut levels = [&mut self.l1, &mut self.l2].into_iter();
        let entry = levels.find_map(|level| level.peek(line));
        entry.map(|entry| *entry |= DIRTY).is_some()
    }

    /// The L1 is empty. What was written goes to the L2.
    pub fn flush_l1(&mut self) {
        let mut written = Vec::new();
        self.l1.take_all(|entry| {
            if entry & DIRTY != 0 {
                written.push(line_of(entry));
            }
        });
        written.into_iter().for_each(|line| self.take_below(line));
    }

    /// Memory has a line at `at`.
    pub(super) fn arrived(&mut self, at: Ps) {
        self.flushing -= 1;
        self.flushed = self.flushed.max(self.ticks(at));
    }
}

impl<A: Artifact> Host<'_, A> {
    /// A line that a program sends to memory is below its L2.
    pub(super) fn flush(&mut self, number: usize, sent: Sent) {
        let at = self.now + self.l3_latency(number);
        if self.memory.shares(sent.line) {
            return self.flush_shared(number, sent.line, at);
        }
        let below = self.l3.clean(sent.line);
        let addr = u64::from(sent.line) * 64;
        let is_written = below || sent.dirty;
        if is_written && self.is_outside(addr) {
            return self.send(addr, at, Some(number as u32));
        }
        let done_at = match is_written {
            true => self.memory.write(at, addr),
            false => at,
        };
        self.note(done_at.0);
        self.cores[number].arrived(done_at);
        self.wake(number);
    }
}
