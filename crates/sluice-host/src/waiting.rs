//! How long misses wait for an MSHR.

use sluice_units::Ps;

/// The time that misses have waited, summed over them, up to the end of the run.
#[derive(Default)]
pub(super) struct Waiting {
    /// How many wait.
    count: u64,
    /// The time up to which the sum has theirs.
    until: Ps,
    sum: Ps,
    /// Whether the run has ended: stores that have retired go on waiting.
    is_over: bool,
}

impl Waiting {
    /// One more waits from now on.
    pub fn begin(&mut self, now: Ps) {
        self.go_on(now);
        self.count += 1;
    }

    /// One waits no longer.
    pub fn end(&mut self, now: Ps) {
        self.go_on(now);
        self.count -= 1;
    }

    /// What they waited before is not counted.
    pub fn forget(&mut self, now: Ps) {
        self.go_on(now);
        self.sum = Ps::ZERO;
    }

    /// What comes from now on is not counted.
    pub fn close(&mut self, now: Ps) {
        self.go_on(now);
        self.is_over = true;
    }

    /// What all have waited.
    pub fn upto(&self, now: Ps) -> Ps {
        match self.is_over {
            true => self.sum,
            false => self.sum + (now - self.until) * self.count,
        }
    }

    fn go_on(&mut self, now: Ps) {
        self.sum = self.upto(now);
        self.until = self.until.max(now);
    }
}
