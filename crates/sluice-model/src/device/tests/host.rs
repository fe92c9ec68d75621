//! The host that maps pages and writes to them behind the device's back.

use crate::request::Effects;
use sluice_units::Lpn;
use std::collections::BTreeSet;

/// Answers for the stores that the device has not seen.
pub struct Host {
    pub written: BTreeSet<Lpn>,
    /// Pages reported when they were set aside. What was written through since is in flash.
    pub reported: BTreeSet<Lpn>,
    /// Whether it has clean pages programmed and stores answered before they are indexed.
    pub departs: bool,
}

impl Effects for Host {
    fn unmap(&mut self, lpn: Lpn) -> bool {
        self.written.remove(&lpn)
    }

    fn set_aside(&mut self, lpn: Lpn) -> bool {
        let written = self.unmap(lpn);
        self.reported.extend(written.then_some(lpn));
        written
    }

    fn programs_clean(&self) -> bool {
        self.departs
    }

    fn indexes_behind(&self) -> bool {
        self.departs
    }
}
