//! How long a simulation runs.

use sluice_units::Ps;

/// How long to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLength {
    /// Instructions of all threads together before counting begins.
    pub warmup: u64,
    /// Instructions counted, of all threads together; `u64::MAX` for all until the end.
    pub measured: u64,
    /// Stretches of the timeline, if it is not 0: their length.
    pub sample_every: Ps,
}

impl RunLength {
    /// The least stretch of a timeline: each makes a row, and a second of simulated time a million.
    pub const SAMPLE_EVERY_MIN: Ps = Ps::from_us(1);

    /// Instructions at the end of a run that has retired so many at the end of its warm-up. That
    /// may have gone beyond a short length: then something is counted all the same.
    pub fn end(&self, retired: u64) -> u64 {
        let end = self.warmup.saturating_add(self.measured);
        end.max(retired.saturating_add(1))
    }
}
