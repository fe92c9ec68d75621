//! How long misses wait for an MSHR.

use sluice_units::Ps;

/// Time that misses waited, each for its own. Those that wait still have waited up to now.
#[derive(Default)]
pub(super) struct Waiting {
    /// How many wait.
    count: u64,
    /// The time up to which the sum has theirs.
    until: Ps,
    sum: Ps,
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

    /// What all have waited.
    pub fn upto(&self, now: Ps) -> Ps {
        self.sum + (now - self.until) * self.count
    }

    fn go_on(&mut self, now: Ps) {
        self.sum = self.upto(now);
        self.until = self.until.max(now);
    }
}
